"""Arms that are engines of their own: their order, several turns at once, and what is left when one of them is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError
from draftmark.results.errors import StoreWriteError
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Bench

    from draftmark.results.records import CellRecord
    from draftmark.results.run_folder.store import RunStore as Store
    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]

APART = {"backends": [{"kind": "apart"}]}
THREE = [{"kind": "none"}, {"kind": "ngram", "draft_length": 3}, {"kind": "suffix", "draft_length": 2}]


def stored(bench: Bench) -> Store:
    return RunStore.read(bench.folder)


def cell_of(bench: Bench, label: str) -> CellRecord:
    (found,) = [cell for cell in stored(bench).manifest.cells if cell.key.arm.label == label]
    return found


def test_the_baseline_runs_first_and_last_and_the_others_take_turns(
    bench: Bench, make_suite: MakeSuite, fake: Any
) -> None:
    bench.run(make_suite("one", "two"), **APART, drafters=THREE, launches=2)
    assert [
        *["none", "ngram D=3", "suffix D=2", "none (control)"],
        *["none", "suffix D=2", "ngram D=3", "none (control)"],
    ] == fake.STARTS


def test_every_launch_measures_every_repeat_and_is_numbered(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("one", "two"), **APART, launches=2, repeats=2)
    assert outcome.exit_code == 0
    cell = cell_of(bench, "ngram D=3")
    assert cell.expected_turns == 2 * 2 * 2
    turns = list(stored(bench).turns(cell.cell_id))
    assert {(turn.repeat, turn.launch) for turn in turns} == {(0, 1), (1, 1), (2, 4), (3, 4)}  # three engines a round
    assert len(turns) == 8


def test_as_many_conversations_go_on_at_once_as_the_load_says(bench: Bench, make_suite: MakeSuite) -> None:
    suite = make_suite("a", "b", ["c", "c again"], "d", "e")
    bench.run(suite, **APART, load={"concurrency": [1, 3]}, warmup=0)
    most = {}
    for cell in stored(bench).manifest.cells:
        turns = list(stored(bench).turns(cell.cell_id))
        assert {(turn.question_id, turn.turn_index) for turn in turns} == {
            ("q0", 0), ("q1", 0), ("q2", 0), ("q2", 1), ("q3", 0), ("q4", 0)
        }  # fmt: skip
        most[cell.key.load.concurrency] = max(turn.details["in_flight"] for turn in turns)
    assert most == {1: 1, 3: 3}


def test_a_batch_as_large_as_the_measured_ones_warms_up(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("a", "b"), **APART, load={"concurrency": 3}, launches=2)
    cell = cell_of(bench, "ngram D=3")
    warm = list(stored(bench).turns(cell.cell_id, phase="warmup"))
    assert sorted((turn.question_id, turn.repeat) for turn in warm) == [
        *[("warm-up 0", 0), ("warm-up 0", 1), ("warm-up 1", 0), ("warm-up 1", 1), ("warm-up 2", 0), ("warm-up 2", 1)]
    ]


def test_the_counters_of_every_window_are_kept(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("one", "two"), **APART, launches=2, warmup=1)
    facts = stored(bench).engine(cell_of(bench, "ngram D=3").cell_id)
    assert facts is not None
    assert facts["windows"] == [
        {"session": 0, "launch": 1, "before": {"tokens": 9.0}, "after": {"tokens": 27.0}},
        {"session": 0, "launch": 4, "before": {"tokens": 9.0}, "after": {"tokens": 27.0}},
    ]


def test_a_lost_engine_ends_its_arm_alone_and_a_rerun_completes_it(bench: Bench, make_suite: MakeSuite) -> None:
    suite = make_suite("one", "two", "three")
    dying = {"backends": [{"kind": "apart", "dies": {"ngram": 1}}], "drafters": THREE}
    outcome = bench.run(suite, **dying)
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    done = {cell.key.arm.label: len(list(stored(bench).turns(cell.cell_id))) for cell in stored(bench).manifest.cells}
    assert done == {"none": 3, "none (control)": 3, "ngram D=3": 1, "suffix D=2": 3}
    lost = cell_of(bench, "ngram D=3").lost
    assert lost == "the engine was killed (SIGKILL); its last words: goodbye"
    (summary,) = [cell for cell in outcome.summary.cells if cell.arm == "ngram D=3" and cell.category is None]
    assert summary.status_text == f"partial 1/3; {lost}"
    assert not outcome.summary.failures  # the turns in flight are nobody's fault, and are asked again


def test_the_rerun_asks_what_is_missing_and_forgets_the_loss(
    bench: Bench, make_suite: MakeSuite, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite("one", "two", "three")
    dying = {"backends": [{"kind": "apart", "dies": {"ngram": 1}}]}
    bench.run(suite, **dying)
    fake.STARTS.clear()
    asked = len(fake.REQUESTS)
    generate = fake.ApartBackend.generate

    async def healthy(self: Any, arm: Any, request: Any) -> Any:
        self.answered = -1000
        return await generate(self, arm, request)

    monkeypatch.setattr(fake.ApartBackend, "generate", healthy)
    outcome = bench.run(suite, **dying)
    assert (outcome.status, outcome.exit_code) == ("complete", 0)
    assert fake.STARTS == ["ngram D=3"]
    assert len(fake.REQUESTS) - asked == 1 + 2  # one to warm up, two that were missing
    assert cell_of(bench, "ngram D=3").lost is None


def test_an_engine_that_does_not_start_ends_its_arm_alone(bench: Bench, make_suite: MakeSuite) -> None:
    outcome = bench.run(make_suite("one"), backends=[{"kind": "apart", "broken": ["ngram"]}], drafters=THREE)
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert cell_of(bench, "ngram D=3").lost == "no engine for ngram"
    assert len(list(stored(bench).turns(cell_of(bench, "suffix D=2").cell_id))) == 1


def test_a_backend_none_of_whose_engines_start_is_wrong_input(bench: Bench, make_suite: MakeSuite) -> None:
    with pytest.raises(BackendError, match="no engine for none"):
        bench.run(make_suite("one"), backends=[{"kind": "apart", "broken": ["none", "ngram"]}])


def test_what_diverges_is_put_to_a_baseline_engine(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    bench.run(make_suite("DIVERGE TIE"), **APART)
    rows = list(stored(bench).divergences(cell_of(bench, "ngram D=3").cell_id) or ())
    assert [(row.position, row.verdict) for row in rows] == [(2, "numeric-tie")]
    assert fake.STARTS == ["none", "ngram D=3", "none (control)"]  # the last one is asked, no further one is started


def test_a_full_disk_ends_the_run_as_what_it_is(
    bench: Bench, make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Store, turn: Any) -> None:
        raise StoreWriteError("no space left on device")

    monkeypatch.setattr(RunStore, "append_turn", full)
    with pytest.raises(StoreWriteError, match="no space left"):
        bench.run(make_suite("one", "two"), **APART, load={"concurrency": 2}, warmup=0)


def test_the_others_are_compared_although_one_arm_is_lost(bench: Bench, make_suite: MakeSuite) -> None:
    bench.run(make_suite("DIVERGE TIE", "two"), backends=[{"kind": "apart", "dies": {"ngram": 1}}], drafters=THREE)
    assert not stored(bench).divergences_checked(cell_of(bench, "ngram D=3").cell_id)
    rows = stored(bench).divergences(cell_of(bench, "suffix D=2").cell_id)
    assert [row.verdict for row in rows] == ["numeric-tie"]
