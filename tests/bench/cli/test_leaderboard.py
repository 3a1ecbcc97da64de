"""`leaderboard`: what it writes, what it says of folders that it skips, and its exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Said

    Call = Callable[..., Said]


@pytest.fixture
def run_folder(call: Call, plan_file: Callable[..., Path], tmp_path: Path) -> Path:
    assert call("run", plan_file(), "--out", tmp_path / "run", "--quiet").code == 0
    return tmp_path / "run"


def test_it_says_where_the_index_is_and_how_much_is_in_it(call: Call, run_folder: Path, tmp_path: Path) -> None:
    said = call("leaderboard", run_folder, "--out", tmp_path / "site")
    assert said.code == 0
    assert said.out.splitlines()[0] == f"page: {tmp_path / 'site' / 'index.html'}"
    assert said.out.splitlines()[1].startswith("1 entry of 1 run, ")
    assert (tmp_path / "site" / "index.html").is_file()


def test_what_cannot_be_read_is_named_and_ends_with_1(call: Call, run_folder: Path, tmp_path: Path) -> None:
    said = call("leaderboard", run_folder, tmp_path / "nothing", "--out", tmp_path / "site")
    assert said.code == 1
    assert said.err == f"draftmark: skipped: there is no run folder {tmp_path / 'nothing'}\n"
    assert (tmp_path / "site" / "index.html").is_file()


def test_where_nothing_can_be_read_nothing_is_written_and_it_ends_with_2(call: Call, tmp_path: Path) -> None:
    said = call("leaderboard", tmp_path / "nothing", "--out", tmp_path / "site")
    assert said.code == 2
    assert "none of these folders could be read" in said.err
    assert not (tmp_path / "site").exists()


def test_a_run_given_twice_is_named_and_counts_once(call: Call, run_folder: Path, tmp_path: Path) -> None:
    said = call("leaderboard", run_folder, run_folder, "--out", tmp_path / "site")
    assert said.code == 0
    assert "it counts once" in said.err
    assert "1 entry of 1 run" in said.out


def test_a_folder_that_cannot_be_written_ends_with_3(call: Call, run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "site").write_text("a file", encoding="utf-8")
    said = call("leaderboard", run_folder, "--out", tmp_path / "site")
    assert said.code == 3
    assert "cannot write" in said.err
