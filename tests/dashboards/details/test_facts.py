from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.dashboards.details.facts import blocks, definitions, duration, headline_facts, moment, plan_text
from draftmark.results.metrics import METRICS
from draftmark.results.records import Sampling

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (312.4, "5 min 12 s"), (7260.0, "2 h 1 min")]
)
def test_durations_leave_out_leading_zeros(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_moments_are_shown_in_utc_and_other_texts_as_they_are() -> None:
    assert moment("2026-11-30T01:04:07+02:00") == "2026-11-29 23:04 UTC"
    assert moment("yesterday") == "yesterday"


def test_the_headline_names_target_engine_machine_moment_and_duration(specimen: ModuleType) -> None:
    assert headline_facts(specimen.run(specimen.baseline())) == [
        "smollm2-135m",
        "reference engine",
        "Example CPU 2.5 GHz",
        "2026-11-29 21:04 UTC",
        "5 min 12 s",
    ]


def test_a_run_that_is_not_complete_says_so_in_the_headline(specimen: ModuleType) -> None:
    assert headline_facts(specimen.run(status="interrupted"))[-1] == "status: interrupted"


def test_the_environment_names_versions_hashes_and_variables(specimen: ModuleType) -> None:
    pairs = {name: text for block in blocks(specimen.run(specimen.baseline())) for name, text in block.pairs}
    assert pairs["torch"] == "2.13.0"
    assert pairs["OMP_NUM_THREADS"] == "2"
    assert pairs["memory"] == "8.0 GiB"
    assert pairs["model.safetensors"] == "sha256 " + "ab12" * 16
    assert pairs["prompts"] == "8 conversations, 12 turns"


def test_how_turns_were_asked_is_told_with_every_value_that_occurs(specimen: ModuleType) -> None:
    summary = specimen.run(specimen.baseline(), specimen.cell("ngram", 3))
    first, second = summary.manifest.cells
    longer = first.key.model_copy(update={"sampling": Sampling(max_tokens=256, stop=("END",))})
    cells = [first.model_copy(update={"key": longer}), second]
    manifest = summary.manifest.model_copy(update={"cells": cells})
    found = {block.title: block.pairs for block in blocks(summary.model_copy(update={"manifest": manifest}))}
    pairs = dict(found["How turns were asked"])
    assert pairs["max_tokens (per answer)"] == "256, 64"
    assert pairs["temperature (0 is greedy)"] == "0.0"
    assert pairs["stop"] == '["END"], none'
    assert pairs["load: concurrency"] == "1"


def test_what_the_template_was_told_and_the_date_it_wrote_are_told(specimen: ModuleType) -> None:
    def asked(**changes: Any) -> dict[str, str]:
        summary = specimen.run(specimen.baseline())
        manifest = summary.manifest.model_copy(update=changes)
        found = {block.title: block.pairs for block in blocks(summary.model_copy(update={"manifest": manifest}))}
        return dict(found["How turns were asked"])

    names = ("options of the chat template", "date in prompts")
    assert not set(names) & set(asked())
    told = asked(plan={"template_options": {"thinking_budget": 512, "style": "terse"}}, template_date="2025-01-01")
    assert [told[name] for name in names] == [
        "thinking_budget 512, style terse",
        "2025-01-01, whatever the day of the run",
    ]


def test_the_plan_on_the_page_is_the_plan_of_the_run(specimen: ModuleType) -> None:
    plan = {"name": "ü", "drafters": [{"kind": "ngram", "draft_length": [3, 8]}]}
    assert json.loads(plan_text(specimen.manifest(plan=plan))) == plan


def test_every_metric_is_defined_once_and_bins_share_an_entry() -> None:
    found = definitions(METRICS.values())
    names = [name for definition in found for name in definition.names]
    assert sorted(names) == sorted(METRICS)
    assert any(len(definition.names) > 1 for definition in found)
