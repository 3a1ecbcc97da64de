"""The lamp "counts add up": each identity of metrics.md, broken one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.results.columns import CellColumns
from draftmark.results.records import StepColumns, TurnRecord
from draftmark.results.sanity.counts import OK, broken_identities, check_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.sanity import CheckedCell

    MakeChecked = Callable[..., CheckedCell]
    MakeTurn = Callable[..., TurnRecord]


def sound() -> dict[str, Any]:
    """Three steps: 2 of 3 drafts accepted, none drafted, 3 of 3 accepted but cut to 2 tokens; T = 1 + 3 + 1 + 2."""
    return {
        "drafted": [3, 0, 3],
        "accepted": [2, 0, 3],
        "delivered": [3, 1, 2],
        "tokens": 7,
        "ids": [1] * 7,
        "chunks": [1, 3, 1, 2],
    }


def turn(make_turn: MakeTurn, question_id: str = "p1", **changes: Any) -> TurnRecord:
    parts = sound() | changes
    return make_turn(
        question_id,
        steps=StepColumns(drafted=parts["drafted"], accepted=parts["accepted"], delivered=parts["delivered"]),
        output_tokens=parts["tokens"],
        output_ids=parts["ids"],
        chunk_s=[0.1] * len(parts["chunks"]),
        chunk_tokens=parts["chunks"],
    )


def test_counts_that_add_up_are_fine(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    flags = list(check_counts(make_checked([turn(make_turn)])))
    assert [(flag.name, flag.level, flag.text) for flag in flags] == [("identities", "ok", OK)]


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"tokens": 8, "ids": [1] * 8, "chunks": [1, 3, 1, 3]}, "one from prefill plus those its steps delivered"),
        ({"delivered": [2, 1, 3]}, "a step other than a cut last one"),
        ({"delivered": [4, 1, 1]}, "a step other than a cut last one"),
        ({"delivered": [3, 1, 0], "tokens": 5, "ids": [1] * 5, "chunks": [5]}, "a step other than a cut last one"),
        ({"accepted": [2, 0, 4]}, "accepted more tokens than were drafted"),
        ({"ids": [1] * 6}, "not that of the token ids"),
        ({"chunks": [1, 3, 1, 1]}, "the chunks hold another number"),
    ],
)
def test_each_broken_identity_is_named(
    make_checked: MakeChecked, make_turn: MakeTurn, changes: dict[str, Any], broken: str
) -> None:
    cell = make_checked([turn(make_turn, "good"), turn(make_turn, "bad", **changes), turn(make_turn, "fine")])
    (flag,) = check_counts(cell)
    assert flag.level == "fault"
    assert "in 1 turn (first: question 'bad', turn 0, repeat 0)" in flag.text
    assert broken in flag.text


def test_what_an_engine_does_not_tell_breaks_nothing(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    unknown = make_turn("p1", output_tokens=5, chunk_s=[0.1, 0.2], chunk_tokens=[1, None])
    silent = make_turn("p2", output_ids=[1, 2])
    empty = make_turn("p3", output_tokens=0, output_ids=[], steps=StepColumns(drafted=[], accepted=[], delivered=[]))
    assert list(check_counts(make_checked([unknown, silent]))) == []
    assert [flag.level for flag in check_counts(make_checked([empty]))] == ["ok"]


def test_failed_turns_are_not_judged(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    failed = turn(make_turn, tokens=99).model_copy(update={"status": "failed", "question_id": "p2"})
    assert [flag.level for flag in check_counts(make_checked([turn(make_turn), failed]))] == ["ok"]


@given(
    st.lists(st.integers(0, 4).flatmap(lambda d: st.tuples(st.just(d), st.integers(0, d))), max_size=8),
    st.integers(0, 4),
)
def test_a_decode_that_follows_the_rules_breaks_none(pairs: list[tuple[int, int]], cut: int) -> None:
    delivered = [accepted + 1 for _, accepted in pairs]
    if delivered:
        delivered[-1] = max(1, delivered[-1] - cut)
    tokens = 1 + sum(delivered)
    record = TurnRecord(
        cell_id="c", question_id="q", prompt_hash="h", output_tokens=tokens, output_ids=[7] * tokens,
        chunk_s=[0.0] * (1 + len(pairs)), chunk_tokens=[1, *delivered],
        steps=StepColumns(drafted=[d for d, _ in pairs], accepted=[a for _, a in pairs], delivered=delivered),
    )  # fmt: skip
    assert not any(turns.any() for turns in broken_identities(CellColumns.from_turns([record])).values())
