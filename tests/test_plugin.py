"""Another package adds a backend, a drafter and a suite through entry points, and nothing of Draftmark changes for it.

The plug-in in `tests/plugin` is installed like any package and used through the command. Its engine's truth: a pass
takes 0.1 s and drafting 0.02 s more; each answer has 10 tokens, so 9 come from decode steps. `none` makes 9 steps of
one token; `mimic` drafts 3 and gets 2 right, so it makes 3 steps of three tokens.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Call = Callable[..., subprocess.CompletedProcess[str]]
    WritePlan = Callable[..., Path]


@pytest.fixture(scope="module")
def cells(parrot_run: Path, draftmark_command: Call) -> dict[str, dict[str, Any]]:
    """What `show --json` says of each arm over all its turns."""
    done = draftmark_command("show", parrot_run, "--json")
    assert done.returncode == 0, done.stderr
    return {cell["arm"]: cell for cell in json.loads(done.stdout) if cell["category"] is None}


def test_a_plan_may_name_a_backend_a_drafter_and_a_suite_of_another_package(cells: dict[str, dict[str, Any]]) -> None:
    assert list(cells) == ["none", "none (control)", "mimic D=3"]
    told = {(cell["backend"], cell["suite"], cell["status_text"]) for cell in cells.values()}
    assert told == {("parrot", "sayings", "3 of 3 turns")}


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("acceptance_length", 3),
        ("acceptance_rate", 2 / 3),
        ("coverage", 1),
        ("drafted_per_step", 3),
        ("conditional_acceptance[2]", 1),
        ("conditional_acceptance[3]", 0),
        ("ttft", 0.5),
        ("step_time", 0.12),
        ("draft_overhead", 0.02 / 0.1),
        ("step_cost_ratio", 0.12 / 0.1),
        ("speedup", (9 * 0.1) / (3 * 0.12)),
        ("divergent_turns", 0),
    ],
)
def test_its_numbers_are_those_that_the_plug_in_made(
    cells: dict[str, dict[str, Any]], metric: str, value: float
) -> None:
    assert cells["mimic D=3"]["metrics"][metric]["value"] == pytest.approx(value, rel=1e-6)


def test_a_page_is_made_of_its_run(parrot_run: Path, draftmark_command: Call, tmp_path: Path) -> None:
    done = draftmark_command("report", parrot_run, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mimic D=3" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_list_of_suites_has_the_plug_ins_with_what_it_says_of_itself(draftmark_command: Call) -> None:
    """The table may break what it says into lines."""
    _, _, row = draftmark_command("suites", "list").stdout.partition("\nsayings ")
    row, _, _ = row.partition("\n\n")
    said = "Short things that one says to a parrot."
    assert set(said.split()) <= set(row.split())


@pytest.mark.parametrize(
    ("key", "entry", "kind"),
    [
        ("backends", {"kind": "parot"}, "parrot"),
        ("drafters", {"kind": "mimik", "draft_length": [3], "right": 2}, "mimic"),
        ("suites", {"kind": "saying"}, "sayings"),
    ],
)
def test_a_misspelt_kind_of_a_plug_in_is_recognised(
    draftmark_command: Call, write_parrot_plan: WritePlan, key: str, entry: dict[str, Any], kind: str
) -> None:
    done = draftmark_command("validate", write_parrot_plan(**{key: [entry]}))
    assert done.returncode == 2
    assert f"{key}[0].kind: unknown {key[:-1]} kind {entry['kind']!r}; did you mean {kind!r}?" in done.stderr


def test_fields_of_a_plug_in_are_checked_like_all_others(draftmark_command: Call, write_parrot_plan: WritePlan) -> None:
    drafters = [{"kind": "none"}, {"kind": "mimic", "draft_length": [3], "rigth": 2}]
    done = draftmark_command("validate", write_parrot_plan(drafters=drafters))
    assert done.returncode == 2
    assert "did you mean right" in done.stderr.replace("'", "")


def test_an_engine_that_does_not_know_a_plug_ins_drafter_says_so(
    draftmark_command: Call, write_parrot_plan: WritePlan
) -> None:
    done = draftmark_command("validate", write_parrot_plan(backends=[{"kind": "reference"}]))
    assert done.returncode == 2
    assert "the reference engine has no drafter 'mimic'" in done.stderr


def test_a_kind_whose_module_is_missing_is_said_with_its_line_and_its_package(
    draftmark_command: Call, write_parrot_plan: WritePlan
) -> None:
    done = draftmark_command("validate", write_parrot_plan(suites=[{"kind": "lost"}]))
    assert done.returncode == 2
    assert ":1: suites[0].kind: suite kind 'lost' (parrot.lost:LostSpec of package draftmark-parrot)" in done.stderr
    assert "does not import: No module named 'parrot.lost'" in done.stderr


def test_a_kind_whose_module_is_missing_spoils_no_list(draftmark_command: Call) -> None:
    done = draftmark_command("suites", "list")
    assert done.returncode == 0
    assert "lost" in done.stdout
    assert "sayings" in done.stdout
