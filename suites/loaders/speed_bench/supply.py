"""What the texts of stand-in rows are made of: rows of hub datasets, JSON files at an address, wording, a tokenizer.

Addresses come from the published rows; only https and the hosts that the published rows name are asked, and only the
hub, through its own library, is ever sent a token.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from draftmark.results.run_folder.durable import make_folder
from draftmark.suites.loaders.speed_bench import cache
from draftmark.suites.loaders.speed_bench.wording import ADDRESS, COMMIT, Wording
from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading import hub

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

HOSTS = frozenset({"raw.githubusercontent.com", "github.com", "opencompass.openxlab.space"})
"""Beside the hub."""

TIMEOUT_S = 60.0
_CHUNK_BYTES = 2**20
_HUB_FILE = re.compile(r"/datasets/([^/]+/[^/]+)/(?:resolve|raw|blob|tree)/([^/]+)/(.+)")
_GITHUB_FILE = re.compile(r"/([^/]+/[^/]+)/(?:raw|blob|tree)/(.+)")


class Encoder(Protocol):
    """The part of a tiktoken encoding that lengths need."""

    def encode(self, text: str, *, disallowed_special: Any) -> list[int]:
        """Return the tokens of a text."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens."""
        ...


class Supply(Protocol):
    """Where builders of texts get their material."""

    def hub_rows(
        self, dataset: str, config: str | None, revision: str | None, columns: Sequence[str]
    ) -> Sequence[Mapping[str, Any]]:
        """Return these columns of a hub dataset's test split; raises `SuiteError`."""
        ...

    def json_rows(self, address: str) -> Iterable[Mapping[str, Any]]:
        """Return the rows of a JSON or JSON-lines file at an address, in the file's order; raises `SuiteError`."""
        ...

    def json_table(self, address: str) -> Sequence[Mapping[str, Any]]:
        """Return the same with the fields of all rows joined, as the library `datasets` joins them."""
        ...

    def wording(self) -> Wording:
        """Return the preparer's prompt texts; raises `SuiteError`."""
        ...

    def encoder(self) -> Encoder:
        """Return tiktoken's o200k_base; raises `SuiteError`."""
        ...


class NetworkSupply:
    """The real one. Tried against a loopback hub only."""

    def hub_rows(
        self, dataset: str, config: str | None, revision: str | None, columns: Sequence[str]
    ) -> Sequence[Mapping[str, Any]]:
        """Return these columns of a hub dataset's test split."""
        found: Sequence[Mapping[str, Any]] = hub.load_rows(dataset, config, revision, columns)
        return found

    def json_rows(self, address: str) -> Iterable[Mapping[str, Any]]:
        """Return the rows of a JSON or JSON-lines file."""
        return read_json_rows(fetch_file(address))

    def json_table(self, address: str) -> Sequence[Mapping[str, Any]]:
        """Return a JSON file as the library `datasets` reads it."""
        found: Sequence[Mapping[str, Any]] = hub.json_table(fetch_file(address))
        return found

    def wording(self) -> Wording:
        """Return the prompt texts of the pinned commit."""
        path = cache.folder() / f"wording-{COMMIT[:12]}.py"
        if not path.exists():
            _download(ADDRESS, path)
        return Wording(path)

    def encoder(self) -> Encoder:
        """Return the encoding, which tiktoken fetches on first use."""
        try:
            import tiktoken
        except ImportError as fault:
            raise SuiteError(f"prompts of an exact length need tiktoken; run: {hub.INSTALL}") from fault
        try:
            encoding: Encoder = tiktoken.get_encoding("o200k_base")
        except Exception as fault:  # requests' faults, and tiktoken's own ValueError for a damaged file
            raise SuiteError(
                f"tiktoken's o200k_base could not be fetched ({type(fault).__name__}); connect this machine, or set "
                "TIKTOKEN_CACHE_DIR to a folder that has it"
            ) from fault
        return encoding


def fetch_file(address: str) -> Path:
    """Return a local copy of the file at an address; raise `SuiteError` for an address that is not asked."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    if parts.hostname == "huggingface.co" and (match := _HUB_FILE.fullmatch(path)):
        dataset, revision, name = match.groups()
        return hub.download(dataset, name, revision)
    if parts.scheme != "https" or parts.hostname not in HOSTS:
        raise SuiteError(f"{address!a} is no address that is asked (https, and one of: {', '.join(sorted(HOSTS))})")
    if parts.hostname == "github.com" and (match := _GITHUB_FILE.fullmatch(path)):
        address = f"https://raw.githubusercontent.com/{match[1]}/{match[2]}"
    target = cache.folder() / "files" / re.sub(r"[^\w.-]+", "-", address)[-150:]
    if not target.exists():
        _download(address, target)
    return target


def read_json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file: JSON lines one by one, or a list, or one object; raises `SuiteError`."""
    try:
        with path.open("rb") as handle:
            first = handle.readline()
            if first.lstrip()[:1] == b"{" and (row := _object(first)) is not None:
                yield row
                for line in handle:
                    if line.strip():
                        yield json.loads(line)
                return
        whole = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as fault:
        raise SuiteError(f"{path} cannot be read as JSON ({fault}); delete it and fetch again") from fault
    yield from whole if isinstance(whole, list) else [whole]


def _object(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _download(address: str, target: Path) -> None:
    import urllib.error
    import urllib.request

    host = urlsplit(address).hostname
    make_folder(target.parent)
    part = target.with_name(target.name + ".part")
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer, part.open("wb") as file:  # noqa: S310
            while chunk := answer.read(_CHUNK_BYTES):
                file.write(chunk)
        part.replace(target)
    except urllib.error.HTTPError as fault:
        raise SuiteError(f"{host} answered {fault.code} for {address}; it was moved, or try again later") from fault
    except OSError as fault:
        raise SuiteError(f"{address} could not be fetched ({fault}); check the network and the disk") from fault
