"""Stored turns with counts that no engine can have: they fail, with a sentence, and the others are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from draftmark.results.columns import CellColumns
from draftmark.results.errors import ResultsError
from draftmark.results.records import TurnRecord
from draftmark.results.run_folder.reader import read_lines
from draftmark.results.run_folder.unusable import read_turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    MakeTurn = Callable[..., TurnRecord]

HUGE = [
    ({"output_tokens": 10**25}, "output_tokens is 10000000000000000000000000"),
    ({"output_tokens": 2**31}, "output_tokens is 2147483648"),
    ({"prompt_tokens": -1}, "prompt_tokens is -1"),
    ({"output_ids": [2**70, 2, 3]}, "output_ids.0 is 1180591620717411303424"),
    ({"chunk_tokens": [1, 10**60]}, "chunk_tokens.1 is beyond all measure"),
    ({"steps": {"drafted": [10**12], "accepted": [0], "delivered": [1]}}, "steps.drafted.0 is 1000000000000"),
    ({"reported": {"drafting_steps": 1, "drafted": 10**12, "accepted": 0}}, "reported.drafted is 1000000000000"),
]


def line(turn: TurnRecord, **changes: Any) -> bytes:
    return json.dumps({**turn.model_dump(mode="json"), **changes}).encode() + b"\n"


@pytest.mark.parametrize(("changes", "told"), HUGE)
def test_it_is_read_as_a_failed_turn_that_says_so(make_turn: MakeTurn, changes: dict[str, Any], told: str) -> None:
    found = read_turn(line(make_turn("q7", sent_s=1.0, repeat=3, output_text="a"), **changes), "here")
    assert (found.question_id, found.repeat, found.sent_s) == ("q7", 3, 1.0)
    assert (found.status, found.output_tokens, found.output_ids, found.steps) == ("failed", None, None, None)
    assert found.failure is not None
    assert found.failure.kind == "protocol"
    assert told in found.failure.message


@pytest.mark.parametrize("changes", [changes for changes, _ in HUGE])
def test_no_new_record_can_hold_it(make_turn: MakeTurn, changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(changes))):
        make_turn(**changes)


def test_the_rest_of_the_folder_is_kept(make_turn: MakeTurn, tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(line(make_turn("a", output_tokens=4)) + line(make_turn("b"), output_tokens=10**25))
    turns = [turn for turn, _, _ in read_lines(path, TurnRecord, read_turn)]
    columns = CellColumns.from_turns(turns)
    assert [turn.status for turn in turns] == ["ok", "failed"]
    assert columns.tokens.tolist() == [4, -1]


def test_the_greatest_count_is_fine(make_turn: MakeTurn) -> None:
    assert read_turn(line(make_turn(), output_tokens=2**31 - 1), "here").output_tokens == 2**31 - 1


@pytest.mark.parametrize("changes", [{"output_tokens": "4"}, {"repeat": -1}, {"made_up": 1}, {"output_tokens": 4.5}])
def test_other_damage_is_refused_by_place(make_turn: MakeTurn, changes: dict[str, Any]) -> None:
    with pytest.raises(ResultsError, match="here"):
        read_turn(line(make_turn(), **changes), "here")
