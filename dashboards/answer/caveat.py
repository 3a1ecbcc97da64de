"""What limits a whole run's numbers, said beside the answer: the engine that is no serving engine, and the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.engine_names import REFERENCE

if TYPE_CHECKING:
    from draftmark.results.records import CellRecord
    from draftmark.results.summary import RunSummary


def caveats(summary: RunSummary) -> tuple[str, ...]:
    """Return one sentence per engine whose speeds say little of a serving engine on a GPU; usually one or none.

    An engine is known to be on a CPU where it resolved to use no GPU or was told to; a server elsewhere that says
    nothing of it is not guessed at.
    """
    kinds = dict.fromkeys(
        (record.key.backend, _on_cpu(record)) for record in summary.manifest.cells if record.left_out is None
    )
    return tuple(said for backend, on_cpu in kinds if (said := _caveat(backend, on_cpu=on_cpu)))


def _on_cpu(record: CellRecord) -> bool:
    gpus = record.resolved.get("gpus")
    return record.key.engine.get("device") == "cpu" if gpus is None else gpus == 0


def _caveat(backend: str, *, on_cpu: bool) -> str | None:
    if backend == REFERENCE:
        if on_cpu:
            how = "Measured on a CPU with Draftmark's reference engine"
            return f"{how}: not what a serving engine on a GPU would show."
        return "Measured with Draftmark's reference engine: not what a serving engine would show."
    return f"Measured on a CPU with the engine {backend}: not what it would show on a GPU." if on_cpu else None
