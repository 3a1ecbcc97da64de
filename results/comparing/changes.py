"""What a comparison of runs says, as records: settings, cells and metrics that changed, each with how it is known."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from draftmark.results.records.base import Record
from draftmark.results.statistics import LEVEL, t_quantile

Word = Literal["better", "worse", "changed", "no clear difference", "not known"]
_ROUNDING = 1e-9
"""Log ratios below this are rounding."""


class SettingChange(Record):
    """One setting that is not the same on both sides."""

    field: str
    """Dotted: `sampling.temperature`, `environment.gpus`, `engine.threads`."""
    before: Any
    after: Any
    forbids: bool
    """Whether numbers cannot be compared for it; else it is told beside them."""


class LogRatio(Record):
    """log(candidate / baseline) of one metric with its uncertainty, Student-distributed."""

    value: FiniteFloat
    error: FiniteFloat
    """Standard error; 0 where equal runs gave the very same."""
    degrees: FiniteFloat
    """Degrees of freedom of the standard error."""

    def half_width(self, probability: float = 0.5 + LEVEL / 2) -> float:
        """Return how far the bound lies from the value that holds with this one-sided probability."""
        return t_quantile(self.degrees, probability) * self.error if self.error else 0.0

    def chance_of_more(self) -> float:
        """Return the one-sided p-value of "it grew": how likely a value this large is where nothing changed."""
        if abs(self.value) < _ROUNDING:
            return 0.5
        if self.error == 0:
            return 0.0 if self.value > 0 else 1.0
        from scipy.special import stdtr

        return float(stdtr(self.degrees, -self.value / self.error))

    def inverse(self) -> LogRatio:
        """Return log(baseline / candidate)."""
        return self.model_copy(update={"value": -self.value})


class MetricChange(Record):
    """One metric of one cell in both runs."""

    metric: str
    unit: str
    better: Literal["higher", "lower"] | None
    """As the metric declares it; null where it declares none."""
    baseline: float | None
    """The metric over all turns of the baseline run; of the first, where there are several."""
    candidate: float | None
    against: list[LogRatio]
    """The paired ratio; a second one where the arms' baseline ran twice, which spans its drift. Empty: no interval."""
    ratio: float | None
    """candidate / baseline over what both were asked; null where nothing was."""
    low: float | None = None
    high: float | None = None
    """95% interval of the ratio."""
    pairs: NonNegativeInt = 0
    """Turns (question, turn) that both were asked in the same words."""
    left_out: NonNegativeInt = 0
    """Turns that only one side has, or that were asked in other words."""
    rounds: tuple[int, int] = (0, 0)
    """Times that the prompts were asked: of the baseline runs together, and of the candidate."""
    method: str
    """How the interval came about, in words."""
    notes: list[str] = Field(default_factory=list)
    reason: str | None = None
    """Why there is no ratio or no interval."""
    impossible: str | None = None
    """What the metric's definition rules out about a value; such a number is compared with nothing."""

    @property
    def word(self) -> Word:
        """Say what the interval shows; better and worse as the metric declares it."""
        if self.low is None or self.high is None:
            return "not known"
        if self.low <= 1 <= self.high:
            return "no clear difference"
        if self.better is None:
            return "changed"
        return "better" if (self.low > 1) == (self.better == "higher") else "worse"


class Ended(Record):
    """A cell that only one of the runs has."""

    cell_id: str
    name: str
    why: str


class CellChange(Record):
    """One cell in both runs."""

    name: str
    """Backend, suite, arm and load in words, unique within the candidate run."""
    baseline_id: str
    candidate_id: str
    renamed_from: str | None = None
    speculates: bool
    settings: list[SettingChange]
    metrics: list[MetricChange]
    repeat_cv: tuple[float | None, float | None] = (None, None)
    """Variation of the decode speed over repeats, of either run; null below two repeats."""
    failed_share: tuple[float, float] = (0.0, 0.0)
    """Share of turns that failed in the baselines together and in the candidate, 0 to 1."""
    unfinished: str | None = None
    """What is missing of the candidate's turns, or of a baseline's, in words."""

    @property
    def forbidding(self) -> list[SettingChange]:
        """Settings for which this cell cannot be compared."""
        return [change for change in self.settings if change.forbids]


class RunName(Record):
    """Which run."""

    run_id: str
    name: str
    folder: str
    status: str


class Comparison(Record):
    """What changed from the baseline runs to the candidate run."""

    baselines: list[RunName]
    candidate: RunName
    settings: list[SettingChange]
    """Of the whole runs; those of single cells stand with the cells."""
    cells: list[CellChange]
    vanished: list[Ended]
    appeared: list[Ended]

    @property
    def forbidding(self) -> list[SettingChange]:
        """Settings for which nothing in these runs can be compared."""
        return [change for change in self.settings if change.forbids]

    @property
    def compared(self) -> int:
        """Metrics of cells that have a ratio."""
        return sum(metric.ratio is not None for cell in self.cells for metric in cell.metrics)


def spanned(against: list[LogRatio]) -> tuple[float, float] | None:
    """Return the 95% interval of the ratio that spans those against each round; null without any."""
    if not against:
        return None
    low = min(one.value - one.half_width() for one in against)
    high = max(one.value + one.half_width() for one in against)
    return _exp(low), _exp(high)


def _exp(value: float) -> float:
    return math.exp(min(max(value, -700.0), 700.0))
