"""A hub on loopback that answers as huggingface.co's documentation says; the real one was not tried."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


class Hub:
    """Datasets by name: files, or a refusal (status, X-Error-Code)."""

    revision = "487aa718444e816458d1a0a52bfce7a454285cf4"
    """Of every dataset; the one that SPEED-Bench is pinned to."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.refusals: dict[str, tuple[int, str]] = {}
        self.asked: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Answers,), {"hub": self}))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self._answer(body=True, asked=asked)

    def _answer(self, *, body: bool, asked: str = "") -> None:  # noqa: PLR0911 - one line an answer
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        parts = path.removeprefix("/api").strip("/").split("/")
        if parts[0] != "datasets":
            return self._send(404, b"{}", body=body)
        name, rest = "/".join(parts[1:3]), parts[3:]
        if name in self.hub.refusals:
            status, code = self.hub.refusals[name]
            return self._send(status, b'{"error": "refused"}', {"X-Error-Code": code}, body=body)
        if name not in self.hub.files:
            return self._send(404, b'{"error": "no such"}', {"X-Error-Code": "RepoNotFound"}, body=body)
        files = self.hub.files[name]
        if path.startswith("/api"):
            return self._api(name, rest, files, asked)
        file = "/".join(rest[2:])
        if rest[1] not in {Hub.revision, "main"}:
            return self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, body=body)
        if file not in files:
            return self._send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, body=body)
        data = files[file]
        tag = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        headers = {"ETag": f'"{tag}"', "X-Repo-Commit": Hub.revision}
        return self._send(200, data, headers, body=body)

    def _api(self, name: str, rest: list[str], files: dict[str, bytes], asked: str) -> None:
        if rest[:1] == ["revision"] and rest[1] not in {Hub.revision, "main"}:
            return self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        if rest == ["auth-check"]:
            return self._send(200, b"{}")
        if rest[:1] in ([], ["revision"]):
            card = {"license": "other", "license_name": "made-licence"}
            siblings = [{"rfilename": file} for file in files]
            found = {
                "id": name,
                "sha": Hub.revision,
                "siblings": siblings,
                "cardData": card,
                "private": False,
                "tags": [],
            }
            return self._send(200, json.dumps(found).encode())
        entries = [
            {
                "type": "file",
                "path": file,
                "size": len(data),
                "oid": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
            }
            for file, data in files.items()
        ]
        entries += [
            {"type": "directory", "path": folder, "size": 0, "oid": "0" * 40}
            for folder in sorted({file.rsplit("/", 1)[0] for file in files if "/" in file})
        ]
        if rest[:1] == ["paths-info"]:
            wanted = json.loads(asked)["paths"] if asked.startswith("{") else []
            return self._send(200, json.dumps([entry for entry in entries if entry["path"] in wanted]).encode())
        if rest[:1] == ["tree"]:
            under = "/".join(rest[2:])
            inside = [entry for entry in entries if entry["path"].startswith(f"{under}/" if under else "")]
            return self._send(200, json.dumps(inside).encode())
        return self._send(404, b"{}")

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None, *, body: bool = True) -> None:
        self.send_response(status)
        for key, value in {
            "Content-Length": str(len(data)),
            "Content-Type": "application/json",
            **(headers or {}),
        }.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(data)


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()
    yield made
    made.server.shutdown()
    made.server.server_close()
