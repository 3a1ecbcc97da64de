"""The lamp "counts add up": each identity of metrics.md, broken one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.records import Arm, StepColumns, TurnRecord
from draftmark.results.sanity.counts import OK, check_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.sanity import CheckedCell

    MakeChecked = Callable[..., CheckedCell]
    MakeTurn = Callable[..., TurnRecord]


NGRAM = Arm(drafter="ngram", draft_length=4)


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
    lamps = list(check_counts(make_checked([turn(make_turn)], NGRAM)))
    assert [(lamp.name, lamp.level, lamp.text) for lamp in lamps] == [("identities", "ok", OK)]


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": 8, "ids": [1] * 8, "chunks": [8]},
        {"delivered": [2, 1, 3]},
        {"delivered": [4, 1, 1]},
        {"delivered": [3, 1, 0], "tokens": 5, "ids": [1] * 5, "chunks": [5]},
        {"accepted": [2, 0, 4]},
        {"ids": [1] * 6},
    ],
)
def test_a_turn_whose_counts_disagree_is_named(
    make_checked: MakeChecked, make_turn: MakeTurn, changes: dict[str, Any]
) -> None:
    cell = make_checked([turn(make_turn, "good"), turn(make_turn, "bad", **changes), turn(make_turn, "fine")], NGRAM)
    (lamp,) = check_counts(cell)
    assert (lamp.name, lamp.level) == ("identities", "fault")
    assert lamp.text.startswith("The engine's counts do not add up: question bad, turn 0, repeat 0: ")


def test_more_broken_turns_are_counted(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    (lamp,) = check_counts(make_checked([turn(make_turn, f"p{n}", ids=[1] * 6) for n in range(4)], NGRAM))
    assert "; 3 more of this kind. " in lamp.text


def test_chunks_that_lack_tokens_are_named(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    (lamp,) = check_counts(make_checked([turn(make_turn), turn(make_turn, "p2", chunks=[1, 3, 1, 1])], NGRAM))
    assert (lamp.level, lamp.text) == (
        "fault",
        "In 1 turn the pieces that arrived hold another number of tokens than the answer. Do not use times per token.",
    )


def test_what_an_engine_does_not_tell_breaks_nothing(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    unknown = make_turn("p1", output_tokens=5, chunk_s=[0.1, 0.2], chunk_tokens=[1, None])
    silent = make_turn("p2", output_ids=[1, 2])
    empty = make_turn("p3", output_tokens=0, output_ids=[], steps=StepColumns(drafted=[], accepted=[], delivered=[]))
    assert list(check_counts(make_checked([unknown, silent]))) == []
    assert [lamp.level for lamp in check_counts(make_checked([empty]))] == ["ok"]


def test_failed_turns_are_not_judged(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    failed = turn(make_turn, tokens=99).model_copy(update={"status": "failed", "question_id": "p2"})
    assert [lamp.level for lamp in check_counts(make_checked([turn(make_turn), failed], NGRAM))] == ["ok"]


def test_fewer_tokens_than_pieces_are_a_warning(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    four = {"chunk_s": [0.1, 0.2, 0.3, 0.4], "chunk_tokens": [None] * 4}
    (lamp,) = check_counts(make_checked([make_turn("p1", output_tokens=2, **four)]))
    assert (lamp.name, lamp.level) == ("identities", "warning")
    assert lamp.text.startswith("In 1 turn more pieces of output arrived than the engine counted tokens")
    assert list(check_counts(make_checked([make_turn("p1", output_tokens=4, **four)]))) == []


def test_pieces_without_a_token_are_not_counted(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    pieces = {"chunk_s": [0.1, 0.2, 0.3], "chunk_tokens": [0, 1, 1]}
    assert list(check_counts(make_checked([make_turn("p1", output_tokens=2, **pieces)]))) == []
