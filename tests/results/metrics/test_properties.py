"""Identities that hold of any turns at all, checked on turns drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftmark.results.columns import CellColumns
from draftmark.results.metrics import broken_identities, measure
from draftmark.results.metrics.evidence import Evidence
from draftmark.results.records import StepColumns, TurnRecord

if TYPE_CHECKING:
    from draftmark.results.summary import MetricValue

D = 4


@st.composite
def turns(draw: st.DrawFn, number: int) -> TurnRecord:
    """One answer of up to eight steps, its last one perhaps cut."""
    drafted = draw(st.lists(st.integers(0, D), max_size=8))
    accepted = [draw(st.integers(0, size)) for size in drafted]
    delivered = [count + 1 for count in accepted]
    if delivered:
        delivered[-1] = draw(st.integers(1, delivered[-1]))
    times = [draw(st.floats(0.001, 1.0)) for _ in drafted]
    sent = 100.0 * number
    stamps = [sent + 0.5, *(sent + 0.5 + np.cumsum(times)).tolist()]
    return TurnRecord(
        cell_id="arm",
        question_id=f"q{number}",
        category=draw(st.sampled_from(["a", "b", None])),
        prompt_hash="p",
        prompt_tokens=draw(st.integers(1, 2000)),
        output_tokens=1 + sum(delivered),
        sent_s=sent,
        first_token_s=stamps[0],
        last_token_s=stamps[-1],
        chunk_s=stamps,
        chunk_tokens=[1, *delivered],
        steps=StepColumns(
            drafted=drafted,
            accepted=accepted,
            delivered=delivered,
            draft_s=[0.2 * time for time in times],
            verify_s=[0.7 * time for time in times],
            step_s=times,
        ),
    )


cells = st.integers(1, 12).flatmap(lambda size: st.tuples(*(turns(number) for number in range(size)))).map(list)


def arm(records: list[TurnRecord]) -> dict[str, MetricValue]:
    return measure(Evidence(CellColumns.from_turns(records), drafter="ngram", draft_length=D))


def number(found: dict[str, MetricValue], name: str) -> float:
    value = found[name].value
    assert value is not None
    return value


@settings(max_examples=40, deadline=None)
@given(cells)
def test_no_identity_is_broken(records: list[TurnRecord]) -> None:
    assert broken_identities(CellColumns.from_turns(records), drafter="ngram", draft_length=D) == []


@settings(max_examples=40, deadline=None)
@given(cells)
def test_ranges(records: list[TurnRecord]) -> None:
    found = arm(records)
    for name in ("acceptance_length", "acceptance_length_verified", "acceptance_length_when_drafted"):
        if found[name].value is not None:
            assert 1 <= number(found, name) <= D + 1
    for name in ("acceptance_rate", "coverage", *(f"joint_acceptance[{k}]" for k in range(1, D + 1))):
        if found[name].value is not None:
            assert 0 <= number(found, name) <= 1


@settings(max_examples=40, deadline=None)
@given(cells)
def test_length_when_drafted_is_one_and_the_joint_acceptances(records: list[TurnRecord]) -> None:
    found = arm(records)
    if found["acceptance_length_when_drafted"].value is None:
        assert found["joint_acceptance[1]"].value is None
        return
    joint = sum(number(found, f"joint_acceptance[{k}]") for k in range(1, D + 1))
    assert number(found, "acceptance_length_when_drafted") == pytest.approx(1 + joint)
    assert number(found, "accepted_per_draft") == pytest.approx(joint)


@settings(max_examples=40, deadline=None)
@given(cells)
def test_the_histogram_adds_up_to_the_drafting_steps(records: list[TurnRecord]) -> None:
    found = arm(records)
    if found["drafting_steps"].value is None:
        return
    counted = sum(number(found, f"acceptance_histogram[{j}]") for j in range(D + 1))
    assert counted == number(found, "drafting_steps")
    assert counted + number(found, "steps_without_draft") == number(found, "decode_steps")
    if counted:
        accepted = sum(j * number(found, f"acceptance_histogram[{j}]") for j in range(D + 1))
        assert number(found, "accepted_per_draft") == pytest.approx(accepted / counted)


@settings(max_examples=40, deadline=None)
@given(cells)
def test_the_parts_of_a_step_are_the_step(records: list[TurnRecord]) -> None:
    found = arm(records)
    if found["decode_steps"].value is None:
        return
    parts = sum(number(found, name) for name in ("t_verify", "t_draft_exposed", "t_other"))
    times = [time for turn in records if turn.steps for time in turn.steps.step_s or []]
    assert parts == pytest.approx(np.mean(times))
    assert number(found, "step_time") == pytest.approx(np.mean(times))


@settings(max_examples=40, deadline=None)
@given(cells, st.randoms(use_true_random=False))
def test_the_order_of_turns_does_not_matter(records: list[TurnRecord], random: object) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = arm(records), arm(shuffled)
    for name, metric in first.items():
        other = second[name]
        assert (metric.n, metric.note, metric.reason) == (other.n, other.note, other.reason)
        for one, two in ((metric.value, other.value), (metric.low, other.low), (metric.high, other.high)):
            assert (one is None and two is None) or one == pytest.approx(two, rel=1e-9), name


@settings(max_examples=40, deadline=None)
@given(cells)
def test_categories_pool_back_to_the_whole(records: list[TurnRecord]) -> None:
    whole = CellColumns.from_turns(records)
    parts = [whole.select(whole.category == code) for code in range(len(whole.categories))]
    found = arm(records)
    split = [measure(Evidence(part, drafter="ngram", draft_length=D)) for part in parts]

    for name in ("acceptance_length", "acceptance_rate", "t_verify", "itl", "tpot", "joint_acceptance[2]"):
        if found[name].value is None:
            assert all(part[name].value is None for part in split)
            continue
        some = [part[name] for part in split if part[name].value is not None]
        assert sum(metric.n for metric in some) == found[name].n
        pooled = sum((metric.value or 0) * metric.n for metric in some) / found[name].n
        assert pooled == pytest.approx(found[name].value)


@settings(max_examples=40, deadline=None)
@given(cells)
def test_an_arm_against_itself_is_neither_faster_nor_slower(records: list[TurnRecord]) -> None:
    baseline = CellColumns.from_turns(records)
    found = measure(Evidence(CellColumns.from_turns(records), drafter="ngram", draft_length=D, baseline=baseline))
    for name in ("speedup", "e2e_speedup", "step_cost_ratio"):
        if found[name].value is not None:
            assert found[name].value == pytest.approx(1)


@st.composite
def miscounted(draw: st.DrawFn) -> tuple[TurnRecord, TurnRecord]:
    """A turn that adds up, and the same with one count changed to what no engine can have done."""
    turn = draw(turns(0).filter(lambda turn: turn.steps is not None and len(turn.steps.drafted) > 0))
    steps, total = turn.steps, turn.output_tokens
    assert steps is not None
    assert total is not None
    step = draw(st.integers(0, len(steps.drafted) - 1))
    drafted, accepted, delivered = steps.drafted[step], steps.accepted[step], steps.delivered[step]
    changes = [
        ("output_tokens", draw(st.integers(0, 60).filter(lambda count: count != total))),
        ("delivered", draw(st.integers(0, 3 * D).filter(lambda count: count != delivered))),
        ("accepted", draw(st.integers(drafted + 1, 3 * D))),
        ("drafted", draw(st.integers(D + 1, 3 * D))),
    ]
    if accepted > 0:
        changes.append(("drafted", draw(st.integers(0, accepted - 1))))
        if delivered == accepted + 1:
            changes.append(("accepted", draw(st.integers(0, accepted - 1))))
    if accepted < drafted and step < len(steps.drafted) - 1:
        changes.append(("accepted", draw(st.integers(accepted + 1, drafted))))
    name, count = draw(st.sampled_from(changes))
    if name == "output_tokens":
        return turn, turn.model_copy(update={name: count})
    column = list(getattr(steps, name))
    column[step] = count
    return turn, turn.model_copy(update={"steps": steps.model_copy(update={name: column})})


@settings(deadline=None)
@given(miscounted())
def test_one_wrong_count_breaks_an_identity(pair: tuple[TurnRecord, TurnRecord]) -> None:
    right, wrong = (broken_identities(CellColumns.from_turns([turn]), drafter="ngram", draft_length=D) for turn in pair)
    assert right == []
    assert wrong != []


@settings(max_examples=25, deadline=None)
@given(cells, st.integers(1, 3))
def test_no_metric_depends_on_the_blocks_that_it_is_computed_in(records: list[TurnRecord], concurrency: int) -> None:
    def all_of_them() -> dict[str, MetricValue]:
        cell = CellColumns.from_turns(records)
        return measure(Evidence(cell, drafter="ngram", draft_length=D, baseline=cell, concurrency=concurrency))

    whole = all_of_them()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("draftmark.results.columns._BLOCK", 5)
        in_blocks = all_of_them()
    for name, metric in whole.items():
        assert in_blocks[name].value == (None if metric.value is None else pytest.approx(metric.value)), name
        assert (in_blocks[name].n, in_blocks[name].reason) == (metric.n, metric.reason), name
