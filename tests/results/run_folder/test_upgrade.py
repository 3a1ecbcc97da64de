"""Stored records of other versions and other programs: upgraded or refused by name, never a KeyError."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.errors import ResultsError
from draftmark.results.records import SCHEMA_VERSION, RunManifest, TurnRecord
from draftmark.results.run_folder import upgrade
from draftmark.results.run_folder.store import RunStore
from draftmark.results.run_folder.upgrade import Upgrade, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from draftmark.results.records.base import Record

    MakeManifest = Callable[..., RunManifest]
    MakeTurn = Callable[..., TurnRecord]


def as_dict(record: Record) -> dict[str, Any]:
    return json.loads(record.model_dump_json())  # type: ignore[no-any-return]


def read(value: Any) -> TurnRecord:
    return read_record(TurnRecord, json.dumps(value).encode(), "turns.jsonl, line 4")


def test_a_record_of_an_older_version_is_upgraded(make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch) -> None:
    def name_the_prompt(old: dict[str, Any]) -> dict[str, Any]:
        return {**old, "prompt_hash": "unknown"}

    monkeypatch.setitem(upgrade.UPGRADES, 0, {TurnRecord: name_the_prompt})
    old = as_dict(make_turn("p1")) | {"schema_version": 0}
    del old["prompt_hash"]
    assert read(old) == make_turn("p1", prompt_hash="unknown")


def test_upgrades_are_chained_and_skip_records_that_did_not_change(
    make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    table: dict[int, Mapping[type[Record], Upgrade]] = {
        SCHEMA_VERSION: {TurnRecord: lambda old: {**old, "question_id": old["question_id"] + "!"}},
        SCHEMA_VERSION + 1: {RunManifest: lambda old: {**old, "name": "not for turns"}},
        SCHEMA_VERSION + 2: {TurnRecord: lambda old: {**old, "question_id": old["question_id"] + "?"}},
    }
    monkeypatch.setattr(upgrade, "UPGRADES", table)
    monkeypatch.setattr(upgrade, "SCHEMA_VERSION", SCHEMA_VERSION + 3)
    turn = read(as_dict(make_turn("p1")))
    assert (turn.question_id, turn.schema_version) == ("p1!?", SCHEMA_VERSION + 3)


def test_a_run_of_an_older_version_reads_and_resumes(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    with RunStore.create(run, make_manifest()) as store:
        store.append_turn(make_turn("p1"))
    manifest = as_dict(make_manifest()) | {"schema_version": 0}
    turn = as_dict(make_turn("p1")) | {"schema_version": 0}
    del manifest["status"], turn["launch"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / "cells/none/turns.jsonl").write_text(json.dumps(turn) + "\n")
    with pytest.raises(ResultsError, match=r"manifest\.json: written in schema version 0, which .* cannot upgrade"):
        RunStore.read(run)

    changes: dict[type[Record], Upgrade] = {
        RunManifest: lambda old: {**old, "status": "interrupted"},
        TurnRecord: lambda old: {**old, "launch": 7},
    }
    monkeypatch.setitem(upgrade.UPGRADES, 0, changes)
    with RunStore.resume(run, make_manifest()) as store:
        assert store.manifest.status == "interrupted"
        store.append_turn(make_turn("p2"))
        assert [(turn.question_id, turn.launch) for turn in store.turns("none")] == [("p1", 7), ("p2", 0)]


@pytest.mark.parametrize("extra", [{}, {"brand_new": {"x": 1}}])
def test_a_newer_version_is_refused_as_such(make_turn: MakeTurn, extra: dict[str, Any]) -> None:
    with pytest.raises(
        ResultsError, match=r"^turns\.jsonl, line 4: written by a newer version of Draftmark \(schema 99"
    ):
        read(as_dict(make_turn()) | {"schema_version": 99} | extra)


@pytest.mark.parametrize(
    "value",
    [{"hello": "world"}, {"model": "demo", "tok_s": 100.0}, {}, [], "text", 3, None, {"schema": 99, "runs": []}],
)
def test_foreign_json_is_named(value: Any) -> None:
    with pytest.raises(ResultsError, match=r"^turns\.jsonl, line 4: no TurnRecord of Draftmark"):
        read(value)


@pytest.mark.parametrize("version", ["1", 1.0, True, -1, None, []])
def test_a_version_that_is_none_is_named(make_turn: MakeTurn, version: Any) -> None:
    with pytest.raises(ResultsError, match="is no version number"):
        read(as_dict(make_turn()) | {"schema_version": version})


def test_wrong_fields_are_named(make_turn: MakeTurn) -> None:
    with pytest.raises(ResultsError, match=r"4: no valid TurnRecord: chunk_s\[1\]: .*; turn_index: .*; surprise: "):
        read(as_dict(make_turn()) | {"turn_index": -1, "chunk_s": [0.1, "x"], "surprise": 1})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"first_token_s": NaN', "first_token_s"),
        ('"first_token_s": 1e999', "first_token_s"),
        ('"chunk_s": [0.5, -Infinity]', r"chunk_s\[1\]"),
        ('"details": {"rates": [{"x": 1}, {"x": Infinity}]}', r"details\.rates\[1\]\.x"),
        ('"details": {"y": ' + "9" * 400 + ".5}", r"details\.y"),
    ],
)
def test_a_number_that_is_not_finite_is_named_by_its_place(make_turn: MakeTurn, text: str, place: str) -> None:
    name = text.split(":", 1)[0].strip('"')
    rest = {key: value for key, value in as_dict(make_turn()).items() if key != name}
    line = (json.dumps(rest)[:-1] + f", {text}}}").encode()
    with pytest.raises(ResultsError, match=f"^turns.jsonl, line 4: {place} is NaN or infinite"):
        read_record(TurnRecord, line, "turns.jsonl, line 4")


def test_text_that_only_mentions_nan_is_fine(make_turn: MakeTurn) -> None:
    turn = make_turn("NaN", output_text="1e999 and Infinity", details={"big": 10**400, "small": 1e-300})
    assert read_record(TurnRecord, turn.model_dump_json().encode(), "here") == turn


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/manifest.json").write_text('{"hello": "world"}')
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/manifest.json").write_bytes(b'{"kind": "draftmark-run", "na')
    (tmp_path / "latin1").mkdir()
    (tmp_path / "latin1/manifest.json").write_bytes(b'{"kind": "\xe9"}')
    for name, sentence in {
        "nothing": "there is no run folder .*nothing",
        "file": r"file is no run folder of Draftmark: it has no manifest\.json",
        "foreign": r"foreign/manifest\.json is no manifest of a Draftmark run",
        "damaged": r"damaged/manifest\.json: not valid JSON",
        "latin1": r"latin1/manifest\.json: not UTF-8 \(byte 10\)",
        "x" * 5000: "cannot read",
    }.items():
        with pytest.raises(ResultsError, match=sentence):
            RunStore.read(tmp_path / name)
