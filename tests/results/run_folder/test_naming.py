"""Folder names: one harmless path component, whatever a plan calls its runs and cells."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.results.errors import StoreWriteError
from draftmark.results.run_folder.naming import cell_folder_name, new_run_folder, slug

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 29, 21, 4, 7, tzinfo=UTC)


def test_a_run_folder_is_named_by_time_and_plan(tmp_path: Path) -> None:
    folder = new_run_folder(tmp_path / "deep/runs", "Demo run", now=NOW)
    assert re.fullmatch(r"2026-11-29T21-04-07Z-demo-run-[0-9a-f]{4}", folder.name)
    assert list(folder.iterdir()) == []


def test_the_time_is_utc(tmp_path: Path) -> None:
    there = NOW.astimezone(timezone(timedelta(hours=9)))
    assert new_run_folder(tmp_path, "x", now=there).name.startswith("2026-11-29T21-04-07Z-x-")


def test_runs_of_one_second_never_share_a_folder(tmp_path: Path) -> None:
    assert len({new_run_folder(tmp_path, "demo", now=NOW) for _ in range(200)}) == 200


@pytest.mark.parametrize(
    "name", ["../../etc", "/", "..", "", "a\nb", "a\0b", "x" * 10_000, "<script>", "日本", "-rf ~"]
)
def test_hostile_names_stay_below_the_root(tmp_path: Path, name: str) -> None:
    folder = new_run_folder(tmp_path / "runs", name, now=NOW)
    assert folder.parent == tmp_path / "runs"
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,80}", folder.name)


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("mine")
    with pytest.raises(StoreWriteError, match=r"cannot write .*runs"):
        new_run_folder(tmp_path / "runs", "demo")


def test_a_harmless_cell_id_is_its_own_folder() -> None:
    assert cell_folder_name("ngram-D3_coding.c1") == "ngram-D3_coding.c1"


@given(st.text(), st.text())
def test_cell_folders_are_harmless_and_of_one_cell_only(first: str, second: str) -> None:
    name = cell_folder_name(first)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,99}", name)
    assert (cell_folder_name(second) == name) == (first == second)


@given(st.text(), st.integers(min_value=8, max_value=50))
def test_slugs_are_short_and_plain(text: str, limit: int) -> None:
    assert re.fullmatch(rf"[a-z0-9]([a-z0-9._-]{{0,{limit - 2}}}[a-z0-9])?", slug(text, limit=limit))
