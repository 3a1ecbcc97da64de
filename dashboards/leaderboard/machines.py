"""What a cell ran on: the machine and the engine's version, as far as the run's records tell; nothing is guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.results.engine_names import ELSEWHERE, OWN_SERVER, PROCESS, REFERENCE

if TYPE_CHECKING:
    from draftmark.results.records import CellRecord, Environment, RunManifest

_VERSIONS = ("vllm", "sglang", "tensorrt_llm", "llama.cpp", "engine_version", "version")
"""Resolved settings that hold an engine's version, by whatever name the engine's backend records it."""


@dataclass(frozen=True)
class Told:
    """A fact in words, or why it is not known."""

    text: str | None
    reason: str = ""


def hardware_of(record: CellRecord, manifest: RunManifest) -> Told:
    """Return the machine in words: `2x NVIDIA H100`, or the CPU with its cores where no GPU was used.

    A server that the run did not start may be anywhere: the machine on record is its client's, so it is not known.
    """
    if _elsewhere(record):
        return Told(None, "the engine is a server that the run did not start; only its client's machine is on record")
    found = list(dict.fromkeys(_machine(record, session.environment) for session in manifest.sessions))
    if not found:
        return Told(None, "the run records no session")
    if len(found) > 1 and all(told.text for told in found):
        return Told(None, f"the run was measured on several machines: {'; '.join(told.text or '' for told in found)}")
    return next((told for told in found if told.text is None), found[0])


def engine_of(record: CellRecord, manifest: RunManifest) -> Told:
    """Return the engine with its version: `vllm 0.32.0`, or for Draftmark's own that of Draftmark and of torch."""
    kind = record.key.backend
    packages = manifest.sessions[-1].environment.packages if manifest.sessions else {}
    if kind == REFERENCE and manifest.sessions:
        torch = f", torch {packages['torch']}" if "torch" in packages else ""
        return Told(f"{kind} (Draftmark {manifest.sessions[-1].environment.draftmark}{torch})")
    for name in _VERSIONS:
        version = record.resolved.get(name)
        if isinstance(version, str) and version:
            engine = kind if name in {"engine_version", "version"} else name
            return Told(f"{engine} {version}" if engine == kind else f"{engine} {version} over {kind}")
    if kind in packages and not _elsewhere(record):
        return Told(f"{kind} {packages[kind]}")
    return Told(None, f"the engine {kind} told no version")


def _elsewhere(record: CellRecord) -> bool:
    process = record.resolved.get(PROCESS)
    if process == OWN_SERVER:
        return False
    return process == ELSEWHERE or any("url" in name.lower() for name in record.key.engine)


def _machine(record: CellRecord, environment: Environment) -> Told:
    gpus = record.resolved.get("gpus")
    if gpus is None and record.key.engine.get("device") == "cpu":
        gpus = 0
    if not isinstance(gpus, int):
        return Told(None, "how many GPUs the engine used is not recorded")
    if gpus == 0:
        if environment.cpu is None:
            return Told(None, "the kind of CPU is not recorded")
        return Told(f"{' '.join(environment.cpu.split())}, {environment.cores} cores")
    names = list(dict.fromkeys(line.partition(",")[0].strip() for line in environment.gpus))
    if not names:
        return Told(None, "the kind of GPU is not recorded")
    if len(names) > 1:
        return Told(None, f"the machine has several kinds of GPU ({', '.join(names)}); which one ran is not recorded")
    return Told(f"{gpus}x {names[0]}")
