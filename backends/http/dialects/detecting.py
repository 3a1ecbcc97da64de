"""Which dialect a server speaks, from a few GETs that cost it nothing.

Servers name themselves in `owned_by` of `/v1/models`: vLLM "vllm" (entrypoints/serve/engine/protocol.py), SGLang
"sglang" (srt/entrypoints/openai/protocol.py), TensorRT-LLM "tensorrt_llm" (serve/openai_protocol.py), llama.cpp
"llamacpp" (tools/server). Behind a proxy that makes its own list, names of metrics and pages of one engine tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from draftmark.backends.http.dialects.base import MODELS
from draftmark.backends.http.shapes import decoded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Found: TypeAlias = "tuple[int | None, bytes]"
"""Status and body of a GET; status null where there was no answer."""
PROBES = (MODELS, "/props", "/server_info", "/get_server_info", "/metrics")
"""In this order; TensorRT-LLM's /metrics forgets what it told, so it is asked last."""
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "trtllm", "llamacpp": "llamacpp"}
_KEYS = {
    "default_generation_settings": "llamacpp",
    "vllm_config": "vllm",
    "internal_states": "sglang",
    "speculative_eagle_topk": "sglang",
}
_ITERATION = "inflightBatchingStats"
_PREFIXES = {b"vllm:": "vllm", b"sglang:": "sglang", b"llamacpp:": "llamacpp"}


def recognised(path: str, found: Found) -> str | None:
    """Return the dialect that one answer gives away; null where it tells nothing."""
    status, body = found
    if status != 200:
        return None
    if path == "/metrics":
        return _by_metrics(body)
    told = decoded(body)
    if not isinstance(told, dict):
        return None
    if path == MODELS:
        return _by_owner(told.get("data"))
    return next((name for key, name in _KEYS.items() if key in told), None)


def _by_metrics(body: bytes) -> str | None:
    names = {name for line in body.splitlines() for prefix, name in _PREFIXES.items() if line.startswith(prefix)}
    if len(names) == 1:
        return names.pop()
    told = decoded(body)
    iterations = isinstance(told, list) and any(isinstance(one, dict) and _ITERATION in one for one in told)
    return "trtllm" if iterations else None


def _by_owner(models: object) -> str | None:
    owners = {one.get("owned_by") for one in models if isinstance(one, dict)} if isinstance(models, list) else set()
    return _OWNERS.get(str(owners.pop())) if len(owners) == 1 else None


async def detect(get: Callable[[str], Awaitable[Found]]) -> str:
    """Ask a server until it gives its dialect away.

    Args:
        get: Does one GET of a path at the server's root.

    Returns:
        The dialect's name; `openai` where nothing tells.
    """
    for path in PROBES:
        name = recognised(path, await get(path))
        if name is not None:
            return name
    return "openai"
