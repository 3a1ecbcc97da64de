"""Finding a model by the name that a plan gives it, without a network and without torch."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from draftmark.backends.base import BackendError
from draftmark.backends.models import locate
from draftmark.results.cache_folder import cache_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("cache")
GGUF = b"GGUF" + b"\x03\x00\x00\x00" + b"weights" * 9
ALIAS = "smollm2-135m"


def test_an_alias_that_was_not_fetched_names_the_command() -> None:
    with pytest.raises(BackendError, match="draftmark models fetch smollm2-135m"):
        locate(ALIAS)


def test_a_misspelt_alias_is_answered_with_the_right_one() -> None:
    with pytest.raises(BackendError, match="did you mean 'smollm2-135m'"):
        locate("smollm-135m")


@pytest.mark.parametrize(
    "name", ["", " ", "gpt2", "a b/c", "../elsewhere", "/no/such/folder", "a/b/c", "x.gguf", "a\0b", "~nobody/x"]
)
def test_names_that_are_nothing_are_refused_with_what_is_known(name: str) -> None:
    with pytest.raises(BackendError, match="smollm2-135m"):
        locate(name)


def test_a_name_that_no_disk_takes_is_refused() -> None:
    with pytest.raises(BackendError, match="cannot be read"):
        locate("a" * 5000)


def test_owner_and_name_is_a_hub_model_and_its_code_never_runs() -> None:
    model = locate("HuggingFaceTB/SmolLM2-135M-Instruct")
    assert model.pretrained() == ("HuggingFaceTB/SmolLM2-135M-Instruct", {"trust_remote_code": False})


def test_a_folder_with_a_config_is_a_model_that_never_asks_the_hub(
    tmp_path: Path, model_folder: Callable[..., Path]
) -> None:
    folder = model_folder(tmp_path / "mine")
    assert locate(str(folder)).pretrained() == (
        str(folder),
        {"trust_remote_code": False, "local_files_only": True},
    )


def test_a_gguf_file_is_a_model_by_itself_or_alone_in_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(GGUF)
    for name in (str(file), str(tmp_path)):
        model = locate(name)
        assert (model.folder, model.gguf_file) == (tmp_path, "tiny.gguf")
        assert model.pretrained()[1]["gguf_file"] == "tiny.gguf"


def test_two_gguf_files_in_a_folder_are_a_question(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(GGUF)
    with pytest.raises(BackendError, match=r"name one: a\.gguf, b\.gguf"):
        locate(str(tmp_path))


def test_a_folder_or_file_that_holds_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.gguf").write_bytes(b"not it")
    with pytest.raises(BackendError, match="not GGUF"):
        locate(str(tmp_path / "notes.gguf"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BackendError, match=r"neither config\.json nor a \.gguf file"):
        locate(str(tmp_path / "empty"))


def test_the_cache_folder_follows_the_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_root() == tmp_path / "cache"
    monkeypatch.setenv("DRAFTMARK_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "draftmark"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_root() == tmp_path / "home" / ".cache" / "draftmark"


def test_a_folder_that_cannot_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_folder: Callable[..., Path]
) -> None:
    folder = model_folder(tmp_path / "mine")

    def forbidden(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("draftmark.backends.models.Path.is_dir", forbidden)
    with pytest.raises(BackendError, match="Permission denied"):
        locate(str(folder))
