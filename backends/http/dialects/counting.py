"""A server's counters over time: added up where it forgets what it told, with restarts counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.backends.http.prometheus import MetricsUnreadable, Series, summed
from draftmark.results.counter_names import RESETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.dialects.base import Dialect


class Counting:
    """The counters of one server, for `Backend.counters`."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._series = Series()
        self._drained: dict[str, float] = {}
        self._lost = 0
        self.reason: str | None = None
        """Why the last counters cannot be told apart from earlier ones, or are not there."""

    @property
    def paths(self) -> tuple[str, ...]:
        """What to GET before each `read`."""
        return self._dialect.counters_paths

    def read(self, bodies: Mapping[str, bytes]) -> dict[str, float] | None:
        """Return the counters since the server started or was first asked; null where it has none.

        Args:
            bodies: What each path gave, for those that answered with status 200.

        Returns:
            Sums by the names of `Backend.counters`, and `counter_resets`: a window across which that rises holds no
            counts, since the server was restarted or has forgotten something.
        """
        kept: dict[str, float] = {}
        seen = False
        for path in self.paths:
            body = bodies.get(path)
            if body is None:
                continue
            try:
                found = self._dialect.series(body, path)
            except MetricsUnreadable as fault:
                self.reason = str(fault)
                self._lost += 1
                continue
            seen = True
            if path in self._dialect.drained_paths:
                for name, value in summed(found).items():
                    self._drained[name] = self._drained.get(name, 0.0) + value
            else:
                kept |= found
        if not seen:
            return None
        sums = self._series.sums(kept)
        self.reason = self._series.reason or self.reason
        resets = sums.pop(RESETS) + self._lost
        return {**self._dialect.named({**sums, **self._drained}), RESETS: resets}
