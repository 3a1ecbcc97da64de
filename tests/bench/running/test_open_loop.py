"""An open loop sends when its schedule says, whatever the engine does; when turns were due is on record."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from draftmark.bench.running.schedule import Coming, Due, Visit
from draftmark.bench.running.sending import OpenLoop, closed_loop
from draftmark.results.records import TurnRecord
from draftmark.results.records.loads import ConstantLoad, OpenLoad
from draftmark.results.run_folder.store import RunStore
from draftmark.suites.prompt import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Bench

    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


class Engine:
    """Answers a turn after so many seconds of a clock that the loop's own waiting moves."""

    def __init__(self, load: OpenLoad, *, answer_s: float, stop_after: int | None = None) -> None:
        self.now = 100.0
        self.answer_s = answer_s
        self.sent: list[tuple[str, int, float, Due]] = []
        self.in_flight = self.most = 0
        self._stop_after = stop_after
        self._sleepers: list[tuple[float, asyncio.Event]] = []
        self.loop = OpenLoop(load, self.ask, stopped=self.stopped, clock=lambda: self.now, sleep=self.sleep)

    def stopped(self) -> bool:
        return self._stop_after is not None and len(self.sent) >= self._stop_after

    async def sleep(self, seconds: float) -> None:
        event = asyncio.Event()
        self._sleepers.append((self.now + seconds, event))
        await event.wait()

    async def ask(self, visit: Visit, due: Due | None) -> TurnRecord:
        assert due is not None
        self.sent.append((visit.prompt.question_id, visit.turn_index, self.now, due))
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await self.sleep(self.answer_s)
        self.in_flight -= 1
        return TurnRecord(cell_id="c", question_id=visit.prompt.question_id, prompt_hash="h", done_s=self.now)

    def run(self, coming: list[Coming]) -> None:
        asyncio.run(self._run(coming))

    async def _run(self, coming: list[Coming]) -> None:
        running = asyncio.create_task(self.loop.run(coming))
        while not running.done():
            for _ in range(20):  # let everyone come to where they wait
                await asyncio.sleep(0)
            if self._sleepers:
                self._sleepers.sort(key=lambda sleeper: sleeper[0])
                self.now, event = self._sleepers.pop(0)
                event.set()
        await running


def conversations(*at_s: float, turns: int = 1) -> list[Coming]:
    """Conversations q0, q1, ... that begin at these seconds."""
    found = []
    for index, begins_s in enumerate(at_s):
        prompt = Prompt(question_id=f"q{index}", category="talk", turns=("word",) * turns)
        visits = tuple(Visit(index, None, prompt, turn, 0) for turn in range(turns))  # type: ignore[arg-type]
        found.append(Coming(begins_s, visits))
    return found


def test_slow_answers_hold_nothing_back() -> None:
    engine = Engine(ConstantLoad(rate=1), answer_s=60)
    engine.run(conversations(0, 1, 2, 3, 4))
    assert [(name, at_s) for name, _, at_s, _ in engine.sent] == [
        (f"q{index}", pytest.approx(100.0 + index)) for index in range(5)
    ]
    assert [due.at_s for *_, due in engine.sent] == [100, 101, 102, 103, 104]
    assert engine.most == 5


def test_later_turns_follow_their_answer_and_a_thought() -> None:
    engine = Engine(ConstantLoad(rate=1, think_s=0.5), answer_s=3)
    engine.run(conversations(0, 1, turns=2))
    assert [(name, turn, due.at_s) for name, turn, _, due in engine.sent] == [
        ("q0", 0, 100),
        ("q1", 0, 101),
        ("q0", 1, pytest.approx(103.5)),
        ("q1", 1, pytest.approx(104.5)),
    ]


def test_a_cap_holds_back_and_says_for_how_long() -> None:
    engine = Engine(ConstantLoad(rate=1, max_in_flight=2), answer_s=10)
    engine.run(conversations(0, 1, 2, 3))
    assert engine.most == 2
    sent = [(name, pytest.approx(at_s), due.at_s, due.held_s) for name, _, at_s, due in engine.sent]
    assert sent == [
        ("q0", 100, 100, pytest.approx(0)),
        ("q1", 101, 101, pytest.approx(0)),
        ("q2", 110, 102, pytest.approx(8)),
        ("q3", 111, 103, pytest.approx(8)),
    ]


def test_asked_to_stop_it_begins_no_more_and_lets_turns_end() -> None:
    engine = Engine(ConstantLoad(rate=1), answer_s=10, stop_after=2)
    engine.run(conversations(0, 1, 2, 3, turns=2))
    assert [(name, turn) for name, turn, *_ in engine.sent] == [("q0", 0), ("q1", 0)]
    assert engine.in_flight == 0


def test_what_ends_the_engine_ends_the_loop() -> None:
    from draftmark.backends.base import EngineLost

    async def ask(visit: Visit, due: Due | None) -> TurnRecord | None:
        raise EngineLost("gone")

    async def forever(seconds: float) -> None:
        await asyncio.Event().wait()

    loop = OpenLoop(ConstantLoad(rate=1), ask, stopped=lambda: False, clock=lambda: 0.0, sleep=forever)
    with pytest.raises(EngineLost, match="gone"):
        asyncio.run(loop.run(conversations(0, 1)))


def test_a_closed_loop_waits_for_its_answers() -> None:
    in_flight: Counter[str] = Counter()
    most = 0

    async def ask(visit: Visit, due: Due | None) -> TurnRecord | None:
        nonlocal most
        assert due is None
        in_flight["now"] += 1
        most = max(most, in_flight["now"])
        await asyncio.sleep(0)
        in_flight["now"] -= 1
        in_flight[visit.prompt.question_id] += 1
        return None

    waiting = [one.conversation for one in conversations(*range(10), turns=2)]
    asyncio.run(closed_loop(waiting, 3, ask, lambda: False))
    assert most == 3
    assert [in_flight[f"q{index}"] for index in range(10)] == [2] * 10


# The whole runner, on the real clock -------------------------------------------------------------------------------


@pytest.fixture
def patient(fake: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An engine that answers no measured turn before `wanted` of them have been sent to one arm."""

    class Waiting:
        wanted = 6
        arrived: ClassVar[Counter[str]] = Counter()

    async def generate(self: Any, arm: Any, request: Any) -> Any:
        sent_s = time.perf_counter()
        if "user:Warm-up" not in fake.text(request.prompt_ids):
            Waiting.arrived[arm.drafter + str(arm.control)] += 1
            while Waiting.arrived[arm.drafter + str(arm.control)] < Waiting.wanted:
                await asyncio.sleep(0.001)
        seen = await fake.FakeBackend.generate(self, arm, request)
        now = time.perf_counter()
        stamps: dict[str, Any] = {"sent_s": sent_s, "first_token_s": now, "last_token_s": now, "done_s": now}
        return seen.model_copy(
            update={**stamps, "chunk_s": [now] * len(seen.chunk_s), "prefill_s": None, "steps": None}
        )

    monkeypatch.setattr(fake.ApartBackend, "generate", generate)
    monkeypatch.setattr(fake, "CLOCK", time.perf_counter)
    monkeypatch.setattr(fake.FakeBackend, "_pass", lambda self, seconds: None)
    return Waiting


OPEN = {"backends": [{"kind": "apart"}], "load": {"kind": "poisson", "rate": 300, "seed": 1}, "warmup": 0}
SIX = ("one", "two", "three", "four", "five", "six")


@pytest.mark.timeout(60)
def test_the_runner_goes_on_sending_while_no_answer_comes(bench: Bench, make_suite: MakeSuite, patient: Any) -> None:
    # A loop that waited for an answer would never send the sixth.
    outcome = bench.run(make_suite(*SIX), **OPEN)
    assert outcome.exit_code == 0
    store = RunStore.read(bench.folder)
    gaps = []
    for cell in store.manifest.cells:
        turns = sorted(store.turns(cell.cell_id), key=lambda turn: turn.scheduled_s or 0)
        assert [turn.question_id for turn in turns] == ["q0", "q1", "q2", "q3", "q4", "q5"]
        due = [turn.scheduled_s for turn in turns]
        assert all(turn.sent_s >= turn.scheduled_s for turn in turns)  # type: ignore[operator]
        assert max(turn.sent_s or 0 for turn in turns) < min(turn.first_token_s or 0 for turn in turns)
        gaps.append([after - before for before, after in pairwise(due)])  # type: ignore[operator]
    assert gaps[1] == pytest.approx(gaps[0])
    assert gaps[2] == pytest.approx(gaps[0])
    cell = bench.summary_of(outcome, "ngram D=3")
    assert (cell.concurrency, cell.load) == (None, "poisson 300/s")
    for name in ("ttft_from_schedule", "client_lateness", "achieved_request_rate", "achieved_concurrency"):
        assert cell.metrics[name].value is not None
    ttft, from_schedule = (cell.metrics[name].value for name in ("ttft", "ttft_from_schedule"))
    assert from_schedule > ttft  # type: ignore[operator]


@pytest.mark.timeout(60)
def test_a_resumed_open_loop_asks_what_is_missing_in_the_same_order(
    bench: Bench, make_suite: MakeSuite, patient: Any
) -> None:
    patient.wanted = 0
    suite = make_suite(*SIX[:5], ["six", "seven"])
    first = bench.run(suite, **OPEN, stop_after=3)
    assert first.status == "interrupted"
    before = bench.names()
    assert len(before) < 21
    second = bench.run(suite, **OPEN)
    assert second.status == "complete"
    assert len(bench.names()) == len(set(bench.names())) == 21
    assert set(before) <= set(bench.names())
    store = RunStore.read(bench.folder)
    for cell in store.manifest.cells:
        again = [turn for turn in store.turns(cell.cell_id) if turn.session == 1 and turn.turn_index == 0]
        again.sort(key=lambda turn: turn.scheduled_s or 0)
        assert [turn.question_id for turn in again] == sorted(turn.question_id for turn in again)


@pytest.mark.timeout(60)
def test_warm_up_and_cool_down_count_in_nothing_but_what_was_in_flight(
    bench: Bench, make_suite: MakeSuite, patient: Any
) -> None:
    # Due at 0, 10, 20, 30, 40 and 50 ms: the third, fourth and fifth begin between 15 and 45 ms.
    load = {"kind": "constant", "rate": 100, "warm_up_s": 0.015, "cool_down_s": 0.005}
    objectives = {"e2e": 1000, "percentile": 100}
    outcome = bench.run(make_suite(*SIX), **(OPEN | {"load": load}), objectives=objectives)
    for arm in ("none", "ngram D=3"):
        cell = bench.summary_of(outcome, arm)
        assert (cell.turns_ok, cell.turns_expected, cell.status) == (6, 6, "complete")
        assert cell.metrics["ttft"].n == 3
        assert cell.metrics["objectives_met"].n == 3
        assert cell.metrics["objectives_met"].value == 1
        # Three conversations began in 30 ms, and each was answered within any time.
        assert cell.metrics["goodput"].value == pytest.approx(3 / 0.03)
        assert "target of 100% met" in str(cell.metrics["objectives_met"].note)
    assert bench.summary_of(outcome, "ngram D=3").metrics["speedup"].n <= 3


@pytest.mark.timeout(60)
def test_failed_turns_are_due_and_sent_and_meet_no_objective(bench: Bench, make_suite: MakeSuite, patient: Any) -> None:
    patient.wanted = 5
    suite = make_suite("one", ["FAIL", "unsent"], "three", "four", "five")
    outcome = bench.run(suite, **OPEN, objectives={"e2e": 1000})
    assert outcome.exit_code == 1
    for turn in bench.turns():
        assert turn.scheduled_s is not None
    unsent = [turn for turn in bench.turns() if turn.turn_index == 1]
    assert [turn.sent_s for turn in unsent] == [None, None, None]
    met = bench.summary_of(outcome, "none").metrics["objectives_met"]
    assert (met.value, met.n) == (pytest.approx(4 / 6), 6)
