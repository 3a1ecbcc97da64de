"""`load:` of a plan: its kinds, what contradicts itself, and suites that are too small for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.plans.document import PlanError
from draftmark.bench.plans.enough import load_problems
from draftmark.bench.plans.plan import load_plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


@pytest.fixture
def plan_of(fake: Any, write_plan: Callable[..., Path]) -> Callable[..., Any]:
    """Read a plan for the engine that answers up to four turns at once."""

    def of(load: Any, **changes: Any) -> Any:
        return load_plan(write_plan(**{"backends": [{"kind": "apart"}], "load": load} | changes), {})

    return of


@pytest.fixture
def said(plan_of: Any) -> Callable[..., list[str]]:
    """What is wrong with a plan, without file and line."""

    def of(load: Any, **changes: Any) -> list[str]:
        with pytest.raises(PlanError) as caught:
            plan_of(load, **changes)
        return [f"{'.'.join(map(str, problem.place))}: {problem.text}" for problem in caught.value.problems]

    return of


LABELS = {
    "{}": ["concurrency 1"],
    "closed": ["concurrency 1", "concurrency 4"],
    "poisson": ["poisson 2/s", "poisson 0.5/s"],
    "constant": ["constant 3/s"],
    "ramp": ["ramp 0 to 4/s over 30 s"],
}
ENTRIES: dict[str, dict[str, Any]] = {
    "{}": {},
    "closed": {"kind": "closed", "concurrency": [1, 4]},
    "poisson": {"kind": "poisson", "rate": [2, 0.5], "seed": 3},
    "constant": {"kind": "constant", "rate": 3, "count": 10, "think_s": 1, "max_in_flight": 2},
    "ramp": {"kind": "ramp", "from": 0, "to": 4, "over_s": 30, "duration_s": 40, "warm_up_s": 5, "cool_down_s": 5},
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_every_kind_reads_and_is_written_as_it_was(plan_of: Any, kind: str) -> None:
    plan = plan_of(ENTRIES[kind])
    assert [load.label for load in plan.load.loads()] == LABELS[kind]
    written = plan.as_data()["load"]
    for name, value in ENTRIES[kind].items():
        assert written[name] in (value, [value])
    assert plan_of(written).hash == plan.hash


def test_common_keys_reach_the_load(plan_of: Any) -> None:
    (load,) = plan_of(ENTRIES["constant"]).load.loads()
    assert (load.count, load.think_s, load.max_in_flight, load.at_once) == (10, 1.0, 2, 2)
    (load,) = plan_of(ENTRIES["ramp"]).load.loads()
    assert (load.duration_s, load.warm_up_s, load.cool_down_s, load.peak_rate) == (40.0, 5.0, 5.0, 4.0)


def test_a_trace_is_part_of_what_a_number_describes(plan_of: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("time_s\n3\n5\n", encoding="utf-8")
    plan = plan_of({"kind": "trace", "path": str(path)})
    (load,) = plan.load.loads()
    assert (load.rows, load.span_s, load.label) == (2, 2.0, f"trace {path}")
    path.write_text("time_s\n3\n6\n", encoding="utf-8")
    assert plan.load.loads()[0].hash == load.hash, "a plan is of one file, whatever becomes of it"
    assert [row.at_s for row in plan.load.trace()] == [0.0, 2.0]
    assert plan_of({"kind": "trace", "path": str(path)}).load.loads()[0].hash != load.hash


WRONG: dict[str, tuple[Any, list[str]]] = {
    "a kind that is none": (
        {"kind": "open"},
        ["load.kind: must be 'closed', 'poisson', 'constant', 'ramp' or 'trace', not the text \"open\""],
    ),
    "an unknown key": (
        {"kind": "poisson", "rat": 2}, ["load.rate: is missing", "load.rat: unknown key; did you mean 'rate'?"]
    ),
    "a key of another kind": (
        {"kind": "poisson", "rate": 2, "concurrency": 2},
        [
            "load.concurrency: is a key of another kind of load; write kind: closed beside it, or take it away"
        ],
    ),
    "no rate at all": ({"kind": "constant", "rate": 0}, ["load.rate.0: must be above 0.0, not the number 0"]),
    "a rate twice": ({"kind": "constant", "rate": [1, 1]}, ["load.rate.1: 1 is there twice; remove one"]),
    "two ends": (
        {"kind": "constant", "rate": 1, "count": 3, "duration_s": 5},
        ["load.count: and duration_s both say when to end; take one of them away"],
    ),
    "nothing between the limits": (
        {"kind": "constant", "rate": 1, "duration_s": 5, "warm_up_s": 3, "cool_down_s": 2},
        ["load.duration_s: is no longer than warm_up_s and cool_down_s, so nothing is measured"],
    ),
    "more in flight than the engine allows": (
        {"kind": "constant", "rate": 1, "max_in_flight": 5},
        ["load.max_in_flight: must be at most 4 for the backend apart"],
    ),
    "a ramp that never arrives": (
        {"kind": "ramp", "from": 1, "to": 0, "over_s": 9}, ["load.to: must be above 0.0, not the number 0"]
    ),
    "nothing": (None, ["load: must be a mapping of keys to values, not nothing"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_in_words(said: Any, name: str) -> None:
    load, sentences = WRONG[name]
    assert said(load) == sentences


def test_an_engine_of_one_turn_at_a_time_has_no_open_loop(said: Any) -> None:
    assert said({"kind": "poisson", "rate": 2}, backends=[{"kind": "fake"}]) == [
        "load.kind: must be 'closed' for the backend fake, which answers one turn at a time"
    ]


@pytest.mark.parametrize("limit", [{"count": 5}, {"duration_s": 5}])
def test_what_sets_its_own_number_of_conversations_has_no_repeats(said: Any, limit: dict[str, int]) -> None:
    (sentence,) = said({"kind": "constant", "rate": 2, **limit}, repeats=2)
    assert sentence.startswith("repeats: must be 1 here, not 2")


def test_objectives_are_seconds_and_at_least_one(said: Any, plan_of: Any) -> None:
    assert said({}, objectives={"percentile": 90}) == [
        "objectives: sets no objective; give at least one of ttft, tpot and e2e, in seconds"
    ]
    assert said({}, objectives={"ttfd": 1, "e2e": 0}) == [
        "objectives.e2e: must be above 0.0, not the number 0",
        "objectives.ttfd: unknown key; did you mean 'ttft'?",
    ]
    plan = plan_of({}, objectives={"ttft": 0.5, "tpot": 0.05})
    assert plan.as_data()["objectives"] == {"ttft": 0.5, "tpot": 0.05, "e2e": None, "percentile": 99.0}


def suite_of(make_suite: MakeSuite, conversations: int) -> Suite:
    return make_suite(*(f"number {index}" for index in range(conversations)))


class TestEnough:
    def test_four_conversations_for_each_in_flight(self, plan_of: Any, make_suite: MakeSuite) -> None:
        plan = plan_of({"concurrency": [1, 4]})
        assert load_problems(plan, [suite_of(make_suite, 16)]) == []
        (problem,) = load_problems(plan, [suite_of(make_suite, 15)])
        assert problem.place == ("load", "concurrency", 1)
        assert problem.text == (
            "4 in flight needs at least 16 conversations a launch (4 for each), and 'small' has 15; take more prompts, "
            "a lower concurrency, or repeats: 2"
        )

    def test_turns_of_a_conversation_do_not_count_but_repeats_do(self, plan_of: Any, make_suite: MakeSuite) -> None:
        three = make_suite(*[["a", "b", "c", "d"]] * 3)
        (problem,) = load_problems(plan_of({"concurrency": 4}, repeats=5), [three])
        assert "'small' has 15 (3 x 5 repeats)" in problem.text
        assert problem.text.endswith("repeats: 6")
        assert load_problems(plan_of({"concurrency": 4}, repeats=6), [three]) == []

    def test_launches_do_not_count_since_each_fills_the_engine_anew(self, plan_of: Any, make_suite: MakeSuite) -> None:
        assert load_problems(plan_of({"concurrency": 4}, launches=4), [suite_of(make_suite, 15)])

    def test_one_at_a_time_needs_no_more_than_one(self, plan_of: Any, make_suite: MakeSuite) -> None:
        assert load_problems(plan_of({}), [suite_of(make_suite, 1)]) == []

    def test_a_schedule_must_leave_something_between_its_limits(self, plan_of: Any, make_suite: MakeSuite) -> None:
        load = {"kind": "constant", "rate": 2, "warm_up_s": 3, "cool_down_s": 2}
        assert load_problems(plan_of(load), [suite_of(make_suite, 12)]) == []  # over 5.5 s
        (problem,) = load_problems(plan_of(load), [suite_of(make_suite, 11)])
        assert problem.text.startswith("begins its conversations within 5 s")

    def test_a_schedule_of_one_conversation_is_none(self, plan_of: Any, make_suite: MakeSuite) -> None:
        (problem,) = load_problems(plan_of({"kind": "constant", "rate": 2}), [suite_of(make_suite, 1)])
        assert "needs two or more" in problem.text

    def test_a_schedule_has_an_end(self, plan_of: Any, make_suite: MakeSuite) -> None:
        load = {"kind": "constant", "rate": 100_000, "duration_s": 11}
        (problem,) = load_problems(plan_of(load), [suite_of(make_suite, 1)])
        assert "more than 1,000,000 conversations" in problem.text

    def test_a_trace_names_conversations_that_the_suite_has(
        self, plan_of: Any, make_suite: MakeSuite, tmp_path: Path
    ) -> None:
        path = tmp_path / "trace.jsonl"
        path.write_text('{"time_s": 1, "question_id": "q1"}\n{"time_s": 2, "question_id": "q9"}\n', encoding="utf-8")
        plan = plan_of({"kind": "trace", "path": str(path)})
        assert load_problems(plan, [suite_of(make_suite, 10)]) == []
        (problem,) = load_problems(plan, [suite_of(make_suite, 5)])
        assert problem.text == "names question_id 'q9', which 'small' does not have"

    @pytest.mark.parametrize(("asked", "told"), [("b", True), ("z", False)])
    def test_a_limit_that_leaves_a_traces_conversations_out_is_blamed(
        self, plan_of: Any, tmp_path: Path, asked: str, told: bool
    ) -> None:
        path, suite = tmp_path / "trace.jsonl", tmp_path / "mine.jsonl"
        suite.write_text("".join(f'{{"id": "{name}", "prompt": "{name}"}}\n' for name in "abcd"), encoding="utf-8")
        entry = {"kind": "jsonl", "path": str(suite), "limit": 1}
        kept = plan_of({}, suites=[entry]).suites[0].load(None)
        asked = next(name for name in "ab" if name != kept.prompts[0].question_id) if told else asked
        path.write_text(f'{{"time_s": 1, "question_id": "{asked}"}}\n', encoding="utf-8")
        plan = plan_of({"kind": "trace", "path": str(path)}, suites=[entry])
        (problem,) = load_problems(plan, [kept])
        assert problem.text.startswith(f"names question_id '{asked}', which 'mine' does not have")
        assert (": its limit, 1, leaves them out; take `limit` away" in problem.text) is told


def test_what_an_open_loop_would_run_is_said_before_it_runs(
    plan_of: Any, make_suite: MakeSuite, make_materials: Callable[..., Any]
) -> None:
    from draftmark.bench.cli.validate import summary_lines
    from draftmark.bench.plans.cells import expand, plan_arms
    from draftmark.bench.plans.prepared import Prepared

    plan = plan_of({"kind": "constant", "rate": [2.5, 0.5], "count": 6}, warmup=2)
    arms, _ = plan_arms(plan)
    materials = make_materials(make_suite("a", ["b", "c"]))
    prepared = Prepared(plan, arms, materials, expand(plan, arms, materials.suites))
    # Three arms; six conversations are nine turns at each rate; warm-up takes three at once and then one.
    assert (prepared.measured_turns, prepared.warmup_turns) == (3 * 2 * 9, 3 * (3 + 1))
    lines = summary_lines(prepared)
    assert lines[0].startswith(f"plan {plan.name}: 6 cells, 54 requests and 12 for warm-up, ")
    assert "small, constant 2.5/s: 6 conversations begin within 2 s, for each arm" in lines
    assert "small, constant 0.5/s: 6 conversations begin within 10 s, for each arm" in lines


RARE = [
    ({"kind": "poisson", "rate": [1, 1e-308]}, "load.rate.1: is 1e-308 conversations per second, fewer than one a day"),
    ({"kind": "constant", "rate": 1.1e-5}, "load.rate.0: is 1.1e-05 conversations per second, fewer than one a day"),
    ({"kind": "ramp", "from": 5, "to": 1e-9, "over_s": 10}, "load.to: is 1e-09 conversations per second"),
    # The rate t / 1e10 has begun one conversation after 141,000 s.
    ({"kind": "ramp", "from": 0, "to": 1e-4, "over_s": 1e6}, "load.from: lets the second conversation begin later"),
]


@pytest.mark.parametrize(("load", "sentence"), RARE)
def test_a_load_that_would_wait_for_days_is_refused(said: Any, load: dict[str, Any], sentence: str) -> None:
    (told,) = said(load)
    assert told.startswith(sentence)


def test_one_conversation_a_day_is_slow_and_allowed(plan_of: Any) -> None:
    assert plan_of({"kind": "constant", "rate": 1 / 86_400}).load.rate == [1 / 86_400]
    assert plan_of({"kind": "ramp", "from": 0, "to": 1, "over_s": 1000}).load.to_rate == 1.0


@pytest.mark.parametrize(
    ("load", "sentence"),
    [
        ({"rate": 4}, "load.rate: is a key of another kind of load; write kind: poisson or kind: constant beside it"),
        ({"kind": "closed", "concurency": 4}, "load.concurency: unknown key; did you mean 'concurrency'?"),
    ],
)
def test_a_key_of_another_kind_is_told_with_its_kind(said: Any, load: dict[str, Any], sentence: str) -> None:
    (told,) = said(load)
    assert told.startswith(sentence)
