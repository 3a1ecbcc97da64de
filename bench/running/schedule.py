"""Who is asked what, when: engine starts, the order of conversations and turns, the rotation of arms, turns' seeds.

Everything here is a pure function of the plan, so a resumed run goes on in the order that an unbroken one would have.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.results.roles import is_baseline, speculates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from draftmark.bench.plans.cells import Group
    from draftmark.results.records import CellRecord
    from draftmark.suites.prompt import Prompt


@dataclass(frozen=True)
class Launch:
    """One planned start of an engine, with what it measures."""

    number: int
    """Counted from 0 over the plan's launches."""
    cells: tuple[CellRecord, ...]
    """Cells of one arm, or of all arms where one process holds them all."""
    repeats: range
    place: int
    """Place of its arm among those of this round; 0 where it holds all."""

    def repeats_of(self, rounds: int) -> range:
        """Return the repeats that it has of a group's conversations, of which each launch has `rounds`."""
        return range(self.number * rounds, (self.number + 1) * rounds)


def launches(groups: Sequence[Group], *, launches: int, repeats: int, one_engine_per_arm: bool) -> Iterator[Launch]:
    """Yield the starts of one backend's engines; launch k has the repeats from k * `repeats` on.

    Where each arm is an engine of its own, rounds go over the arms: the baseline first and its control last, so that
    what drifts over a round shows between these two; the others take turns in being the first of them.
    """
    for number in range(launches):
        here = range(number * repeats, (number + 1) * repeats)
        cells = [cell for group in groups for cell in group.running]
        if not one_engine_per_arm:
            yield Launch(number, tuple(cells), here, 0)
            continue
        by_arm: dict[str, list[CellRecord]] = {}
        for cell in cells:
            by_arm.setdefault(cell.key.arm.model_dump_json(), []).append(cell)
        first = [arm for arm in by_arm.values() if is_baseline(arm[0].key.arm)]
        last = [arm for arm in by_arm.values() if arm[0].key.arm.control]
        others = [arm for arm in by_arm.values() if speculates(arm[0].key.arm)]
        turned = others[number % len(others) :] + others[: number % len(others)] if others else []
        for place, arm in enumerate([*first, *turned, *last]):
            yield Launch(number, tuple(arm), here, place)


@dataclass(frozen=True)
class Visit:
    """One turn of one conversation in one repeat; where one process holds all arms it is put to all before the next."""

    index: int
    """Running number over the launch; it sets the rotation."""
    group: Group
    prompt: Prompt
    turn_index: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Due:
    """When an open loop had to send a turn, in seconds of the session."""

    at_s: float
    held_s: float | None = None
    """For how long after that a cap on the turns in flight held it back; null without a cap."""


@dataclass(frozen=True)
class Coming:
    """A conversation that an open loop is yet to begin."""

    at_s: float
    """Seconds after the loop's start."""
    conversation: tuple[Visit, ...]


def coming(group: Group, launch: Launch, finished: AbstractSet[tuple[str, int, int]]) -> list[Coming]:
    """Return the conversations of a launch's open loop in the order in which they begin.

    Turns that are on record are left out, and conversations that have no others. The first one left begins at once and
    the gaps between those left stay, whatever came between them.
    """
    first = launch.number * group.rounds
    found = []
    for number, arrival in enumerate(group.arrivals):
        prompt, repeat = arrival.prompt, first + arrival.turn_round
        left = tuple(
            Visit(number, group, prompt, turn_index, repeat)
            for turn_index in range(len(prompt.turns))
            if (prompt.question_id, turn_index, repeat) not in finished
        )
        if left:
            found.append(Coming(arrival.at_s, left))
    return [Coming(one.at_s - found[0].at_s, one.conversation) for one in found]


def visits(groups: Sequence[Group], repeats: range) -> Iterator[Visit]:
    """Yield the visits of a launch: repeat by repeat, suite by suite, conversation by conversation, turn by turn."""
    index = repeats.start * sum(group.suite.turns for group in groups)
    for repeat in repeats:
        for group in groups:
            for prompt in group.suite.prompts:
                for turn_index in range(len(prompt.turns)):
                    yield Visit(index, group, prompt, turn_index, repeat)
                    index += 1


def rotation(index: int, arms: int) -> list[int]:
    """Return the order in which visit `index` asks `arms` arms, as their numbers.

    Rows of a balanced Latin square (Williams 1949): over any `arms` visits from a multiple of it, each arm takes each
    place once, and each follows each other equally often, since what an arm leaves behind (warm caches, heat) must not
    meet always the same one. For an odd number that takes two rounds, the second mirrored.
    """
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(arms)]
    row = [(number + index) % arms for number in zigzag]
    mirrored = arms % 2 == 1 and index // arms % 2 == 1
    return row[::-1] if mirrored else row


def turn_seed(root: int, suite: str, question_id: str, turn_index: int, repeat: int) -> int:
    """Return the seed of a turn, the same for all arms: 52 bits of sha256, which every engine and JSON reader holds."""
    text = json.dumps([root, suite, question_id, turn_index, repeat], ensure_ascii=True, separators=(",", ":"))
    return int(hashlib.sha256(text.encode()).hexdigest()[:13], 16)
