"""What limits a whole run's numbers: the reference engine, a CPU, both, or nothing that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.answer.caveat import caveats

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize(
    ("backend", "engine", "resolved", "said"),
    [
        (
            "reference",
            {"device": "cpu"},
            {"gpus": 0},
            "Measured on a CPU with Draftmark's reference engine: not what a serving engine on a GPU would show.",
        ),
        (
            "reference",
            {"device": "cpu"},
            {},
            "Measured on a CPU with Draftmark's reference engine: not what a serving engine on a GPU would show.",
        ),
        (
            "reference",
            {"device": "cuda"},
            {"gpus": 1},
            "Measured with Draftmark's reference engine: not what a serving engine would show.",
        ),
        ("vllm", {}, {"gpus": 0}, "Measured on a CPU with the engine vllm: not what it would show on a GPU."),
        ("vllm", {}, {"gpus": 1}, None),
        ("openai", {"url": "http://host:8000"}, {}, None),
    ],
)
def test_the_caveat_follows_from_engine_and_device(
    specimen: ModuleType, backend: str, engine: dict, resolved: dict, said: str | None
) -> None:
    cells = [specimen.baseline(backend=backend), specimen.cell("ngram", 3, backend=backend)]
    summary = specimen.run(*cells)
    records = [
        one.model_copy(update={"key": one.key.model_copy(update={"engine": engine}), "resolved": resolved})
        for one in summary.manifest.cells
    ]
    told = caveats(summary.model_copy(update={"manifest": summary.manifest.model_copy(update={"cells": records})}))
    assert told == (() if said is None else (said,))


def test_a_run_of_several_engines_has_a_sentence_for_each(specimen: ModuleType) -> None:
    cells = [specimen.baseline(backend=name, cell_id=name, group=name) for name in ("reference", "vllm")]
    resolved = {name: {"gpus": 0} for name in ("reference", "vllm")}
    assert [said.split(":")[0] for said in caveats(specimen.run(*cells, resolved=resolved))] == [
        "Measured on a CPU with Draftmark's reference engine",
        "Measured on a CPU with the engine vllm",
    ]
