"""Turns, engines and folders that fail: recorded, counted apart, and told in a sentence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.errors import ResultsError, StoreWriteError
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Bench

    from draftmark.results.records import TurnRecord
    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


def test_failing_turns_are_recorded_with_their_reason_and_the_run_goes_on(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("FAIL", "CRASH", "PARTIAL", "fine"))
    assert (outcome.exit_code, outcome.status) == (1, "complete")
    found = {turn.question_id: turn for turn in bench.turns() if bench.arm_of(turn) == "none"}
    assert [(turn.status, turn.failure and turn.failure.kind) for turn in found.values()] == [
        ("failed", "asked-to"),
        ("failed", "engine-error"),
        ("failed", "context-limit"),
        ("ok", None),
    ]
    assert found["q0"].failure is not None
    assert found["q0"].failure.message == "the prompt says FAIL"
    assert found["q1"].failure is not None
    assert found["q1"].failure.message == "ZeroDivisionError: the prompt says CRASH"
    assert (found["q2"].output_tokens, found["q0"].sent_s is not None) == (3, True)
    summary = bench.summary_of(outcome, "ngram D=3")
    assert (summary.turns_ok, summary.turns_failed) == (1, 3)
    assert any("the prompt says CRASH" in sentence for sentence in bench.watcher.sentences)


def test_after_a_failed_turn_the_conversation_is_recorded_as_failed_too(
    bench: Bench, make_suite: MakeSuite, fake: Any
) -> None:
    bench.run(make_suite(["first", "FAIL", "third"], "other"), warmup=0)
    found = [turn for turn in bench.turns() if bench.arm_of(turn) == "none"]
    kinds = [(turn.question_id, turn.turn_index, turn.failure and turn.failure.kind) for turn in found]
    assert kinds == [("q0", 0, None), ("q0", 1, "asked-to"), ("q0", 2, "earlier-turn-failed"), ("q1", 0, None)]
    assert not any("third" in fake.text(request.prompt_ids) for _, request in fake.REQUESTS)


def test_details_that_json_cannot_hold_cost_the_turn_and_not_the_run(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("UNSTORABLE", "fine"))
    assert outcome.exit_code == 1
    assert Counter(turn.failure and turn.failure.kind for turn in bench.turns()) == {"protocol": 3, None: 3}


def test_a_run_without_a_single_token_does_not_succeed(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("EMPTY"))
    assert (outcome.output_tokens, outcome.summary.failures, outcome.exit_code) == (0, [], 1)


def test_an_engine_that_does_not_start_leaves_a_run_that_says_so(bench: Bench, make_suite: MakeSuite) -> None:
    with pytest.raises(RuntimeError, match="does not start"):
        bench.run(make_suite("a"), backends=[{"kind": "fake", "starts": False}])
    manifest = RunStore.read(bench.folder).manifest
    assert manifest.status == "failed"
    assert manifest.sessions[0].elapsed_s == 0.0


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(
    bench: Bench, make_suite: MakeSuite, fake: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    bench.folder = tmp_path / "file" / "run"
    with pytest.raises(StoreWriteError) as caught:
        bench.run(make_suite("a"))
    assert caught.value.exit_code == 3
    assert fake.REQUESTS == []


def test_a_disk_that_fills_up_ends_the_run_and_keeps_what_was_written(
    bench: Bench, make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = RunStore.append_turn
    written: list[TurnRecord] = []

    def full(self: RunStore, turn: TurnRecord) -> None:
        if len(written) == 4:
            raise StoreWriteError("the disk is full")
        append(self, turn)
        written.append(turn)

    suite = make_suite("a", "b")
    with monkeypatch.context() as patched:
        patched.setattr(RunStore, "append_turn", full)
        with pytest.raises(StoreWriteError, match="the disk is full"):
            bench.run(suite, warmup=0)
    assert len(bench.turns()) == 4
    assert bench.run(suite, warmup=0).exit_code == 0
    assert len(bench.turns()) == 6


def test_a_folder_with_something_else_in_it_is_left_alone(bench: Bench, make_suite: MakeSuite) -> None:
    bench.folder.mkdir()
    (bench.folder / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultsError, match="not empty"):
        bench.run(make_suite("a"))
    assert [path.name for path in bench.folder.iterdir()] == ["thesis.tex"]
