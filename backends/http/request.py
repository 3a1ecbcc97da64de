"""Where requests go and the bytes of one: a base URL taken apart once, its keys kept out of every text.

User information in the URL becomes an `Authorization` header, its query goes along with every request, and neither is
ever named in an error.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_TARGET = re.compile(r"[\x21-\x7e]*")
_URL = re.compile(r"[!#-;=?-\[\]_a-z~]*")
_PORTS = {"http": 80, "https": 443}
_FRAMING = ("content-length", "transfer-encoding")
_ALWAYS = {"user-agent": "draftmark", "accept": "*/*", "accept-encoding": "identity"}
"""Compression would hold bytes back in the server, and time with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Where a client asks, and how long it waits."""

    base_url: str = field(repr=False)
    """Where paths begin: `http://host:port/v1`. User information and a query in it are sent along."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of every request, keys among them."""
    connect_timeout_s: float
    """For name, connection and TLS together."""
    idle_timeout_s: float
    """For how long nothing may come, from the sending on."""
    total_timeout_s: float | None
    """From the sending to the end; null for no limit."""
    verify_tls: bool = True
    """Whether a certificate must be valid."""
    reuse: bool = False
    """Whether idle connections are used again."""


class Origin:
    """One server's address and what every request to it says."""

    def __init__(self, base_url: str, headers: Mapping[str, str], *, keeps_alive: bool) -> None:
        """Take the address apart.

        Args:
            base_url: `http` or `https`, a host, and at will a port, a path, a query and user information.
            headers: Of every request.
            keeps_alive: Whether connections are used again; else each request says that its connection closes.

        Raises:
            BackendError: the URL or a header cannot be used; the text holds nothing of either but a header's name.
        """
        try:
            parts = urlsplit(base_url.strip())
            port = parts.port
        except ValueError:
            raise BackendError("base_url has no valid host and port: write it like http://127.0.0.1:8000/v1") from None
        if parts.scheme not in _PORTS or not parts.hostname:
            raise BackendError("base_url must begin with http:// or https:// and a host: http://127.0.0.1:8000/v1")
        if not (_TARGET.fullmatch(parts.path + parts.query) and _TARGET.fullmatch(parts.netloc)):
            raise BackendError("base_url holds spaces or characters outside ASCII: write them percent-encoded")
        self.tls = parts.scheme == "https"
        self.host = parts.hostname
        self.port = _PORTS[parts.scheme] if port is None else port
        self._path = parts.path.rstrip("/")
        self._query = parts.query
        shown = f"[{self.host}]" if ":" in self.host else self.host
        fixed = {"host": shown if self.port == _PORTS[parts.scheme] else f"{shown}:{self.port}", **_ALWAYS}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            fixed["authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        if not keeps_alive:
            fixed["connection"] = "close"
        self._headers = fixed | _checked(headers)

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None) -> bytes:
        """Return the bytes of a request: its head and its body; `path` follows the base URL's own path.

        Raises:
            BackendError: the path or a header cannot be sent.
        """
        own, _, query = path.partition("?")
        target = f"{self._path}/{own.lstrip('/')}"
        both = "&".join(part for part in (self._query, query) if part)
        if not _TARGET.fullmatch(target + both):
            raise BackendError("a request's path holds spaces or characters outside ASCII: percent-encode them")
        named = self._headers
        if method == "POST":
            named = {"content-type": "application/json", **named}
        if headers:
            named = named | _checked(headers)
        lines = [f"{method} {target}{'?' + both if both else ''} HTTP/1.1"]
        lines += [
            f"{name}: {value}" for name, value in named.items() if name not in ("content-length", "transfer-encoding")
        ]
        if method == "POST":
            lines.append(f"content-length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def header_problem(name: str, value: str) -> str | None:
    """Say why HTTP cannot carry a header; null where it can. The value is not repeated."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name of an HTTP header"
    if not _VALUE.fullmatch(value):
        return f"the value of the header {name} holds a line end or characters that HTTP cannot carry"
    return None


def url_problem(url: str) -> str | None:
    """Say why an address cannot be used; null where it can. Nothing of it is repeated."""
    if not _URL.fullmatch(url):
        return "holds spaces or characters that a URL cannot hold; write them percent-encoded"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "has no valid host and port (1 to 65535); write it like http://127.0.0.1:8000"
    if parts.scheme not in _PORTS or not parts.hostname:
        return "must be a URL such as http://127.0.0.1:8000"
    return "has the port 0, which no server has" if port == 0 else None


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with their names in lower case."""
    for name, value in headers.items():
        problem = header_problem(name, value)
        if problem is not None:
            raise BackendError(problem)
    return {name.lower(): value.strip() for name, value in headers.items()}
