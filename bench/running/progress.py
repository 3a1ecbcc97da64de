"""What a person sees while a run is at work: a bar with the time left on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, Self

from draftmark.bench.running.forecast import in_words
from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress, TaskID

SECONDS_BETWEEN_LINES = 30.0


class Reporter(Protocol):
    """Told by the runner what happens; must not fail and must be quick, since it stands between turns."""

    def say(self, sentence: str) -> None:
        """Take a sentence worth reading."""
        ...

    def advance(self, done: int, total: int, left_s: float | None) -> None:
        """Take how many turns are finished, of how many, and about how many seconds are left, where known."""
        ...


class Silent:
    """Says nothing."""

    def say(self, sentence: str) -> None:
        """Say nothing."""

    def advance(self, done: int, total: int, left_s: float | None) -> None:
        """Say nothing."""


class Lines:
    """Sentences at once, and the state of the run on a line of its own every half minute, written by `write`."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._last = clock()

    def say(self, sentence: str) -> None:
        """Write the sentence."""
        self._write(sentence)

    def advance(self, done: int, total: int, left_s: float | None) -> None:
        """Write a line if the last one is half a minute old."""
        if self._clock() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = self._clock()
            self._write(f"{done} of {total} turns" + ("" if left_s is None else f", about {in_words(left_s)} left"))


class Bar:
    """A progress bar on standard error; use it as a context."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        # auto_refresh would redraw from a thread of its own in the middle of a turn that is being timed.
        self._progress: Progress = Progress(
            TextColumn("turns"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=Console(file=sys.stderr),
            auto_refresh=False,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def say(self, sentence: str) -> None:
        """Print the sentence above the bar."""
        self._progress.console.print(harmless(sentence), markup=False, highlight=False)

    def advance(self, done: int, total: int, left_s: float | None) -> None:
        """Redraw the bar."""
        left = "" if left_s is None else f"about {in_words(left_s)} left"
        if self._task is None:
            self._task = self._progress.add_task("turns", total=total, left=left)
        self._progress.update(self._task, completed=done, total=total, left=left, refresh=True)
