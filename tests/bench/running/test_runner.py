"""Running plans on an engine of known truth: what is asked, in which order, and what is recorded."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Bench

    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


def test_the_engines_truth_comes_out_as_numbers(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("one", "two"), sampling={"max_tokens": 9})
    assert (outcome.exit_code, outcome.status) == (0, "complete")
    found = bench.summary_of(outcome, "ngram D=3").metrics
    # 9 tokens are one from prefill and 8 from steps: 8 steps of 0.5 s for the baseline, 2 of 0.75 s with D = 3.
    assert found["acceptance_length"].value == 4.0
    assert found["speedup"].value == pytest.approx((8 * 0.5) / (2 * 0.75))
    assert found["draft_overhead"].value == pytest.approx(0.25 / 0.5)
    assert found["ttft"].value == pytest.approx(1.0)
    assert outcome.output_tokens == 3 * 2 * 9


def test_every_turn_of_every_arm_is_on_record_once(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite(["a", "b"], "c"), repeats=2)
    once = [("q0", 0), ("q0", 1), ("q1", 0)]
    for cell in RunStore.read(bench.folder).manifest.cells:
        mine = sorted(
            (turn.repeat, turn.question_id, turn.turn_index) for turn in bench.turns() if turn.cell_id == cell.cell_id
        )
        assert mine == [(repeat, question, index) for repeat in (0, 1) for question, index in once]


def test_stamps_count_from_the_start_of_the_session(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("one"), warmup=0)
    turns = sorted(bench.turns(), key=lambda turn: turn.order)
    first = turns[0]
    assert (first.sent_s, first.first_token_s) == (0.0, 1.0)
    assert first.chunk_s[0] == 1.0
    assert first.prefill_s == 1.0
    assert [turn.sent_s for turn in turns][1] == first.done_s


def test_prompt_by_prompt_every_arm_takes_every_place_equally_often(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("a", "b", ["c", "d"], "e", "f"), warmup=0)  # six visits, three arms
    places: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for turn in bench.turns():
        places[turn.cell_id][turn.order] += 1
    assert [dict(counts) for counts in places.values()] == [{0: 2, 1: 2, 2: 2}] * 3
    in_time = sorted(bench.turns(), key=lambda turn: turn.sent_s or 0.0)
    visits = [(turn.question_id, turn.turn_index) for turn in in_time]
    assert visits == [visit for visit in dict.fromkeys(visits) for _ in range(3)]
    assert [turn.order for turn in in_time] == [0, 1, 2] * 6


def test_all_arms_get_the_same_seed_and_every_turn_another(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite(["a", "b"], "c"), repeats=2)
    seeds: defaultdict[tuple[str, int, int], set[int | None]] = defaultdict(set)
    for turn in bench.turns():
        seeds[turn.question_id, turn.turn_index, turn.repeat].add(turn.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 6


def test_the_seed_reaches_the_engine(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    bench.run(make_suite("a"), warmup=0)
    assert {request.seed for _, request in fake.REQUESTS} == {turn.seed for turn in bench.turns()}


def test_each_arm_goes_on_with_its_own_answers(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    bench.run(make_suite(["DIVERGE", "and then?"]), warmup=0, sampling={"max_tokens": 5})
    second = {
        arm.label: fake.text(request.prompt_ids)
        for arm, request in fake.REQUESTS
        if "and then?" in fake.text(request.prompt_ids)
    }
    answer = fake.text(fake.answer(fake.FakeRenderer().prompt_ids([{"role": "user", "content": "DIVERGE"}]), 5))
    assert second["none"] == f"user:DIVERGE\nassistant:{answer}\nuser:and then?\n"
    assert second["none (control)"] == second["none"]
    assert second["ngram D=3"] == second["none"].replace(answer, f"{answer[:2]}!{answer[3:]}")


def test_every_arm_warms_up_before_anything_is_measured_and_counts_for_nothing(
    bench: Bench, make_suite: MakeSuite
) -> None:
    outcome = bench.run(make_suite("a", "b"), warmup=2)
    warm = bench.turns("warmup")
    assert Counter(bench.arm_of(turn) for turn in warm) == {"none": 2, "none (control)": 2, "ngram D=3": 2}
    assert max(turn.done_s or 0.0 for turn in warm) <= min(turn.sent_s or 0.0 for turn in bench.turns())
    assert outcome.output_tokens == 3 * 2 * 9
    assert outcome.summary.manifest.sessions[0].warmup_turns == 2


def test_warm_up_asks_nothing_that_is_measured_and_has_the_same_limit(
    bench: Bench, make_suite: MakeSuite, fake: Any
) -> None:
    long = "words " * 60
    bench.run(make_suite(long + "1", long + "2"), warmup=3)
    asked = [request for _, request in fake.REQUESTS]
    warm, measured = asked[: 3 * 3], asked[3 * 3 :]
    assert {r.prompt_ids for r in warm}.isdisjoint({r.prompt_ids for r in measured})
    assert {turn.prompt_hash for turn in bench.turns("warmup")}.isdisjoint({turn.prompt_hash for turn in bench.turns()})
    assert {r.sampling for r in warm} == {r.sampling for r in measured}
    assert all(0.9 < len(r.prompt_ids) / len(measured[0].prompt_ids) <= 1.0 for r in warm)


def test_without_warm_up_nothing_is_asked_first(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("a"), warmup=0)
    assert bench.turns("warmup") == []


def test_the_manifest_holds_what_the_run_was_made_of(bench: Bench, make_suite: MakeSuite) -> None:
    suite = make_suite("a", ["b", "c"])
    drafters = [{"kind": "none"}, {"kind": "draft-model", "model": "other", "draft_length": 2}]
    bench.run(suite, drafters=drafters)
    manifest = RunStore.read(bench.folder).manifest
    assert manifest.status == "complete"
    assert manifest.plan["drafters"][1]["model"] == "other"
    assert manifest.target.files == {"model.safetensors": "a" * 64}
    assert [model.name for model in manifest.models] == ["other"]
    assert [(one.name, one.hash, one.prompts, one.turns) for one in manifest.suites] == [("small", suite.hash, 2, 3)]
    assert manifest.cells[2].resolved == {"threads": 2, "drafter": "draft-model", "shape": [1, 2]}


def test_prompts_are_written_as_they_were_asked(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    bench.run(make_suite(["a", "b"]), warmup=0)
    first, second = RunStore.read(bench.folder).prompts()
    asked = fake.FakeRenderer().prompt_ids([{"role": "user", "content": "a"}])
    assert (first.prompt_ids, first.prompt_tokens) == (asked, len(asked))
    assert (second.prompt_ids, second.prompt_tokens, second.turn_index) == (None, None, 1)


def test_several_engines_run_one_after_the_other_and_never_share_a_group(bench: Bench, make_suite: MakeSuite) -> None:
    backends = [{"kind": "fake"}, {"kind": "fake", "threads": 4}]
    outcome = bench.run(make_suite("a"), backends=backends)
    cells = [cell for cell in outcome.summary.cells if cell.category is None]
    assert len({cell.group for cell in cells}) == 2
    assert [cell.engine["threads"] for cell in cells] == [2, 2, 2, 4, 4, 4]
    assert {turn.launch for turn in bench.turns()} == {0, 1}


def test_the_time_left_is_told_and_ends_at_nothing(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("a", "b"), warmup=0)
    assert len(bench.watcher.left) == 6
    assert bench.watcher.left[-1] == 0.0
    # The first answer took the baseline 1 s + 8 x 0.5 s, and five turns are left that may be as slow.
    assert bench.watcher.left[0] == pytest.approx(5 * 5.0)


def test_garbage_is_collected_between_turns_and_the_collector_comes_back(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    enabled: list[bool] = []
    answered = fake.FakeBackend._answer

    def watched(self: Any, *arguments: Any) -> Any:
        enabled.append(gc.isenabled())
        return answered(self, *arguments)

    monkeypatch.setattr(fake.FakeBackend, "_answer", watched)
    bench.run(make_suite("a"))
    assert enabled == [False] * 6
    assert gc.isenabled()
