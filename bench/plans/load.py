"""`load:` in a plan: how requests arrive, chosen by its `kind`; each concurrency or rate makes cells of its own."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, PositiveInt

from draftmark.backends.drafters import as_list
from draftmark.bench.plans.arrivals import times
from draftmark.bench.plans.document import Problem
from draftmark.bench.plans.trace import Trace, read_trace
from draftmark.bench.plans.wording import keys_of
from draftmark.results.records.loads import (
    ClosedLoad,
    ConstantLoad,
    OpenLoad,
    Pause,
    PoissonLoad,
    RampLoad,
    Rate,
    Span,
    TraceLoad,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from draftmark.backends.base import BackendSpec
    from draftmark.bench.plans.arrivals import TraceRow
    from draftmark.results.records.loads import Load

LONGEST_GAP_S = 86_400.0
"""A load whose second conversation begins later than this waits for days in which nothing is measured."""

Rates = Annotated[list[Rate], BeforeValidator(as_list), Field(min_length=1)]


class LoadPlan(BaseModel):
    """What all kinds have in common."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    kind: str

    def loads(self) -> Sequence[Load]:
        """Return what this entry asks for, one load for each comparison group.

        Raises `PlanError` for a trace that cannot be read.
        """
        raise NotImplementedError

    def trace(self) -> Sequence[TraceRow]:
        """Return the arrivals that were recorded; none for loads that follow a rate."""
        return ()

    def problems(self, backends: Iterable[BackendSpec], repeats: int) -> Iterator[Problem]:
        """Yield what is wrong with this load together with backends and repeats."""
        raise NotImplementedError


class ClosedPlan(LoadPlan):
    """A fixed number of turns in flight; the next is sent when one has ended."""

    kind: Literal["closed"] = "closed"
    concurrency: Annotated[list[PositiveInt], BeforeValidator(as_list), Field(min_length=1)] = [1]
    """Turns in flight at once."""

    def loads(self) -> Sequence[Load]:
        """Return one load per concurrency."""
        return [ClosedLoad(concurrency=concurrency) for concurrency in self.concurrency]

    def problems(self, backends: Iterable[BackendSpec], repeats: int) -> Iterator[Problem]:
        """Yield concurrencies that are there twice or that a backend cannot have."""
        del repeats
        yield from _twice("concurrency", self.concurrency)
        specs = list(backends)
        for index, concurrency in enumerate(self.concurrency):
            for spec in specs:
                if concurrency > spec.most_concurrency:
                    yield Problem(("load", "concurrency", index), _at_most(spec))


class OpenPlan(LoadPlan):
    """What all open loops have in common; see `OpenLoad`."""

    count: PositiveInt | None = None
    duration_s: Span | None = None
    max_in_flight: PositiveInt | None = None
    think_s: Pause = 0.0
    warm_up_s: Pause = 0.0
    cool_down_s: Pause = 0.0

    sets_its_count: ClassVar[bool] = False
    """The kind itself says how many conversations there are."""

    def problems(self, backends: Iterable[BackendSpec], repeats: int) -> Iterator[Problem]:
        """Yield what contradicts itself, and what a backend cannot have."""
        if self.count is not None and self.duration_s is not None:
            yield Problem(("load", "count"), "and duration_s both say when to end; take one of them away")
        limited = self.sets_its_count or self.count is not None or self.duration_s is not None
        if repeats > 1 and limited:
            text = (
                f"must be 1 here, not {repeats}: the load says itself how often each conversation is had "
                "(count, duration_s or a trace); take repeats away, or use launches to measure it all again"
            )
            yield Problem(("repeats",), text)
        for spec in backends:
            if spec.most_concurrency == 1:
                text = f"must be 'closed' for the backend {spec.kind}, which answers one turn at a time"
                yield Problem(("load", "kind"), text)
            elif self.max_in_flight is not None and self.max_in_flight > spec.most_concurrency:
                yield Problem(("load", "max_in_flight"), _at_most(spec))
        if self.duration_s is not None and self.warm_up_s + self.cool_down_s >= self.duration_s:
            yield Problem(("load", "duration_s"), "is no longer than warm_up_s and cool_down_s, so nothing is measured")


class PoissonPlan(OpenPlan):
    """Conversations begin independently of each other."""

    kind: Literal["poisson"]
    rate: Rates
    """Conversations that begin per second."""
    seed: NonNegativeInt = 0

    def loads(self) -> Sequence[Load]:
        """Return one load per rate."""
        return [PoissonLoad(rate=rate, seed=self.seed, **_common(self)) for rate in self.rate]

    def problems(self, backends: Iterable[BackendSpec], repeats: int) -> Iterator[Problem]:
        """Yield rates that are there twice, and what is wrong with any open loop."""
        yield from _twice("rate", self.rate)
        yield from _rare(self.rate)
        yield from super().problems(backends, repeats)


class ConstantPlan(OpenPlan):
    """Conversations begin at equal distances."""

    kind: Literal["constant"]
    rate: Rates
    """Conversations that begin per second."""

    def loads(self) -> Sequence[Load]:
        """Return one load per rate."""
        return [ConstantLoad(rate=rate, **_common(self)) for rate in self.rate]

    def problems(self, backends: Iterable[BackendSpec], repeats: int) -> Iterator[Problem]:
        """Yield rates that are there twice, and what is wrong with any open loop."""
        yield from _twice("rate", self.rate)
        yield from _rare(self.rate)
        yield from super().problems(backends, repeats)


class RampPlan(OpenPlan):
    """The rate grows or falls evenly, and stays as it is then."""

    kind: Literal["ramp"]
    from_rate: Pause = Field(alias="from")
    """Conversations that begin per second at first; may be 0."""
    to_rate: Rate = Field(alias="to")
    """Conversations that begin per second after `over_s`."""
    over_s: Span

    def loads(self) -> Sequence[Load]:
        """Return the one load."""
        return [RampLoad(from_rate=self.from_rate, to_rate=self.to_rate, over_s=self.over_s, **_common(self))]

    def problems(self, backends: Iterable[BackendSpec], repeats: int) -> Iterator[Problem]:
        """Yield a start or an end without arrivals, and what is wrong with any open loop."""
        (load,) = self.loads()
        if self.to_rate < 1 / LONGEST_GAP_S:
            yield Problem(("load", "to"), _TOO_RARE.format(self.to_rate))
        elif isinstance(load, RampLoad) and next(islice(times(load), 1, None)) > LONGEST_GAP_S:
            text = "lets the second conversation begin later than a day after the first; raise it, or shorten over_s"
            yield Problem(("load", "from"), text)
        yield from super().problems(backends, repeats)


class TracePlan(OpenPlan):
    """Conversations begin as they were recorded."""

    kind: Literal["trace"]
    path: Annotated[str, Field(min_length=1)]
    """A file of JSON lines or CSV, relative to the working directory; see `read_trace`."""

    sets_its_count: ClassVar[bool] = True

    @cached_property
    def _read(self) -> Trace:
        """The file, read once: one that changes meanwhile does not make two plans of one."""
        return read_trace(Path(self.path).expanduser())

    def loads(self) -> Sequence[Load]:
        """Return the one load; raises `PlanError` for a file that cannot be read."""
        found = self._read
        facts = {"path": self.path, "hash": found.hash, "rows": len(found.rows), "span_s": found.span_s}
        return [TraceLoad.model_validate(facts | _common(self))]

    def trace(self) -> Sequence[TraceRow]:
        """Return the file's arrivals; raises `PlanError` for one that cannot be read."""
        return self._read.rows


LOADS: dict[str, type[LoadPlan]] = {
    "closed": ClosedPlan,
    "poisson": PoissonPlan,
    "constant": ConstantPlan,
    "ramp": RampPlan,
    "trace": TracePlan,
}
"""By the word that a plan chooses them with; the first is taken where it says none."""


def with_its_kind(problem: Problem, model: type[LoadPlan]) -> Problem:
    """Return the problem of a key that kinds of load other than this one have with their names; others as they are."""
    *around, key = problem.place or ("",)
    kinds = [kind for kind, other in LOADS.items() if key in keys_of(other)]
    if around != ["load"] or key in keys_of(model) or not kinds:
        return problem
    *some, last = (f"kind: {kind}" for kind in kinds)
    told = f"{', '.join(some)} or {last}" if some else last
    return Problem(problem.place, f"is a key of another kind of load; write {told} beside it, or take it away")


def _common(plan: OpenPlan) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in OpenLoad.model_fields}


def _twice(key: str, values: Sequence[float]) -> Iterator[Problem]:
    for index, value in enumerate(values):
        if value in values[:index]:
            yield Problem(("load", key, index), f"{value:g} is there twice; remove one")


_TOO_RARE = "is {:g} conversations per second, fewer than one a day; name how many begin in a second, such as 0.5"


def _rare(rates: Sequence[float]) -> Iterator[Problem]:
    for index, rate in enumerate(rates):
        if rate < 1 / LONGEST_GAP_S:
            yield Problem(("load", "rate", index), _TOO_RARE.format(rate))


def _at_most(spec: BackendSpec) -> str:
    why = ", which answers one turn at a time" if spec.most_concurrency == 1 else ""
    return f"must be at most {spec.most_concurrency} for the backend {spec.kind}{why}"
