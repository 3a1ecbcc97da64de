"""How long the rest will take, from turns that were measured; null before there is anything to go by."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from draftmark.results.errors import DraftmarkError
from draftmark.results.records.loads import ClosedLoad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from draftmark.bench.plans.cells import Group
    from draftmark.results.records import CellKey, CellRecord, Observation
    from draftmark.results.run_folder.store import RunStore


class Pace:
    """Seconds per turn so far, by cell; where several are in flight, a turn counts for its share of the time."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._starts_s: list[float] = []
        self.starts_left = 0
        """Engines that are still to be started."""

    def add_start(self, seconds: float) -> None:
        """Count one start of an engine."""
        self._starts_s.append(seconds)

    def add(self, cell_id: str, seconds: float) -> None:
        """Count one measured turn."""
        total = self._seconds[cell_id]
        total[0] += seconds
        total[1] += 1

    def left(self, remaining: Mapping[str, int]) -> float | None:
        """Return about how many seconds the remaining turns of each cell take, engine starts included.

        A cell without a turn yet is taken to be as slow as the mean of all turns so far; null without any.
        """
        seconds, turns = (
            (sum(values) for values in zip(*self._seconds.values(), strict=True)) if self._seconds else (0, 0)
        )
        if not turns:
            return None
        asking = sum(count * self._mean(cell_id, seconds / turns) for cell_id, count in remaining.items())
        starting = self.starts_left * sum(self._starts_s) / len(self._starts_s) if self._starts_s else 0.0
        return asking + starting

    def _mean(self, cell_id: str, otherwise: float) -> float:
        if cell_id not in self._seconds:
            return otherwise
        seconds, turns = self._seconds[cell_id]
        return seconds / turns


def duration(observation: Observation) -> float | None:
    """Return the seconds from sending a turn to its end; null where the engine gave no such stamps."""
    end = observation.done_s if observation.done_s is not None else observation.last_token_s
    return None if end is None or observation.sent_s is None else end - observation.sent_s


def pace_of(group: Group) -> Callable[[Observation], float | None]:
    """Return what one turn of a group adds to the time that its cell takes, given the turn.

    In an open loop that is the schedule's matter; else it is the turn's share of the time, as long as others are in
    flight with it.
    """
    if isinstance(group.load, ClosedLoad):
        at_once = group.load.concurrency
        return lambda turn: None if (seconds := duration(turn)) is None else seconds / at_once
    turns = sum(len(one.prompt.turns) for one in group.arrivals)
    each = group.arrivals[-1].at_s / turns if turns else None
    return lambda _: each


def from_earlier(cells: Iterable[CellRecord], earlier: RunStore) -> tuple[float | None, str]:
    """Return the seconds that cells take by an earlier run of the same arms, and in words what that rests on.

    A cell goes by the earlier cell that is equal but for the selection of prompts and the seed. Null where one is
    missing, with the sentence saying which: a guess from other arms would be no estimate.
    """
    means = {_kin(cell.key): _mean_duration(earlier, cell) for cell in earlier.manifest.cells if cell.left_out is None}
    total = 0.0
    for cell in cells:
        if not isinstance(cell.key.load, ClosedLoad):
            return None, "an open loop takes as long as its schedule says, and then until the last answer is there"
        mean = means.get(_kin(cell.key))
        if mean is None:
            name = f"{cell.key.arm.label} on {cell.key.suite}"
            return None, f"{earlier.path.name} has no turn of {name} with these settings"
        total += mean * cell.expected_turns / cell.key.load.concurrency
    cpu = earlier.manifest.sessions[-1].environment.cpu if earlier.manifest.sessions else None
    return total, f"by the turns of {earlier.path.name}" + (f", measured on {cpu}" if cpu else "")


def _kin(key: CellKey) -> str:
    alike = {"suite_hash": "-", "sampling": key.sampling.model_copy(update={"seed": 0})}
    return key.model_copy(update=alike).model_dump_json()


def _mean_duration(store: RunStore, cell: CellRecord) -> float | None:
    try:
        found = [duration(turn) for turn in store.turns(cell.cell_id) if turn.status == "ok"]
    except DraftmarkError:
        return None
    seconds = [value for value in found if value is not None]
    return sum(seconds) / len(seconds) if seconds else None


def in_words(seconds: float) -> str:
    """Return a duration as people say it: 40 s, 3 min, 1 h 20 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
