"""What a client process and its parent say to each other: frames of JSON and bytes, each with its length ahead."""

from __future__ import annotations

import json
import struct
from array import array
from dataclasses import asdict, fields
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from draftmark.backends.http.exchange import Exchange
from draftmark.backends.http.lateness import Window

if TYPE_CHECKING:
    from collections.abc import Mapping

_LENGTHS = struct.Struct("!IQ")
HEAD = _LENGTHS.size
"""Bytes of a frame's head."""
_PLAIN = [entry.name for entry in fields(Exchange) if entry.name not in ("read_s", "reads")]


def frame(said: Mapping[str, Any], data: bytes = b"") -> bytes:
    """Return a frame of plain data and bytes."""
    text = json.dumps(said).encode()
    return _LENGTHS.pack(len(text), len(data)) + text + data


def lengths(head: bytes) -> tuple[int, int]:
    """Return how many bytes of JSON, and how many others, follow a head."""
    text, data = _LENGTHS.unpack(head)
    return text, data


def pack_exchange(exchange: Exchange) -> tuple[dict[str, Any], bytes]:
    """Return an exchange as plain data and bytes: stamps, then lengths of reads, then the reads."""
    plain = {name: getattr(exchange, name) for name in _PLAIN}
    sizes = array("Q", map(len, exchange.reads))
    data = b"".join([array("d", exchange.read_s).tobytes(), sizes.tobytes(), *exchange.reads])
    return {**plain, "count": len(exchange.reads)}, data


def unpack_exchange(plain: Mapping[str, Any], data: bytes) -> Exchange:
    """Return the exchange that was packed."""
    end = 8 * plain["count"]
    stamps, sizes = array("d", data[:end]), array("Q", data[end : 2 * end])
    edges = accumulate(sizes, initial=2 * end)
    reads = [data[start:stop] for start, stop in pairwise(edges)]
    return Exchange(**{name: plain[name] for name in _PLAIN}, read_s=stamps.tolist(), reads=reads)


def pack_window(window: Window) -> tuple[dict[str, Any], bytes]:
    """Return a window as plain data and bytes."""
    plain = {name: value for name, value in asdict(window).items() if name != "late_s"}
    return plain, window.late_s.tobytes()


def unpack_window(plain: Mapping[str, Any], data: bytes) -> Window:
    """Return the window that was packed."""
    return Window(**plain, late_s=array("d", data))
