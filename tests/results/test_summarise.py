"""The summary: every planned cell is in it, whole, partial or left out, with its group, its parts and its lamps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.errors import ResultsError
from draftmark.results.records import (
    Arm,
    Divergence,
    PromptRecord,
    RunManifest,
    TurnFailure,
)
from draftmark.results.records.loads import ClosedLoad, ConstantLoad
from draftmark.results.run_folder.store import RunStore
from draftmark.results.run_folder.strict_json import encode
from draftmark.results.run_folder.upgrade import read_record
from draftmark.results.summarise import changed_settings, summarise
from draftmark.results.summary import RunSummary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.results.records import CellRecord, StepColumns, TurnRecord
    from draftmark.results.summary import CellSummary

    MakeManifest = Callable[..., RunManifest]
    MakeTurn = Callable[..., TurnRecord]
    MakeCell = Callable[..., CellRecord]
    MakeSteps = Callable[..., StepColumns]
    Written = Callable[..., RunStore]

CONTROL = Arm(drafter="none", draft_length=0, control=True)
NGRAM = Arm(drafter="ngram", draft_length=3)


@pytest.fixture
def written(tmp_path: Path, make_manifest: MakeManifest) -> Written:
    """A run with the given cells and turns, closed and opened to read."""

    def build(cells: list[CellRecord], turns: list[TurnRecord], **changes: Any) -> RunStore:
        prompts = changes.pop("prompts", [])
        with RunStore.create(tmp_path / "run", make_manifest(cells, **changes)) as store:
            store.write_prompts(prompts)
            for turn in turns:
                store.append_turn(turn)
        return RunStore.read(tmp_path / "run")

    return build


def prompt(question_id: str, category: str | None, sub_category: str | None = None) -> PromptRecord:
    return PromptRecord(
        suite="coding", question_id=question_id, turn_index=0, category=category, sub_category=sub_category,
        text_hash="d" * 64,
    )  # fmt: skip


def cell_of(summary: RunSummary, cell_id: str, category: str | None = None) -> CellSummary:
    (found,) = [cell for cell in summary.cells if (cell.cell_id, cell.category) == (cell_id, category)]
    return found


def test_a_finished_cell_says_so(written: Written, make_cell: MakeCell, make_turn: MakeTurn) -> None:
    turns = [make_turn(f"p{n}", output_tokens=4, finish_reason="length" if n else "eos") for n in range(5)]
    cell = cell_of(summarise(written([make_cell()], turns)), "none")
    assert (cell.status, cell.status_text) == ("complete", "5 of 5 turns")
    assert (cell.turns_ok, cell.turns_failed, cell.turns_expected, cell.truncated) == (5, 0, 5, 4)
    assert (cell.arm, cell.suite, cell.target, cell.backend) == ("none", "coding", "tiny", "reference")


def test_a_partial_cell_says_how_far_it_got(written: Written, make_cell: MakeCell, make_turn: MakeTurn) -> None:
    cell = cell_of(summarise(written([make_cell()], [make_turn(f"p{n}") for n in range(3)])), "none")
    assert (cell.status, cell.status_text) == ("partial", "partial 3/5")


def test_a_cell_whose_engine_was_lost_says_how(written: Written, make_cell: MakeCell, make_turn: MakeTurn) -> None:
    lost = make_cell(lost="the engine was killed (SIGKILL)")
    turns = [make_turn("p1"), make_turn("p2", status="failed")]
    cell = cell_of(summarise(written([lost], turns)), "none")
    assert cell.status_text == "partial 2/5, 1 failed; the engine was killed (SIGKILL)"


def test_a_cell_that_never_started_appears(written: Written, make_cell: MakeCell, make_turn: MakeTurn) -> None:
    summary = summarise(written([make_cell("a"), make_cell("b", NGRAM)], [make_turn("p1", "a")]))
    assert cell_of(summary, "b").status_text == "partial 0/5"


def test_an_arm_left_out_appears_with_its_reason_for_every_metric(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    reason = "arctic-inference is not installed; pip install draftmark[suffix]"
    cells = [make_cell("a"), make_cell("b", NGRAM, left_out=reason)]
    cell = cell_of(summarise(written(cells, [make_turn("p1", "a", output_tokens=3)])), "b")
    assert (cell.status, cell.status_text) == ("left out", reason)
    assert cell.metrics["acceptance_length"].value is None
    assert {metric.reason for metric in cell.metrics.values()} == {reason}


def test_failed_turns_are_listed_and_counted_apart(written: Written, make_cell: MakeCell, make_turn: MakeTurn) -> None:
    fault = TurnFailure(kind="context-limit", message="the prompt does not fit")
    turns = [*(make_turn(f"p{n}") for n in range(4)), make_turn("p9", repeat=1, status="failed", failure=fault)]
    summary = summarise(written([make_cell()], turns))
    assert summary.failures == [
        {
            "cell_id": "none", "question_id": "p9", "turn_index": "0", "repeat": "1", "kind": "context-limit",
            "message": "the prompt does not fit",
        }
    ]  # fmt: skip
    cell = cell_of(summary, "none")
    assert (cell.turns_ok, cell.turns_failed, cell.status_text) == (4, 1, "5 of 5 turns, 1 failed")


def test_warm_up_turns_and_their_failures_count_nowhere(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    summary = summarise(written([make_cell()], [make_turn("w", phase="warmup", status="failed"), make_turn("p1")]))
    assert summary.failures == []
    assert cell_of(summary, "none").status_text == "partial 1/5"


def test_where_an_open_loops_ends_are_left_out_the_baseline_is_still_its_own(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    # p1 and p2 count: each has three tokens after the first, in 0.3 s.
    turns = [
        make_turn(
            f"p{n}", output_tokens=4, output_ids=[1, 2, 3, 4], scheduled_s=n, sent_s=n, first_token_s=n + 0.1,
            last_token_s=n + 0.4, done_s=n + 0.4,
        )
        for n in (0.0, 1.0, 2.0, 3.0)
    ]  # fmt: skip
    load = ConstantLoad(rate=1, warm_up_s=0.5, cool_down_s=0.5)
    found = cell_of(summarise(written([make_cell(load=load)], turns)), "none").metrics
    assert (found["divergent_turns"].value, found["divergent_turns"].n) == (0, 2)
    assert (found["divergent_turns"].source, found["divergent_turns"].note) == ("definition", "this is the baseline")
    assert (found["speedup"].value, found["speedup"].source) == (1, "definition")


def test_cells_that_differ_in_the_arm_alone_form_a_group(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    cells = [
        make_cell("a"), make_cell("b", NGRAM), make_cell("c", CONTROL),
        make_cell("d", load=ClosedLoad(concurrency=2)), make_cell("e", NGRAM, suite="chat"),
        make_cell("f", suite_hash="6" * 64), make_cell("g", NGRAM, engine={"dtype": "bfloat16"}),
    ]  # fmt: skip
    groups = [cell.group for cell in summarise(written(cells, [])).cells]
    assert len(set(groups[:3])) == 1
    assert len(set(groups[2:])) == 5


def test_cells_keep_the_order_of_the_plan_with_their_parts_behind_them(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    cells = [make_cell("a"), make_cell("x", suite="chat"), make_cell("b", NGRAM)]
    turns = [
        make_turn("p1", "a", category="write"), make_turn("p2", "a", category="edit"),
        make_turn("p1", "b", category="write"), make_turn("q1", "x", category="talk"),
    ]  # fmt: skip
    found = [(cell.cell_id, cell.category) for cell in summarise(written(cells, turns)).cells]
    assert found == [
        ("a", None), ("a", "edit"), ("a", "write"), ("x", None), ("x", "talk"),
        ("b", None), ("b", "edit"), ("b", "write"),
    ]  # fmt: skip


def test_parts_are_planned_turns_of_a_category(written: Written, make_cell: MakeCell, make_turn: MakeTurn) -> None:
    prompts = [prompt("p1", "write"), prompt("p2", "write"), prompt("p3", "edit"), prompt("p4", None)]
    turns = [
        make_turn("p1", category="write"), make_turn("p1", repeat=1, category="write"),
        make_turn("p3", category="edit"), make_turn("p3", repeat=1, category="edit", status="failed"),
        make_turn("p4"),
    ]  # fmt: skip
    summary = summarise(written([make_cell(expected_turns=8)], turns, prompts=prompts))
    assert [(cell.category, cell.status_text) for cell in summary.cells] == [
        (None, "partial 5/8, 1 failed"),
        ("edit", "2 of 2 turns, 1 failed"),
        ("uncategorised", "partial 1/2"),
        ("write", "partial 2/4"),
    ]


def test_a_part_called_uncategorised_is_kept_apart_from_prompts_without_a_category(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    prompts = [prompt("p1", "uncategorised"), prompt("p2", None), prompt("p3", None)]
    turns = [make_turn("p1", category="uncategorised"), make_turn("p2"), make_turn("p3")]
    summary = summarise(written([make_cell(expected_turns=3)], turns, prompts=prompts))
    assert [(cell.category, cell.turns_ok) for cell in summary.cells] == [
        (None, 3), ('"uncategorised"', 1), ("uncategorised", 2),
    ]  # fmt: skip


def test_a_suite_of_one_category_is_split_by_sub_category(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    prompts = [prompt("p1", "coding", "python"), prompt("p2", "coding", "rust"), prompt("p3", "coding")]
    turns = [make_turn("p1", category="coding", sub_category="python")]
    summary = summarise(written([make_cell(expected_turns=3)], turns, prompts=prompts))
    assert [(cell.category, cell.turns_ok) for cell in summary.cells] == [
        (None, 1), ("coding", 0), ("coding/python", 1), ("coding/rust", 0),
    ]  # fmt: skip


def test_metrics_of_a_part_are_of_its_turns_alone(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn, make_steps: MakeSteps
) -> None:
    turns = [
        make_turn("p1", "b", category="edit", output_tokens=9, steps=make_steps((3, 3), (3, 3))),
        make_turn("p2", "b", category="write", output_tokens=5, steps=make_steps((3, 0), (0, 0), (3, 1))),
    ]
    summary = summarise(written([make_cell("b", NGRAM)], turns))
    lengths = [(cell.category, cell.metrics["acceptance_length"].value) for cell in summary.cells]
    assert lengths == [(None, 12 / 5), ("edit", 4.0), ("write", 4 / 3)]


def test_speed_up_is_against_the_groups_own_baseline(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    def answer(question_id: str, cell_id: str, seconds: float) -> TurnRecord:
        return make_turn(
            question_id, cell_id, output_tokens=5, output_ids=[1, 2, 3, 4, 5], chunk_s=[1.0, 1.0 + seconds],
            chunk_tokens=[1, 4], sent_s=0.9, first_token_s=1.0, last_token_s=1.0 + seconds,
        )  # fmt: skip

    cells = [
        make_cell("a"),
        make_cell("b", NGRAM),
        make_cell("c", CONTROL),
        make_cell("other", load=ClosedLoad(concurrency=2)),
    ]
    turns = [
        answer(f"p{n}", cell_id, seconds)
        for n in range(5)
        for cell_id, seconds in {"a": 0.4, "b": 0.2, "c": 0.4, "other": 40.0}.items()
    ]
    summary = summarise(written(cells, turns))
    assert cell_of(summary, "b").metrics["speedup"].value == pytest.approx(2.0)
    assert cell_of(summary, "c").metrics["speedup"].value == pytest.approx(1.0)


def test_settings_that_speculation_changed_besides_the_drafter(make_cell: MakeCell) -> None:
    baseline = make_cell(
        resolved={"drafter": "none", "draft_length": 0, "kv_blocks": 1000, "dtype": "float32", "cap": 8}
    )
    arm = make_cell(
        "b",
        Arm(drafter="ngram", draft_length=3, options={"max_match": 3}),
        resolved={"drafter": "ngram", "draft_length": 3, "max_match": 3, "kv_blocks": 900, "dtype": "float32"},
    )
    assert changed_settings(arm, baseline) == {"kv_blocks": (1000, 900), "cap": (8, None)}
    assert changed_settings(baseline, baseline) == {}
    assert changed_settings(arm, None) == {}
    assert changed_settings(make_cell("unresolved", NGRAM), baseline) == {}


def test_elapsed_time_is_the_sum_over_sessions_and_pauses_are_not_in_it(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn, make_manifest: MakeManifest
) -> None:
    started = make_manifest().sessions[0]
    sessions = [
        started.model_copy(update={"started_at": "2026-11-29T21:00:00Z", "elapsed_s": 60.0}),
        started.model_copy(update={"started_at": "2026-11-29T23:00:00Z"}),  # killed after its last turn, at 7.5 s
        started.model_copy(update={"started_at": "2026-11-30T08:00:00Z", "elapsed_s": 30.0}),
    ]
    turns = [
        make_turn("p1", session=0, sent_s=1.0, done_s=59.0), make_turn("p2", session=1, sent_s=1.0, done_s=7.5),
        make_turn("p3", session=1, sent_s=4.0, last_token_s=5.0), make_turn("p4", session=2, done_s=29.0),
    ]  # fmt: skip
    assert summarise(written([make_cell()], turns, sessions=sessions)).elapsed_s == 60.0 + 7.5 + 30.0


def test_elapsed_time_is_unknown_where_nothing_tells_it(written: Written, make_cell: MakeCell) -> None:
    assert summarise(written([make_cell()], [])).elapsed_s is None


def test_divergences_of_every_cell_are_gathered(
    tmp_path: Path, make_manifest: MakeManifest, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    row = Divergence(
        cell_id="b", question_id="p1", turn_index=0, repeat=0, position=3, baseline_id=5, arm_id=6, verdict="fault",
        reason="margin 2.0 is above the numeric difference 0.1",
    )  # fmt: skip
    with RunStore.create(tmp_path / "run", make_manifest([make_cell("a"), make_cell("b", NGRAM)])) as store:
        store.append_turn(make_turn("p1", "a", output_ids=[1, 2, 3, 5]))
        store.append_turn(make_turn("p1", "b", output_ids=[1, 2, 3, 6]))
        store.write_divergences("b", [row])
        summary = summarise(store)
    assert summary.divergences == [row]
    assert [lamp.level for lamp in summary.lamps if lamp.name == "losslessness"] == ["fault"]


def test_a_good_run_has_every_lamp_and_no_alarm(
    tmp_path: Path, make_manifest: MakeManifest, make_cell: MakeCell, make_turn: MakeTurn, make_steps: MakeSteps
) -> None:
    def answer(n: int, cell_id: str, pairs: list[tuple[int, int]]) -> TurnRecord:
        steps = make_steps(*pairs)
        chunks = [1, *steps.delivered]
        stamps = [1.0 + 0.01 * k for k in range(len(chunks))]
        return make_turn(
            f"p{n}", cell_id, output_tokens=sum(chunks), output_ids=list(range(sum(chunks))), chunk_s=stamps,
            chunk_tokens=chunks, sent_s=0.9, first_token_s=1.0, last_token_s=stamps[-1], done_s=2.0, steps=steps,
            finish_reason="eos",
        )  # fmt: skip

    cells = [make_cell("a"), make_cell("b", NGRAM), make_cell("c", CONTROL)]
    with RunStore.create(tmp_path / "run", make_manifest(cells)) as store:
        for n in range(5):
            store.append_turn(answer(n, "a", [(0, 0)] * 6))
            store.append_turn(answer(n, "b", [(3, 2), (3, 1), (0, 0)]))
            store.append_turn(answer(n, "c", [(0, 0)] * 6))
        store.write_divergences("b", [])
        lamps = summarise(store).lamps
    assert {lamp.name for lamp in lamps} == {
        "answers", "speculation", "baseline", "losslessness", "client", "launches", "identities", "failures", "values",
    }  # fmt: skip
    assert [lamp for lamp in lamps if lamp.level in {"warning", "fault"}] == []


def test_a_run_without_a_token_is_a_fault(written: Written, make_cell: MakeCell, make_turn: MakeTurn) -> None:
    lamps = summarise(written([make_cell()], [make_turn("p1", output_tokens=0)])).lamps
    assert any(lamp.level == "fault" and "No turn gave a single token" in lamp.text for lamp in lamps)


def test_a_summary_survives_the_disk(
    tmp_path: Path, written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    summary = summarise(written([make_cell()], [make_turn("p1", output_tokens=3)]))
    with RunStore.resume(tmp_path / "run", summary.manifest) as store:
        store.write_summary(summary)
    data = (tmp_path / "run/summary.json").read_bytes()
    assert data == encode(summary, indent=2) + b"\n"
    assert read_record(RunSummary, data, "summary.json") == summary


def test_a_summary_with_a_number_that_is_none_is_refused_by_its_place(
    written: Written, make_cell: MakeCell, make_turn: MakeTurn
) -> None:
    data = encode(summarise(written([make_cell()], [make_turn("p1", output_tokens=3)])))
    broken = data.replace(b'"output_tokens":{"value":3.0', b'"output_tokens":{"value":1e999')
    assert broken != data
    with pytest.raises(ResultsError, match=r"summary\.json: cells\[0\]\.metrics\.output_tokens\.value is NaN or inf"):
        read_record(RunSummary, broken, "summary.json")
