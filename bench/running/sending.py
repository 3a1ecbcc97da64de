"""Sending the turns of one cell: a closed loop, which waits for answers, or an open one, which follows a schedule.

An open loop never waits for an answer before it begins another conversation, so that a slow engine is measured with the
load it was given and not with one that it set itself. When a turn was due is recorded beside when it was sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from draftmark.backends.base import BackendError
from draftmark.bench.running.schedule import Due, Visit
from draftmark.results.errors import ResultsError
from draftmark.results.records import TurnRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from draftmark.bench.running.schedule import Coming
    from draftmark.results.records.loads import OpenLoad

Ask: TypeAlias = Callable[[Visit, Due | None], Awaitable[TurnRecord | None]]
"""Puts one turn to the engine and keeps its record; returns null where it is on record already."""

LOOK_S = 0.2
"""How often a wait looks whether it was asked to stop, seconds."""


async def closed_loop(
    conversations: Iterable[Sequence[Visit]], holders: int, ask: Ask, stopped: Callable[[], bool]
) -> None:
    """Have `holders` conversations at once; each sends its next turn when it has an answer.

    Raises `EngineLost` or what else ends the cell, from the first turn that met it.
    """
    waiting = iter(conversations)

    async def hold() -> None:
        for conversation in waiting:
            for visit in conversation:
                if stopped():
                    return
                await ask(visit, None)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(holders):
                tasks.create_task(hold())
    except* (BackendError, ResultsError) as gone:
        raise gone.exceptions[0] from None


class OpenLoop:
    """Begins conversations when they are due; their later turns follow when the answer is there."""

    def __init__(
        self,
        load: OpenLoad,
        ask: Ask,
        *,
        stopped: Callable[[], bool],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`clock` gives seconds of the session, as the records' stamps are; `sleep` waits so many of them."""
        self._load = load
        self._ask = ask
        self._stopped = stopped
        self._clock = clock
        self._sleep = sleep
        self._slots = None if load.max_in_flight is None else asyncio.Semaphore(load.max_in_flight)

    async def run(self, coming: Sequence[Coming]) -> None:
        """Begin every conversation at its time from now on, and wait until all have ended.

        Asked to stop, it begins no more and lets the turns in flight end. Raises as `closed_loop` does.
        """
        start_s = self._clock()
        try:
            async with asyncio.TaskGroup() as tasks:
                for one in coming:
                    due_s = start_s + one.at_s
                    if not await self._until(due_s):
                        break
                    tasks.create_task(self._hold(one.conversation, due_s))
        except* (BackendError, ResultsError) as gone:
            raise gone.exceptions[0] from None

    async def _hold(self, conversation: Sequence[Visit], due_s: float) -> None:
        for visit in conversation:
            if not await self._until(due_s):
                return
            turn = await self._in_turn(visit, due_s)
            if turn is not None:
                ends = (turn.done_s, turn.last_token_s, self._clock())
                due_s = next(end for end in ends if end is not None) + self._load.think_s

    async def _in_turn(self, visit: Visit, due_s: float) -> TurnRecord | None:
        if self._slots is None:
            return await self._ask(visit, Due(due_s))
        from_s = self._clock()
        async with self._slots:
            if self._stopped():
                return None
            return await self._ask(visit, Due(due_s, held_s=self._clock() - from_s))

    async def _until(self, due_s: float) -> bool:
        """Wait until a moment has come; false if it was asked to stop meanwhile."""
        await asyncio.sleep(0)  # what is overdue must not keep what was begun before from being sent
        while not self._stopped():
            left_s = due_s - self._clock()
            if left_s <= 0:
                return True
            await self._sleep(min(left_s, LOOK_S))
        return False
