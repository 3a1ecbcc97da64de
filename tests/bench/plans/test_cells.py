"""From plan to cells: the product, the control, what is left out, and names that are safe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.plans.cells import cell_id, expand, plan_arms, suite_problems
from draftmark.bench.plans.plan import load_plan
from draftmark.results.records import Arm, CellKey
from draftmark.results.run_folder.naming import cell_folder_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.bench.plans.plan import Plan
    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


@pytest.fixture
def plan(fake: Any, write_plan: Callable[..., Path]) -> Callable[..., Plan]:
    return lambda **changes: load_plan(write_plan(**changes), {})


def test_cells_are_the_product_of_backends_suites_and_arms(plan: Any, make_suite: MakeSuite) -> None:
    two = plan(backends=[{"kind": "fake"}, {"kind": "fake", "threads": 4}], repeats=3)
    arms, _ = plan_arms(two)
    suites = [make_suite("a", ["b", "c"], name="talk"), make_suite("d", name="code")]
    groups = expand(two, arms, suites)
    assert [(group.backend.threads, group.suite.name) for group in groups] == [  # type: ignore[attr-defined]
        (2, "talk"),
        (2, "code"),
        (4, "talk"),
        (4, "code"),
    ]
    assert [cell.key.arm.label for cell in groups[0].cells] == ["none", "none (control)", "ngram D=3"]
    assert [cell.expected_turns for group in groups[:2] for cell in group.cells] == [9, 9, 9, 3, 3, 3]
    ids = [cell.cell_id for group in groups for cell in group.cells]
    assert len(set(ids)) == 12


def test_the_baseline_comes_first_wherever_the_plan_has_it(plan: Any, make_suite: MakeSuite) -> None:
    late = plan(drafters=[{"kind": "ngram", "draft_length": [3, 8]}, {"kind": "none"}])
    (group,) = expand(late, plan_arms(late)[0], [make_suite("a")])
    assert [cell.key.arm.label for cell in group.cells] == ["none", "none (control)", "ngram D=3", "ngram D=8"]
    assert group.baseline == group.cells[0]


def test_a_plan_without_a_baseline_has_no_control(plan: Any, make_suite: MakeSuite) -> None:
    bare = plan(drafters=[{"kind": "ngram", "draft_length": 3}], baseline=False)
    (group,) = expand(bare, plan_arms(bare)[0], [make_suite("a")])
    assert [cell.key.arm.label for cell in group.cells] == ["ngram D=3"]
    assert group.baseline is None


def test_an_optional_arm_that_cannot_run_is_left_out_with_its_sentence(plan: Any, make_suite: MakeSuite) -> None:
    drafters = [{"kind": "none"}, {"kind": "suffix", "draft_length": [4, 8], "optional": True}]
    partial = plan(backends=[{"kind": "fake", "lacks": ["suffix"]}], drafters=drafters)
    arms, problems = plan_arms(partial)
    assert problems == []
    (group,) = expand(partial, arms, [make_suite("a")])
    assert [cell.left_out for cell in group.cells] == [None, None, *["the fake engine has no suffix"] * 2]
    assert [cell.key.arm.label for cell in group.running] == ["none", "none (control)"]


def test_an_arm_that_must_run_and_cannot_is_a_problem_at_its_entry(plan: Any) -> None:
    drafters = [{"kind": "none"}, {"kind": "suffix", "draft_length": [8]}]
    backends = [{"kind": "fake", "lacks": ["suffix"]}, {"kind": "fake", "lacks": ["suffix"], "threads": 1}]
    _, problems = plan_arms(plan(backends=backends, drafters=drafters))
    assert [(problem.place, problem.text) for problem in problems] == [
        (("drafters", 1), "suffix D=8 cannot run here: the fake engine has no suffix")
    ]


def test_suites_that_cannot_be_told_apart_or_ask_nothing_are_problems(make_suite: MakeSuite) -> None:
    twice = make_suite("a", "b", name="talk")
    same_ids = twice.model_copy(update={"name": "ids", "prompts": (twice.prompts[0], twice.prompts[0])})
    problems = suite_problems([twice, make_suite(name="talk"), same_ids])
    assert [(problem.place, problem.text) for problem in problems] == [
        (("suites", 1), "is named 'talk' like suites[0]; give it another name, or remove one"),
        (("suites", 1), "'talk' has no prompts"),
        (("suites", 2), "has the question_id 'q0' twice"),
    ]


def key(**changes: Any) -> CellKey:
    fields = {"backend": "fake", "target": "tiny", "arm": Arm(drafter="ngram", draft_length=3), "suite": "talk"}
    return CellKey(**{**fields, "suite_hash": "5" * 64, **changes})


def test_a_cell_is_named_in_words_and_by_a_hash_of_everything_that_makes_it() -> None:
    first = cell_id(key())
    assert re.fullmatch(r"fake-ngram-d-3-talk-[0-9a-f]{8}", first)
    assert cell_id(key()) == first
    others = [key(suite_hash="6" * 64), key(arm=Arm(drafter="ngram", draft_length=3, options={"max_match": 5}))]
    assert len({first, *map(cell_id, others)}) == 3


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\0b", "\x1b[31m", "x" * 200, "\u202e", "日本", "CON", "."])
def test_hostile_names_make_harmless_cell_ids(name: str) -> None:
    made = cell_id(key(backend=name, suite=name))
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", made)
    assert cell_folder_name(made) == made


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(("kind", "starts", "warmup"), [("fake", 2, 2 * 3), ("apart", 2 * 3, 2 * 3 * (4 + 1))])
def test_what_a_plan_starts_and_warms_up_is_counted(
    kind: str, starts: int, warmup: int, write_plan: Callable[..., Path], make_materials: Callable[..., Any]
) -> None:
    """Two launches of `none`, its control and ngram; with an engine each they warm up once at four and once at one."""
    from draftmark.bench.plans.prepared import Prepared

    load = {} if kind == "fake" else {"load": {"concurrency": [1, 4]}, "warmup": 2}
    plan = load_plan(write_plan(backends=[{"kind": kind}], launches=2, **load), {})
    arms, _ = plan_arms(plan)
    materials = make_materials()
    prepared = Prepared(plan, arms, materials, expand(plan, arms, materials.suites))
    assert (prepared.engine_starts, prepared.warmup_turns) == (starts, warmup)
