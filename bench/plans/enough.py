"""Whether a plan's suites are enough for its loads: what can be said only once suites and traces were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.bench.plans.arrivals import MOST_ARRIVALS, arrivals
from draftmark.bench.plans.document import Problem
from draftmark.results.records.loads import ClosedLoad
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.bench.plans.arrivals import TraceRow
    from draftmark.bench.plans.plan import Plan
    from draftmark.results.records.loads import OpenLoad
    from draftmark.suites.prompt import Suite, SuiteSpec

ROUNDS = 4
"""Conversations that one launch must have for each turn in flight: with fewer, most of the time is spent filling and
draining the engine, and next to nothing is left to measure at the concurrency that was asked for."""


def load_problems(plan: Plan, suites: Sequence[Suite]) -> list[Problem]:
    """Return what is wrong with a plan's load and its suites together.

    Conversations are counted, and each of the `repeats` of one launch counts: they are what keeps turns in flight.
    Raises `PlanError` for a trace that cannot be read.
    """
    trace = plan.load.trace()
    entries = zip(plan.suites, suites, strict=True)
    filled = [(spec, suite) for spec, suite in entries if suite.prompts]  # an empty one is a problem of its own
    return [
        problem
        for index, load in enumerate(plan.load.loads())
        for spec, suite in filled
        for problem in (
            _too_few(index, load, suite, plan.repeats)
            if isinstance(load, ClosedLoad)
            else _schedule(load, suite, trace, plan.repeats, spec)
        )
    ]


def _too_few(index: int, load: ClosedLoad, suite: Suite, repeats: int) -> Iterator[Problem]:
    has, needed = len(suite.prompts) * repeats, ROUNDS * load.concurrency
    if load.concurrency > 1 and has < needed:
        repeated = f" ({len(suite.prompts)} x {repeats} repeats)" if repeats > 1 else ""
        enough = -(-needed // len(suite.prompts))
        text = (
            f"{load.concurrency} in flight needs at least {needed} conversations a launch ({ROUNDS} for each), and "
            f"{suite.name!r} has {has}{repeated}; take more prompts, a lower concurrency, or repeats: {enough}"
        )
        yield Problem(("load", "concurrency", index), text)


def _left_out(names: Sequence[str], spec: SuiteSpec) -> str:
    """Say that a limit leaves conversations out, where the whole suite has them all."""
    if spec.limit is None:
        return ""
    try:
        whole = spec.model_copy(update={"limit": None}).load(None)
    except SuiteError:  # an exact length needs a renderer; no trace names its prompts
        return ""
    known = {prompt.question_id for prompt in whole.prompts}
    if not all(name in known for name in names):
        return ""
    return f": its limit, {spec.limit:,}, leaves them out; take `limit` away, or cut the log itself (--limit)"


def _schedule(
    load: OpenLoad, suite: Suite, trace: Sequence[TraceRow], repeats: int, spec: SuiteSpec
) -> Iterator[Problem]:
    known = {prompt.question_id for prompt in suite.prompts}
    strangers = dict.fromkeys(row.question_id for row in trace if row.question_id is not None)
    missing = [name for name in strangers if name not in known]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        text = f"names question_id {missing[0]!a}{more}, which {suite.name!r} does not have{_left_out(missing, spec)}"
        yield Problem(("load", "path"), text)
        return
    coming = arrivals(load, suite, trace, repeats)
    if len(coming) > MOST_ARRIVALS:
        yield Problem(("load",), f"begins more than {MOST_ARRIVALS:,} conversations in one launch; ask for fewer")
    elif len(coming) < 2:
        yield Problem(("load",), f"begins {len(coming)} conversation in one launch; an open loop needs two or more")
    elif coming[-1].at_s - coming[0].at_s <= load.warm_up_s + load.cool_down_s:
        span = coming[-1].at_s - coming[0].at_s
        text = (
            f"begins its conversations within {span:.3g} s, and warm_up_s and cool_down_s leave out "
            f"{load.warm_up_s + load.cool_down_s:g} s of them, so nothing is measured; ask for more conversations"
        )
        yield Problem(("load",), text)
