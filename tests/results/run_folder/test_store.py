"""The run folder: what was appended is there, wholly and once, whatever happens to the process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from draftmark.results.errors import ResultsError, StoreWriteError
from draftmark.results.records import (
    CellRecord,
    Divergence,
    ModelIdentity,
    PromptRecord,
    RunManifest,
    StepColumns,
    TurnRecord,
)
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from pathlib import Path

MakeManifest = Callable[..., RunManifest]
MakeTurn = Callable[..., TurnRecord]
MakeCell = Callable[..., CellRecord]


def turns_file(folder: Path, cell: str = "none") -> Path:
    return folder / "cells" / cell / "turns.jsonl"


def names(store: RunStore, cell: str = "none") -> list[str]:
    return [turn.question_id for turn in store.turns(cell)]


def test_a_turn_reads_back_as_it_was_written(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    turn = make_turn(
        output_ids=[5, 2**40],
        output_tokens=2,
        output_text='line\none "two" \u2028 中文🙂\x00',
        first_token_s=0.1 + 0.2,
        chunk_s=[0.3, 1e-9],
        chunk_tokens=[1, None],
        steps=StepColumns(drafted=[3], accepted=[2], delivered=[1], draft_s=[0.001]),
        details={"nested": {"list": [1, 2.5, None, "x"]}},
    )
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(turn)
    assert list(RunStore.read(tmp_path / "run").turns("none")) == [turn]


def test_one_turn_is_one_line(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1", output_text="a\nb\r\nc\u2028d\u0085e"))
        store.append_turn(make_turn("p2"))
    assert turns_file(tmp_path / "run").read_bytes().count(b"\n") == 2


def test_a_turn_is_readable_as_soon_as_it_is_appended(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
        assert names(RunStore.read(tmp_path / "run")) == ["p1"]


def test_warm_up_turns_are_left_out_unless_asked_for(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("w", phase="warmup"))
        store.append_turn(make_turn("p1"))
        assert names(store) == ["p1"]
        assert [turn.question_id for turn in store.turns("none", phase=None)] == ["w", "p1"]
        assert store.finished("none") == {("p1", 0, 0)}


def test_a_turn_is_recorded_once(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
        with pytest.raises(ResultsError, match="'p1', repeat 0, is recorded already"):
            store.append_turn(make_turn("p1"))
        store.append_turn(make_turn("p1", repeat=1))
        store.append_turn(make_turn("p1", turn_index=1))
    with RunStore.resume(tmp_path / "run", make_manifest()) as store, pytest.raises(ResultsError, match="already"):
        store.append_turn(make_turn("p1", turn_index=1))


def test_warm_up_repeats_in_every_session(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("w", phase="warmup", session=0))
        store.append_turn(make_turn("w", phase="warmup", session=1))
        with pytest.raises(ResultsError, match="warmup turn 0 of 'w'"):
            store.append_turn(make_turn("w", phase="warmup", session=1))


def test_a_doubled_line_is_named(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
    path = turns_file(tmp_path / "run")
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(ResultsError, match=r"turns\.jsonl, line 2: .*'p1'.* there twice"):
        names(RunStore.read(tmp_path / "run"))


def test_a_turn_of_another_cell_is_named(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, make_cell: MakeCell
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest([make_cell("a"), make_cell("b")])) as store:
        store.append_turn(make_turn("p1", "a"))
    (tmp_path / "run/cells/b").mkdir()
    turns_file(tmp_path / "run", "b").write_bytes(turns_file(tmp_path / "run", "a").read_bytes())
    with pytest.raises(ResultsError, match="line 1: a turn of cell 'a', not of 'b'"):
        names(RunStore.read(tmp_path / "run"), "b")


def test_cells_that_the_manifest_does_not_name_do_not_exist(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        with pytest.raises(ResultsError, match="no cell 'other'"):
            store.append_turn(make_turn("p1", "other"))
        with pytest.raises(ResultsError, match="no cell"):
            list(store.turns("../" * 4000))


@pytest.mark.parametrize("cell_id", ["../../escape", "a/b", "..", ".", "a\nb", "a\0b", "x" * 200, "CON:*?", "é" * 200])
def test_hostile_cell_ids_stay_inside_the_run_folder(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, make_cell: MakeCell, cell_id: str
) -> None:
    turn = make_turn("p1", cell_id)
    with RunStore.create(tmp_path / "run", make_manifest([make_cell(cell_id)])) as store:
        store.append_turn(turn)
        store.write_engine(cell_id, {"steps": 3})
    assert list(RunStore.read(tmp_path / "run").turns(cell_id)) == [turn]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    (folder,) = (tmp_path / "run/cells").iterdir()
    assert {path.name for path in folder.iterdir()} == {"turns.jsonl", "engine.json"}


def test_cells_whose_ids_look_alike_keep_folders_of_their_own(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, make_cell: MakeCell
) -> None:
    ids = ["a/b", "a b", "a?b", "a-b"]
    with RunStore.create(tmp_path / "run", make_manifest([make_cell(cell_id) for cell_id in ids])) as store:
        for cell_id in ids:
            store.append_turn(make_turn(cell_id, cell_id))
        assert [names(store, cell_id) for cell_id in ids] == [[cell_id] for cell_id in ids]


@pytest.mark.parametrize(
    "windows",
    [
        "7",
        "[7]",
        '[{"before": 1, "after": {}}]',
        '[{"before": {}}]',
        '[{"before": {"output_tokens": "many"}, "after": {"output_tokens": 2}}]',
    ],
)
def test_engine_facts_that_are_damaged_are_told_with_their_file(
    tmp_path: Path, make_manifest: MakeManifest, windows: str
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.write_engine("none", {"windows": [{"before": {"output_tokens": 1}, "after": {"output_tokens": None}}]})
        assert store.engine("none") is not None
    (path,) = (tmp_path / "run").rglob("engine.json")
    path.write_text(f'{{"windows": {windows}}}', encoding="utf-8")
    with pytest.raises(ResultsError, match=r"engine\.json: `windows` is no list of counters"):
        RunStore.read(tmp_path / "run").engine("none")


def test_prompts_divergences_and_engine_facts_read_back(tmp_path: Path, make_manifest: MakeManifest) -> None:
    prompt = PromptRecord(suite="coding", question_id="p1", turn_index=0, text_hash="d" * 64, prompt_ids=[1, 2])
    row = Divergence(
        cell_id="none", question_id="p1", turn_index=0, repeat=0, position=3, baseline_id=5, arm_id=None,
        top_two=(5, 6), verdict="unknown", reason="the engine gives no logits",
    )  # fmt: skip
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        assert (store.prompts(), store.divergences("none"), store.engine("none")) == ([], [], None)
        assert not store.divergences_checked("none")
        store.write_prompts(iter([prompt]))
        store.write_divergences("none", [row])
        store.write_engine("none", {"drafts": 100, "position": [0.62, 0.32]})
    store = RunStore.read(tmp_path / "run")
    assert store.prompts() == [prompt]
    assert store.divergences("none") == [row]
    assert store.divergences_checked("none")
    assert store.engine("none") == {"drafts": 100, "position": [0.62, 0.32]}


def test_rewriting_replaces(tmp_path: Path, make_manifest: MakeManifest) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.write_engine("none", {"drafts": 1, "old": True})
        store.write_engine("none", {"drafts": 2})
        assert store.engine("none") == {"drafts": 2}
        store.update_manifest(make_manifest(status="complete"))
    assert RunStore.read(tmp_path / "run").manifest.status == "complete"


def test_a_manifest_may_gain_cells_but_not_lose_them(
    tmp_path: Path, make_manifest: MakeManifest, make_cell: MakeCell
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest([make_cell("a")])) as store:
        store.update_manifest(make_manifest([make_cell("a"), make_cell("b")]))
        with pytest.raises(ResultsError, match="drop cells"):
            store.update_manifest(make_manifest([make_cell("b")]))
        with pytest.raises(ResultsError, match="names a cell twice"):
            store.update_manifest(make_manifest([make_cell("a"), make_cell("b"), make_cell("b")]))
        assert [cell.cell_id for cell in store.manifest.cells] == ["a", "b"]


def test_written_files_are_strict_json(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} was written")

    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1", details={"acceptance": float("nan"), "rate": [float("inf"), -float("inf")]}))
        store.write_engine("none", {"rate": float("nan"), "x": 1.5})
    for path in (tmp_path / "run").rglob("*.json*"):
        for line in [path.read_text()] if path.suffix == ".json" else path.read_text().split("\n")[:-1]:
            json.loads(line, parse_constant=refuse)
    (turn,) = RunStore.read(tmp_path / "run").turns("none")
    assert turn.details == {"acceptance": None, "rate": [None, None]}


def test_what_json_cannot_hold_is_refused(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        with pytest.raises(ResultsError, match="cannot be stored as JSON"):
            store.append_turn(make_turn("p1", details={"engine": object()}))
        store.append_turn(make_turn("p1"))
        assert names(store) == ["p1"]


def test_a_folder_that_holds_something_is_not_overwritten(tmp_path: Path, make_manifest: MakeManifest) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ResultsError, match=r"not empty \(it holds 'notes\.txt'\)"):
        RunStore.create(tmp_path, make_manifest())
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    RunStore.create(tmp_path / "run", make_manifest()).close()
    with pytest.raises(ResultsError, match="already holds a run; resume it"):
        RunStore.create(tmp_path / "run", make_manifest())


def test_one_writer_at_a_time_and_any_number_of_readers(tmp_path: Path, make_manifest: MakeManifest) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()):
        with pytest.raises(StoreWriteError, match="another process is writing"):
            RunStore.resume(tmp_path / "run", make_manifest())
        RunStore.read(tmp_path / "run")
    RunStore.resume(tmp_path / "run", make_manifest()).close()


def test_a_store_opened_to_read_or_closed_does_not_write(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    store = RunStore.create(tmp_path / "run", make_manifest())
    store.close()
    store.close()
    for closed in (store, RunStore.read(tmp_path / "run")):
        with pytest.raises(StoreWriteError, match="reading only"):
            closed.append_turn(make_turn())
        with pytest.raises(StoreWriteError, match="reading only"):
            closed.update_manifest(make_manifest())


def test_a_plan_changed_since_the_start_is_refused_key_by_key(tmp_path: Path, make_manifest: MakeManifest) -> None:
    RunStore.create(tmp_path / "run", make_manifest()).close()
    plan = {
        "name": "demo",
        "sampling": {"temperature": 0.7, "max_tokens": 8},
        "drafters": [{"kind": "ngram"}, {"k": 1}],
    }
    with pytest.raises(ResultsError) as caught:
        RunStore.resume(tmp_path / "run", make_manifest(plan=plan, plan_hash="e" * 64))
    assert [line.strip() for line in str(caught.value).splitlines()[1:-1]] == [
        "plan.sampling.temperature: 0 -> 0.7",
        'plan.drafters[0].kind: "none" -> "ngram"',
        'plan.drafters[1]: (absent) -> {"k": 1}',
    ]
    assert caught.value.exit_code == 2
    assert str(caught.value).endswith("It holds no turn, so that nothing is lost if you delete it.")


def test_a_run_with_turns_is_not_called_empty(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn(cell_id=store.manifest.cells[0].cell_id))
    with pytest.raises(ResultsError) as caught:
        RunStore.resume(tmp_path / "run", make_manifest(plan={"name": "demo"}, plan_hash="e" * 64))
    assert str(caught.value).endswith("Use the settings it was started with, or a new folder.")


def test_other_weights_under_the_same_plan_are_refused(tmp_path: Path, make_manifest: MakeManifest) -> None:
    RunStore.create(tmp_path / "run", make_manifest()).close()
    other = ModelIdentity(name="tiny", files={"model.safetensors": "f" * 64})
    with pytest.raises(ResultsError, match=r'target\.files\.model\.safetensors: "bbb.*" -> "fff'):
        RunStore.resume(tmp_path / "run", make_manifest(target=other))


def test_what_was_not_known_of_a_model_at_the_start_is_no_difference(
    tmp_path: Path, make_manifest: MakeManifest
) -> None:
    unknown = ModelIdentity(name="tiny")
    fetched = ModelIdentity(name="tiny", files={"a.safetensors": "f" * 64}, parameters=135)
    sharded = ModelIdentity(name="tiny", files={"b.safetensors": "f" * 64}, parameters=135)
    for index, (old, new) in enumerate([(unknown, fetched), (fetched, unknown)]):
        RunStore.create(tmp_path / f"run{index}", make_manifest(target=old, models=[old])).close()
        RunStore.resume(tmp_path / f"run{index}", make_manifest(target=new, models=[new])).close()
    with pytest.raises(ResultsError, match=r"target\.files\.a\.safetensors: .* -> \(absent\)"):
        RunStore.resume(tmp_path / "run1", make_manifest(target=sharded, models=[fetched]))
    with pytest.raises(ResultsError, match=r"models\[1\]: \(absent\) -> "):
        RunStore.resume(tmp_path / "run1", make_manifest(target=fetched, models=[fetched, fetched]))


def test_resuming_keeps_the_stored_sessions(tmp_path: Path, make_manifest: MakeManifest) -> None:
    RunStore.create(tmp_path / "run", make_manifest(status="interrupted")).close()
    with RunStore.resume(tmp_path / "run", make_manifest(run_id="another", sessions=[])) as store:
        assert store.manifest == make_manifest(status="interrupted")


def test_a_damaged_line_in_the_middle_is_named(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        for name in ("p1", "p2", "p3"):
            store.append_turn(make_turn(name))
    path = turns_file(tmp_path / "run")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
    with pytest.raises(ResultsError, match=r"turns\.jsonl, line 2: not valid JSON"):
        names(RunStore.read(tmp_path / "run"))
    with pytest.raises(ResultsError, match="line 2"):
        RunStore.resume(tmp_path / "run", make_manifest())
    assert path.read_bytes() == lines[0] + lines[1][:20] + b"\n" + lines[2]
    path.write_bytes(lines[0] + lines[1][:20] + lines[2])
    with pytest.raises(ResultsError, match="line 2"):
        names(RunStore.read(tmp_path / "run"))


def test_a_resumed_run_drops_the_cut_line_runs_the_rest_and_has_all_five(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    planned = {"p1": 10, "p2": 20, "p3": 30, "p4": 40, "p5": 50}
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        for name in ("p1", "p2", "p3", "p4"):
            store.append_turn(make_turn(name, output_tokens=planned[name]))
    path = turns_file(tmp_path / "run")
    path.write_bytes(path.read_bytes()[:-40])

    before = list(RunStore.read(tmp_path / "run").turns("none"))
    assert [turn.question_id for turn in before] == ["p1", "p2", "p3"]
    assert sum(turn.output_tokens or 0 for turn in before) == 60

    with RunStore.resume(tmp_path / "run", make_manifest()) as store:
        missing = [name for name in planned if (name, 0, 0) not in store.finished("none")]
        assert missing == ["p4", "p5"]
        for name in missing:
            store.append_turn(make_turn(name, output_tokens=planned[name]))
    assert names(RunStore.read(tmp_path / "run")) == ["p1", "p2", "p3", "p4", "p5"]


def test_wherever_the_last_record_is_cut_resuming_ends_with_the_same_turns(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # a thousand of them take seconds and show nothing here
    wanted = [make_turn(name, output_text="é\n🙂", chunk_s=[0.25]) for name in ("p1", "p2", "p3")]
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        for turn in wanted:
            store.append_turn(turn)
    path = turns_file(tmp_path / "run")
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for cut in range(last, len(whole) + 1):
        path.write_bytes(whole[:cut])
        # All but the line break is there: the turn was finished and stays.
        kept = 3 if cut >= len(whole) - 1 else 2
        with RunStore.resume(tmp_path / "run", make_manifest()) as store:
            assert len(store.finished("none")) == kept
            for turn in wanted[kept:]:
                store.append_turn(turn)
        assert path.read_bytes() == whole


def test_a_tail_of_zero_bytes_after_a_power_cut_is_dropped(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
    path = turns_file(tmp_path / "run")
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(4096))
    RunStore.resume(tmp_path / "run", make_manifest()).close()
    assert path.read_bytes() == whole


def test_readers_leave_a_torn_line_where_it_is(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
        path = turns_file(tmp_path / "run")
        with path.open("ab") as file:
            file.write(b'{"schema_version":1,"cell_id":"no')
        assert names(RunStore.read(tmp_path / "run")) == ["p1"]
    assert path.read_bytes().endswith(b'"no')


def test_a_read_only_folder_reads(tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
    (tmp_path / "run/.lock").unlink()
    for path in [*(tmp_path / "run").rglob("*"), tmp_path / "run"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert names(RunStore.read(tmp_path / "run")) == ["p1"]
        assert not (tmp_path / "run/.lock").exists()
        if os.geteuid() != 0:  # root may write anywhere
            with pytest.raises(StoreWriteError, match="permission denied"):
                RunStore.resume(tmp_path / "run", make_manifest())
    finally:
        for path in [tmp_path / "run", *(tmp_path / "run").rglob("*")]:
            path.chmod(0o755)
