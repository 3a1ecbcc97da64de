"""From a comparison and rules to the verdict.

A loss is a regression where it is beyond chance (one-sided, held down by Holm over all cells and metrics of the night)
and its 95% interval reaches the tolerance. A cell passes where its interval stays below the tolerance and a loss of
that size would have shown; everything between is "not gated", never green.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.comparing.quantities import QUANTITIES
from draftmark.results.gating.chances import (
    as_share,
    chance_of_loss,
    holm,
    largest_loss,
    losses,
    smallest_loss,
)
from draftmark.results.gating.faults import cell_findings, lone_findings, run_findings
from draftmark.results.gating.verdict import Finding, Judgement, Outcome, State, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.comparing.changes import CellChange, Comparison, MetricChange, RunName, SettingChange
    from draftmark.results.gating.rules import Rules
    from draftmark.results.summary import RunSummary

_ROUNDING = 1e-12
_ABSOLUTE = frozenset({"s", "tokens/s", "turns/s"})
"""Units of what follows the machine's speed. What is a share of the run's own times, as draft overhead, does not."""


def judge(
    comparison: Comparison, rules: Rules, *, candidate: RunSummary, baselines: Sequence[RunSummary] = ()
) -> Verdict:
    """Return the verdict on a candidate run.

    Args:
        comparison: With the metrics that the rules name, and made with their `renamed`.
        rules: What is asked.
        candidate: Its summary: lamps, failures and faults.
        baselines: Theirs.
    """
    allowed = frozenset(rules.allow_different)
    forbidding = [change for change in comparison.forbidding if change.field not in allowed]
    findings = run_findings(comparison, candidate, baselines, forbidding)
    places: list[tuple[int, CellChange, MetricChange]] = []
    judgements: list[Judgement] = []
    for cell in comparison.cells:
        in_cell = [*forbidding, *(change for change in cell.forbidding if change.field not in allowed)]
        if not in_cell:
            findings += cell_findings(cell, candidate, rules)
        for change in cell.metrics:
            if change.metric not in rules.metrics:
                continue
            found = _without_test(cell, change, rules, in_cell)
            if found is None:
                places.append((len(judgements), cell, change))
                found = _judgement(cell, change, rules, "not gated", "")
            judgements.append(found)
    stands = holm([chance_of_loss(losses(change)) for _, _, change in places], rules.false_alarms)
    for (place, cell, change), sure in zip(places, stands, strict=True):
        judgements[place] = _tested(cell, change, rules, sure=sure, tests=len(places))
    gone = set(rules.vanished)
    vanished = [one for one in comparison.vanished if not gone & {one.name, one.cell_id}]
    findings += [
        Finding(
            level="regression",
            text=f"{one.name} vanished ({one.why}); map it under `renamed` or list it under `vanished`",
        )
        for one in vanished
        if not forbidding and comparison.cells
    ]
    findings += [
        Finding(level="told", text=f"{one.name} vanished, as the rules allow")
        for one in comparison.vanished
        if one not in vanished
    ]
    findings += [
        Finding(level="told", text=f"{one.name} is new: nothing to compare with") for one in comparison.appeared
    ]
    outcome, why = _outcome(comparison, judgements, findings, forbidding)
    settings = [*comparison.settings, *(change for cell in comparison.cells for change in cell.settings)]
    once = list({change.model_dump_json(): change for change in settings}.values())
    return Verdict(
        outcome=outcome,
        headline=why,
        baselines=comparison.baselines,
        candidate=comparison.candidate,
        findings=findings,
        settings=sorted(once, key=lambda change: not change.forbids),
        judgements=judgements,
        vanished=comparison.vanished,
        appeared=comparison.appeared,
        compared=comparison.compared,
        tests=len(places),
        false_alarms=rules.false_alarms,
    )


def without_baseline(name: RunName, candidate: RunSummary, why: str) -> Verdict:
    """Return the verdict on a run that has nothing to be compared with and was allowed to: its own faults count."""
    findings = lone_findings(candidate)
    red = next((one for one in findings if one.level == "regression"), None)
    worst = red or next(iter(findings), None)
    return Verdict(
        outcome="regression" if red else "cannot decide" if worst else "recorded only",
        headline=worst.text if worst else f"no baseline: recorded only, 0 compared ({why})",
        baselines=[],
        candidate=name,
        findings=findings,
        settings=[],
        judgements=[],
        vanished=[],
        appeared=[],
        compared=0,
        tests=0,
        false_alarms=0.0,
    )


def _without_test(
    cell: CellChange, change: MetricChange, rules: Rules, forbidding: Sequence[SettingChange]
) -> Judgement | None:
    """Return the judgement on a metric that no test can be made of; null where one can."""
    if forbidding:
        fields = ", ".join(dict.fromkeys(one.field for one in forbidding))
        return _judgement(cell, change, rules, "not comparable", f"not comparable: {fields} differs")
    if change.impossible is not None:
        return _judgement(cell, change, rules, "impossible", change.impossible)
    if change.baseline is None or change.candidate is None:
        neither = change.baseline is None and change.candidate is None and not rules.names(change.metric)
        return _judgement(cell, change, rules, "not gated" if neither else "missing", change.reason or "not measured")
    why = _too_little(cell, change, rules)
    return None if why is None else _judgement(cell, change, rules, "not gated", why)


def _too_little(cell: CellChange, change: MetricChange, rules: Rules) -> str | None:
    """Say why a metric cannot be judged by these runs: no interval, too few rounds, rounds that disagree."""
    if not change.against:
        return change.reason or "no interval"
    if change.metric == "speedup":  # paired within the run, so that a round is held against itself
        return None
    before, after = change.rounds
    quantity = QUANTITIES.get(change.metric)
    draws = quantity is not None and quantity.varies == "with draws"
    if before < rules.fewest_rounds or (not draws and after < rules.fewest_rounds):
        return (
            f"{_counted(before, 'round')} of the baseline and {after} of the candidate; at least {rules.fewest_rounds} "
            "show how far equal rounds differ: raise repeats or launches, or give several --baseline"
        )
    unsteady = [one for one in cell.repeat_cv if one is not None and one > rules.rounds_agree_within]
    if change.unit in _ABSOLUTE and not draws and unsteady:
        return (
            f"rounds of one run differ by {max(unsteady):.1%} (standard deviation), more than "
            f"{rules.rounds_agree_within:.1%}: absolute speeds are not judged"
        )
    return None


def _tested(cell: CellChange, change: MetricChange, rules: Rules, *, sure: bool, tests: int) -> Judgement:
    found, limit = losses(change), rules.loss_limit(change.metric)
    upper, smallest = largest_loss(found), smallest_loss(found, rules.false_alarms / tests)
    least = as_share(smallest, change.better)
    tolerance = rules.metrics[change.metric].tolerance
    within = upper < limit - _ROUNDING
    state: State = "not gated"
    if sure and not within:
        state, text = "regression", f"worse beyond chance, and the loss may reach the tolerance of {tolerance:.1%}"
    elif smallest > limit:
        text = f"only a loss of {least:.1%} or more would have shown, above the tolerance of {tolerance:.1%}"
    elif not within:
        text = (
            f"the loss may be {as_share(upper, change.better):.1%}, above the tolerance of {tolerance:.1%}, or chance "
            f"over {_counted(tests, 'test')}: measure again"
        )
    else:
        state = "pass"
        text = "worse beyond chance, but within the tolerance" if sure else "no loss up to the tolerance"
    return _judgement(cell, change, rules, state, text).model_copy(update={"smallest": least})


def _judgement(cell: CellChange, change: MetricChange, rules: Rules, state: State, text: str) -> Judgement:
    def off(ratio: float | None) -> float | None:
        return None if ratio is None else ratio - 1

    return Judgement(
        cell=cell.name,
        metric=change.metric,
        state=state,
        text=text,
        baseline=change.baseline,
        candidate=change.candidate,
        unit=change.unit,
        change=off(change.ratio),
        low=off(change.low),
        high=off(change.high),
        tolerance=rules.metrics[change.metric].tolerance,
    )


def _outcome(
    comparison: Comparison,
    judgements: Sequence[Judgement],
    findings: Sequence[Finding],
    forbidding: Sequence[SettingChange],
) -> tuple[Outcome, str]:
    worse = [one for one in judgements if one.state == "regression"]
    faults = [one for one in findings if one.level == "regression"]
    stuck = [one for one in judgements if one.state in {"missing", "impossible", "not comparable"}]
    open_questions = [one for one in findings if one.level == "cannot decide"]
    passed = [one for one in judgements if one.state == "pass"]
    if worse or faults:
        parts = [_counted(len(worse), "regression")] * bool(worse) + [_counted(len(faults), "fault")] * bool(faults)
        first = worse[0].cell + ": " + worse[0].metric if worse else faults[0].text
        return "regression", f"{' and '.join(parts)}, first {first}"
    if forbidding:
        fields = ", ".join(change.field for change in forbidding)
        return "cannot decide", f"not comparable: {fields} differs"
    if comparison.compared == 0 and not stuck:
        return "cannot decide", "0 compared: the runs have nothing in common that was measured in both"
    if stuck or open_questions:
        first = f"{stuck[0].cell}: {stuck[0].metric}: {stuck[0].text}" if stuck else open_questions[0].text
        return "cannot decide", first
    if not passed:
        return "cannot decide", f"nothing could be gated: all of {_counted(len(judgements), 'metric')} are not gated"
    left = len(judgements) - len(passed)
    ending = f"; {left} not gated" if left else ""
    return "pass", f"no regression in {len(passed)} of {_counted(len(judgements), 'metric')}{ending}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
