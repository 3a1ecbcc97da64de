"""Files that are no files: reading a run folder must not wait for ever on a pipe."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from draftmark.results.errors import ResultsError
from draftmark.results.records import Divergence, TurnRecord
from draftmark.results.run_folder.reader import read_lines

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("model", [TurnRecord, Divergence])
def test_a_pipe_in_place_of_records_is_refused(tmp_path: Path, model: type[TurnRecord | Divergence]) -> None:
    pipe = tmp_path / "turns.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(ResultsError, match="not a regular file"):
        list(read_lines(pipe, model))


def test_a_missing_file_holds_no_records(tmp_path: Path) -> None:
    assert list(read_lines(tmp_path / "turns.jsonl", TurnRecord)) == []
