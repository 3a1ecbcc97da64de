"""The written leaderboard: which files, what they say of what was skipped, and that published numbers stay apart."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.documents import DocumentWriteError
from draftmark.dashboards.leaderboard.publications import speed_bench
from draftmark.dashboards.leaderboard.writing import collect, write_leaderboard

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def text_of(page: Path) -> str:
    """Return what a page says, without its tags, styles and scripts."""
    bare = re.sub(r"<(style|script)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", bare).split())


def test_there_is_a_page_per_board_an_index_and_one_of_published_numbers(folders: ModuleType, tmp_path: Path) -> None:
    runs = [folders.write_run(tmp_path / name, {"none": 1.0, "ngram": 1.5}, suite=name) for name in ("coding", "chat")]
    index, *pages = write_leaderboard(collect(runs), tmp_path / "site")
    assert index == tmp_path / "site" / "index.html"
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == sorted(
        ["index.html", "leaderboard.json", *(page.name for page in pages)]
    )
    links = re.findall(r'href="([^"#]+\.html)"', index.read_text(encoding="utf-8"))
    assert set(links) == {page.name for page in pages}
    assert len(pages) == 3


def test_published_numbers_are_marked_and_never_among_the_ranked(folders: ModuleType, tmp_path: Path) -> None:
    run = folders.write_run(tmp_path / "run", {"none": 1.0, "ngram": 1.5}, target="Llama-3.3-70B-Instruct")
    _, board, published = write_leaderboard(collect([run]), tmp_path / "site")
    said = text_of(published)
    assert "Published, not measured here" in said
    assert "arXiv:2604.09557" in said
    assert "rank " not in said
    assert "TensorRT-LLM" not in text_of(board)
    data = json.loads((tmp_path / "site" / "leaderboard.json").read_text(encoding="utf-8"))
    assert [board["target"] for board in data["boards"]] == ["Llama-3.3-70B-Instruct"]
    assert "TensorRT" not in json.dumps(data)


def test_the_published_numbers_are_those_of_the_paper() -> None:
    table = speed_bench()
    known = {(one.target, one.drafter): one for one in table.entries}
    llama = known["Llama-3.3-70B-Instruct", "eagle3"]
    assert (llama.speedup, llama.mean_acceptance_length, llama.acceptance_length["coding"]) == (1.90, 2.44, 3.00)
    assert known["GPT-OSS-120B", "ngram"].speedup == 0.29
    assert len(known) == 10
    for one in table.entries:
        assert set(one.acceptance_length) == set(table.domains)
        assert sum(one.acceptance_length.values()) / 11 == pytest.approx(one.mean_acceptance_length, abs=0.005)


def test_what_is_missing_is_on_the_page_with_the_reason(folders: ModuleType, tmp_path: Path) -> None:
    run = folders.write_run(tmp_path / "run", {"ngram": 1.5}, compared=False, resolved={"process": "a server"})
    _, board, _ = write_leaderboard(collect([run]), tmp_path / "site")
    said = text_of(board)
    assert "Nothing here can be ranked." in said
    assert "Not disclosed" in said
    assert "speed-up: the run has no baseline" in said
    assert "hardware: the engine is a server that the run did not start" in said


def test_folders_that_cannot_be_read_are_named_without_their_path(folders: ModuleType, tmp_path: Path) -> None:
    run = folders.write_run(tmp_path / "run", {"none": 1.0, "ngram": 1.5})
    damaged = folders.write_run(tmp_path / "damaged", {"none": 1.0, "ngram": 1.5})
    (damaged / "cells" / "ngram" / "turns.jsonl").write_text("{}\n", encoding="utf-8")
    collected = collect([run, tmp_path / "nothing", damaged])
    assert [one.folder for one in collected.unreadable] == [str(tmp_path / "nothing"), str(damaged)]
    index, *_ = write_leaderboard(collected, tmp_path / "site")
    said = text_of(index)
    assert "nothing there is no run folder" in said
    assert "damaged" in said
    assert str(tmp_path) not in index.read_text(encoding="utf-8")


def test_a_run_given_twice_counts_once(folders: ModuleType, tmp_path: Path) -> None:
    run = folders.write_run(tmp_path / "run", {"none": 1.0, "ngram": 1.5})
    collected = collect([run, run])
    assert (len(collected.sources), len(collected.entries)) == (1, 1)
    assert "the same run as another that was given: run" in collected.twice[0].reason


def test_a_run_without_a_drafter_is_on_the_index_all_the_same(folders: ModuleType, tmp_path: Path) -> None:
    run = folders.write_run(tmp_path / "plain", {"none": 1.0})
    index, *_ = write_leaderboard(collect([run]), tmp_path / "site")
    assert "plain made 2026-11-29T21:04:07Z complete none: no arm has a drafter" in text_of(index)


def test_pages_that_are_no_longer_wanted_go_and_nothing_else(folders: ModuleType, tmp_path: Path) -> None:
    site = tmp_path / "site"
    first = folders.write_run(tmp_path / "one", {"none": 1.0, "ngram": 1.5}, suite="chat")
    second = folders.write_run(tmp_path / "two", {"none": 1.0, "ngram": 1.5})
    _, old, _ = write_leaderboard(collect([first]), site)
    (site / "notes.html").write_text("mine", encoding="utf-8")
    (tmp_path / "outside.html").write_text("mine", encoding="utf-8")
    data = json.loads((site / "leaderboard.json").read_text(encoding="utf-8"))
    data["pages"] += ["../outside.html", "/etc/passwd", 5]
    (site / "leaderboard.json").write_text(json.dumps(data), encoding="utf-8")
    write_leaderboard(collect([second]), site)
    assert not old.exists()
    assert (site / "notes.html").exists()
    assert (tmp_path / "outside.html").exists()


@pytest.mark.parametrize("held", ['{"kind": "draftmark-leaderboard", "pages": 5}', "[" * 100_000, "\x00"])
def test_what_is_damaged_in_the_folder_stands_in_no_way(folders: ModuleType, tmp_path: Path, held: str) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "leaderboard.json").write_text(held, encoding="utf-8")
    write_leaderboard(collect([folders.write_run(tmp_path / "run", {"none": 1.0, "ngram": 1.5})]), tmp_path / "site")
    assert json.loads((tmp_path / "site" / "leaderboard.json").read_text(encoding="utf-8"))["boards"]


def test_a_folder_under_the_name_of_an_old_page_stays(folders: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "site" / "old.html").mkdir(parents=True)
    held = json.dumps({"kind": "draftmark-leaderboard", "pages": ["old.html"]})
    (tmp_path / "site" / "leaderboard.json").write_text(held, encoding="utf-8")
    write_leaderboard(collect([folders.write_run(tmp_path / "run", {"none": 1.0, "ngram": 1.5})]), tmp_path / "site")
    assert (tmp_path / "site" / "old.html").is_dir()


def test_a_folder_that_cannot_be_written_is_named(folders: ModuleType, tmp_path: Path) -> None:
    run = folders.write_run(tmp_path / "run", {"none": 1.0, "ngram": 1.5})
    (tmp_path / "site").write_text("a file", encoding="utf-8")
    with pytest.raises(DocumentWriteError, match=r"cannot write .*site"):
        write_leaderboard(collect([run]), tmp_path / "site")


def test_the_same_runs_give_the_same_pages(folders: ModuleType, tmp_path: Path) -> None:
    run = folders.write_run(tmp_path / "run", {"none": 1.0, "ngram": 1.5, "eagle3": 2.0})
    first, again = (write_leaderboard(collect([run]), tmp_path / name) for name in ("first", "again"))
    assert [page.read_bytes() for page in first] == [page.read_bytes() for page in again]
