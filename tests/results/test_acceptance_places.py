"""Where acceptance comes from: which rows there are, in which order, and what is said of what has no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.acceptance_places import places_of
from draftmark.results.summary import CellSummary, MetricValue

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_STEP = "no decode step had this context length"
BLIND = "neither the engine nor the target's template marks which tokens are thinking"


def length(number: float | None, reason: str | None = None) -> MetricValue:
    why = (reason or "no step") if number is None else None
    return MetricValue(value=number, n=0 if number is None else 40, unit="tokens", reason=why)


def cell(arm: str, category: str | None = None, **metrics: MetricValue | Mapping[str, MetricValue]) -> CellSummary:
    found = {"acceptance_length": metrics.pop("al"), **metrics.pop("at", {})}  # type: ignore[arg-type, dict-item]
    drafter, _, depth = arm.partition(" D=")
    return CellSummary(
        cell_id=arm, backend="b", engine={}, target="t", drafter=drafter, draft_length=int(depth or 0), control=False,
        arm=arm, group="g", suite="s", category=category, concurrency=1, status="complete", status_text="all",
        turns_ok=9, turns_failed=0, turns_expected=9, truncated=0, metrics=found, changed={},
    )  # fmt: skip


def bins(*numbers: float | None) -> dict[str, MetricValue]:
    edges = ("[0-256)", "[256-1024)", "[1024-)")
    return {f"acceptance_length@context{edge}": length(n, NO_STEP) for edge, n in zip(edges, numbers, strict=True)}


def rows(*cells: CellSummary) -> list[tuple[str | None, str, list[float | None]]]:
    found = places_of(cells)
    return [
        (
            row.kind,
            row.label,
            [row.values[arm.cell_id].value if arm.cell_id in row.values else -1 for arm in found.arms],
        )
        for row in found.rows
    ]


def test_rows_go_from_all_turns_to_categories_to_bins_and_the_baseline_has_none() -> None:
    cells = [
        cell("none", al=length(1.0)),
        cell("none", "edit", al=length(1.0)),
        cell("ngram D=3", al=length(2.0), at=bins(2.5, 1.5, None)),
        cell("ngram D=3", "edit", al=length(3.0)),
        cell("ngram D=3", "write", al=length(1.2)),
        cell("suffix D=8", al=length(4.0), at=bins(4.5, None, None)),
        cell("suffix D=8", "edit", al=length(6.0)),
        cell("suffix D=8", "write", al=length(None, "no turn was measured")),
    ]
    assert rows(*cells) == [
        (None, "all turns", [2.0, 4.0]),
        ("category", "edit", [3.0, 6.0]),
        ("category", "write", [1.2, None]),
        ("context", "0 to 255", [2.5, 4.5]),
        ("context", "256 to 1,023", [1.5, None]),
    ]
    assert places_of(cells).missing == ()


def test_bins_stand_in_the_order_of_their_edges_whatever_that_of_the_metrics() -> None:
    at = dict(reversed(bins(1.0, 2.0, 3.0).items()))
    labels = [label for _, label, _ in rows(cell("ngram D=3", al=length(2.0), at=at))]
    assert labels == ["all turns", "0 to 255", "256 to 1,023", "1,024 and more"]


def test_one_category_is_no_split() -> None:
    assert rows(cell("ngram D=3", al=length(2.0)), cell("ngram D=3", "edit", al=length(2.0))) == [
        (None, "all turns", [2.0])
    ]


def test_one_bin_is_no_split() -> None:
    assert rows(cell("ngram D=3", al=length(2.0), at=bins(None, 2.0, None))) == [(None, "all turns", [2.0])]


def test_a_kind_without_any_number_says_why_once() -> None:
    at = {f"acceptance_length@{part}": length(None, BLIND) for part in ("thinking", "answer")}
    found = places_of([cell("ngram D=3", al=length(2.0), at=at), cell("suffix D=8", al=length(2.0), at=at)])
    assert [row.label for row in found.rows] == ["all turns"]
    assert found.missing == (("part", "", BLIND),)


def test_an_arm_without_any_number_of_a_kind_is_named() -> None:
    blind = {name: length(None, "steps without a draft have no place") for name in bins(1, 1, 1)}
    found = places_of(
        [cell("ngram D=3", al=length(2.0), at=bins(2.0, None, None)), cell("suffix D=8", al=length(3.0), at=blind)]
    )
    assert found.missing == (("context", "suffix D=8", "steps without a draft have no place"),)


def test_thinking_and_answer_stand_apart_where_there_is_thinking() -> None:
    at = {"acceptance_length@answer": length(2.5), "acceptance_length@thinking": length(1.5)}
    assert rows(cell("ngram D=3", al=length(2.0), at=at))[1:] == [
        ("part", "thinking", [1.5]),
        ("part", "answer", [2.5]),
    ]


def test_where_all_is_answer_there_are_no_parts() -> None:
    at = {
        "acceptance_length@thinking": length(None, "every decode step lies in the answer"),
        "acceptance_length@answer": length(2.0),
    }
    found = places_of([cell("ngram D=3", al=length(2.0), at=at)])
    assert [row.label for row in found.rows] == ["all turns"]
    assert found.missing == ()


def test_without_any_acceptance_length_there_is_its_reason_alone() -> None:
    at = bins(None, None, None)
    found = places_of([cell("ngram D=3", al=length(None, "the engine reported no per-step counts"), at=at)])
    assert found.rows == ()
    assert found.missing == ((None, "", "the engine reported no per-step counts"),)


def test_arms_that_gave_nothing_are_no_columns() -> None:
    left_out = cell("suffix D=8", al=length(None)).model_copy(update={"turns_ok": 0})
    assert [arm.arm for arm in places_of([left_out, cell("ngram D=3", al=length(2.0))]).arms] == ["ngram D=3"]
