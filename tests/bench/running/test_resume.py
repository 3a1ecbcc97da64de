"""Runs that were stopped and go on: nothing lost, nothing doubled, nothing mixed with other settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.errors import ResultsError
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Bench

    from draftmark.results.records import TurnRecord
    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


@pytest.mark.parametrize("after", range(1, 10))
def test_a_run_stopped_anywhere_and_resumed_has_the_turns_of_an_unbroken_one(
    bench: Bench, make_suite: MakeSuite, fake: Any, tmp_path: Path, after: int
) -> None:
    suite = make_suite(["a", "b"], "c")
    bench.run(suite)
    unbroken = bench.turns()
    bench.folder = tmp_path / "broken"
    stopped = bench.run(suite, stop_after=after)
    assert len(bench.turns()) == after
    if after < 9:
        assert (stopped.status, stopped.exit_code) == ("interrupted", 130)
    resumed = bench.run(suite)
    assert (resumed.status, resumed.exit_code) == ("complete", 0)
    same = {"session", "launch", "sent_s", "first_token_s", "last_token_s", "done_s", "chunk_s"}
    as_told = [turn.model_dump(exclude=same) for turn in sorted(bench.turns(), key=_name)]
    assert as_told == [turn.model_dump(exclude=same) for turn in sorted(unbroken, key=_name)]
    assert resumed.summary.manifest.status == "complete"


def _name(turn: TurnRecord) -> tuple[str, str, int]:
    return (turn.cell_id, turn.question_id, turn.turn_index)


def test_each_session_warms_up_and_each_launch_is_counted(bench: Bench, make_suite: MakeSuite) -> None:
    suite = make_suite("a", "b")
    bench.run(suite, stop_after=2)
    bench.run(suite)
    assert sorted((turn.session, turn.launch) for turn in bench.turns("warmup")) == [(0, 0)] * 3 + [(1, 1)] * 3
    assert sorted((turn.session, turn.launch) for turn in bench.turns()) == [(0, 0)] * 2 + [(1, 1)] * 4
    sessions = RunStore.read(bench.folder).manifest.sessions
    assert [session.elapsed_s is not None and session.ended_at is not None for session in sessions] == [True, True]


def test_a_finished_run_starts_no_engine_again(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    suite = make_suite("a")
    bench.run(suite)
    fake.REQUESTS.clear()
    outcome = bench.run(suite)
    assert (outcome.exit_code, fake.REQUESTS) == (0, [])


def test_failed_turns_are_finished_turns(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    suite = make_suite("FAIL")
    bench.run(suite)
    fake.REQUESTS.clear()
    assert bench.run(suite).exit_code == 1
    assert fake.REQUESTS == []


def test_a_second_request_drops_the_turn_in_flight_and_keeps_the_others(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = fake.FakeBackend._answer

    def impatient(self: Any, *arguments: Any) -> Any:
        if len(fake.REQUESTS) == 5:
            raise KeyboardInterrupt
        return answered(self, *arguments)

    monkeypatch.setattr(fake.FakeBackend, "_answer", impatient)
    outcome = bench.run(make_suite("a", "b", "c"), warmup=0)
    assert (outcome.status, outcome.exit_code) == ("interrupted", 130)
    assert len(bench.turns()) == 4
    assert RunStore.read(bench.folder).manifest.status == "interrupted"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sampling": {"max_tokens": 10}}, r"plan\.sampling\.max_tokens: 9 -> 10"),
        ({"repeats": 2}, r"plan\.repeats: 1 -> 2"),
        ({"weights": "b" * 64}, r"target\.files\.model\.safetensors"),
    ],
)
def test_another_plan_or_model_cannot_go_on_with_a_run(
    bench: Bench, make_suite: MakeSuite, changes: dict[str, Any], said: str
) -> None:
    suite = make_suite("a", "b")
    bench.run(suite, stop_after=1)
    with pytest.raises(ResultsError, match=said):
        bench.run(suite, **changes)
    assert len(bench.turns()) == 1


def test_other_prompts_cannot_go_on_with_a_run(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("a", "b"), stop_after=1)
    with pytest.raises(ResultsError, match="suites"):
        bench.run(make_suite("a", "c"))


def test_settings_that_the_engine_resolves_otherwise_are_refused(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite("a", "b")
    bench.run(suite, stop_after=1)
    monkeypatch.setattr(fake.FakeBackend, "resolved", lambda self, arm: {"threads": 1, "drafter": arm.drafter})
    with pytest.raises(Exception, match=r"threads: 2 -> 1") as caught:
        bench.run(suite)
    assert getattr(caught.value, "exit_code", None) == 2
    assert RunStore.read(bench.folder).manifest.status == "failed"


def test_an_arm_left_out_at_first_stays_out_when_it_becomes_possible(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite("a", "b")
    drafters = [{"kind": "none"}, {"kind": "suffix", "draft_length": 8, "optional": True}]
    possible = fake.FakeSpec.arm_problem
    monkeypatch.setattr(
        fake.FakeSpec, "arm_problem", lambda self, arm: "none here" if arm.drafter == "suffix" else None
    )
    bench.run(suite, drafters=drafters, stop_after=1)
    monkeypatch.setattr(fake.FakeSpec, "arm_problem", possible)
    outcome = bench.run(suite, drafters=drafters)
    assert bench.summary_of(outcome, "suffix D=8").status == "left out"
    assert outcome.exit_code == 0
    assert "suffix D=8 is left out: none here" in bench.watcher.sentences


def test_an_arm_that_cannot_run_any_more_is_no_silent_gap(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite("a", "b")
    drafters = [{"kind": "none"}, {"kind": "suffix", "draft_length": 8, "optional": True}]
    bench.run(suite, drafters=drafters, stop_after=1)
    monkeypatch.setattr(fake.FakeSpec, "arm_problem", lambda self, arm: "gone" if arm.drafter == "suffix" else None)
    with pytest.raises(Exception, match="was started with suffix D=8, which cannot run here now: gone"):
        bench.run(suite, drafters=drafters)


def test_a_setting_that_only_one_session_tells_is_no_contradiction(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite("a", "b")
    bench.run(suite, stop_after=1)
    monkeypatch.setattr(fake.FakeBackend, "resolved", lambda self, arm: {"threads": 2, "gpus": 0})
    assert bench.run(suite).exit_code == 0
    resolved = RunStore.read(bench.folder).manifest.cells[0].resolved
    assert resolved == {"threads": 2, "drafter": "none", "shape": [1, 2], "gpus": 0}


def test_a_run_does_not_go_on_with_prompts_that_are_rendered_otherwise(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite("a", "b")
    bench.run(suite, stop_after=2)
    before = RunStore.read(bench.folder)
    prompts, turns = before.prompts(), bench.turns()
    render = fake.FakeRenderer.prompt_ids

    def tomorrow(self: Any, messages: Any, tools: object = None) -> list[int]:
        ids: list[int] = render(self, messages, tools)
        return [*map(ord, "2 Jan "), *ids]

    monkeypatch.setattr(fake.FakeRenderer, "prompt_ids", tomorrow)
    with pytest.raises(ResultsError, match=r"2 of 2 prompts are rendered otherwise now.*question 'q0'"):
        bench.run(suite)
    after = RunStore.read(bench.folder)
    assert after.prompts() == prompts
    assert bench.turns() == turns
    assert len(after.manifest.sessions) == 1
    monkeypatch.setattr(fake.FakeRenderer, "prompt_ids", render)
    assert bench.run(suite).status == "complete"
