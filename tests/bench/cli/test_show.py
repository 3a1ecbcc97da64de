"""`show`, `report` and the table: what a run says to a person and to a program, also while it is unfinished."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.reporting.run_table import run_lines
from draftmark.results.records import Divergence
from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise
from draftmark.results.summary import CellSummary, Lamp, MetricValue, RunSummary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Said

    Call = Callable[..., Said]
    PlanFile = Callable[..., Path]


@pytest.fixture
def run_folder(call: Call, plan_file: PlanFile, tmp_path: Path) -> Path:
    assert call("run", plan_file(), "--out", tmp_path / "run", "--quiet").code == 0
    return tmp_path / "run"


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_a_list_of_cells_with_all_metrics(call: Call, run_folder: Path) -> None:
    said = call("show", run_folder, "--json")
    cells = strict(said.out)
    assert said.code == 0
    overall = [cell for cell in cells if cell["category"] is None]
    assert [(cell["drafter"], cell["draft_length"], cell["control"]) for cell in overall] == [
        ("none", 0, False),
        ("none", 0, True),
        ("ngram", 3, False),
    ]
    assert {(cell["backend"], cell["target"], cell["suite"], cell["concurrency"]) for cell in cells} == {
        ("fake", "tiny", "talk", 1)
    }
    assert {cell["category"] for cell in cells} == {None, "talk", "code"}
    length = overall[2]["metrics"]["acceptance_length"]
    assert {"value", "low", "high", "n", "unit", "source", "reason"} <= set(length)
    assert (length["value"], length["n"], length["unit"]) == (4.0, 10, "tokens")
    for cell in cells:
        for name, metric in cell["metrics"].items():
            assert (metric["value"] is None) == (metric["reason"] is not None), name


def test_numbers_are_rebuilt_from_the_raw_records(call: Call, run_folder: Path) -> None:
    before = call("show", run_folder, "--json").out
    (run_folder / "summary.json").write_text("{ruined")
    assert call("show", run_folder, "--json").out == before
    (run_folder / "summary.json").unlink()
    assert call("show", run_folder, "--json").out == before
    assert not (run_folder / "summary.json").exists()


def test_the_table_has_a_row_per_arm_and_with_the_option_one_per_category(call: Call, run_folder: Path) -> None:
    plain, detailed = call("show", run_folder).out, call("show", run_folder, "--by-category").out
    assert ("  code" in plain, "  code" in detailed) == (False, True)
    assert "1 (baseline)" in plain
    assert "none (control)" in plain


def test_a_run_without_a_single_turn_is_shown_as_that(call: Call, run_folder: Path) -> None:
    shutil.rmtree(run_folder / "cells")
    said = call("show", run_folder)
    assert said.code == 0
    assert "0 of 15 turns" in said.out
    assert "partial 0/5" in said.out
    assert strict(call("show", run_folder, "--json").out)


def test_a_partial_run_says_how_much_is_there(call: Call, run_folder: Path) -> None:
    (turns,) = [path for path in run_folder.glob("cells/*/turns.jsonl") if "ngram" in path.parent.name]
    lines = [line for line in turns.read_bytes().splitlines(keepends=True) if b'"measured"' in line]
    turns.write_bytes(b"".join(lines[:3]) + lines[3][:30])
    said = call("show", run_folder)
    assert "ngram D=3: partial 3/5" in said.out
    assert "13 of 15 turns" in said.out


@pytest.mark.parametrize("arguments", [("show",), ("show", "--json"), ("report",)])
def test_what_is_no_run_is_refused_with_a_sentence(call: Call, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    verb, *options = arguments
    for folder in (tmp_path / "missing", tmp_path):
        said = call(verb, folder, *options)
        assert said.code == 2
        assert said.err.startswith("draftmark: ")
        assert "Traceback" not in said.err


def test_a_report_is_one_page_and_its_path_is_printed(call: Call, run_folder: Path, tmp_path: Path) -> None:
    said = call("report", run_folder, "--out", tmp_path / "site")
    assert said.code == 0
    assert said.out == f"page: {tmp_path / 'site' / 'index.html'}\n"
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["index.html"]


# The table, from summaries made by hand


@pytest.fixture
def summary(run_folder: Path) -> RunSummary:
    return summarise(RunStore.read(run_folder))


def text_of(summary: RunSummary) -> str:
    from rich.console import Console

    console = Console(width=200, force_terminal=False)
    with console.capture() as captured:
        for part in run_lines(summary):
            console.print(part)
    return captured.get()


def with_metrics(summary: RunSummary, arm: str, **metrics: MetricValue) -> RunSummary:
    def changed(cell: CellSummary) -> CellSummary:
        if cell.arm != arm:
            return cell
        return cell.model_copy(update={"metrics": cell.metrics | metrics})

    return summary.model_copy(update={"cells": [changed(cell) for cell in summary.cells]})


def row(text: str, arm: str) -> str:
    """What the table says of an arm, columns apart by one space."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"{arm} ")]
    return " ".join(line.removeprefix(arm).split())


SPEEDUPS: dict[tuple[float | None, float | None, float | None], list[str]] = {
    (1.32, 1.10, 1.58): ["1.32x [1.10, 1.58] yes", "Against none: faster: ngram D=3."],
    (0.5, 0.4, 0.6): ["0.50x [0.40, 0.60] yes", "Against none: slower: ngram D=3."],
    (1.05, 0.9, 1.2): ["1.05x [0.90, 1.20] yes", "Against none: no clear difference: ngram D=3."],
    (1.05, None, None): ["1.05x, no interval yes", ""],
    (None, None, None): ["- yes", ""],
}


@pytest.mark.parametrize("numbers", SPEEDUPS)
def test_a_speed_up_is_told_with_its_interval_and_in_words(
    summary: RunSummary, numbers: tuple[float | None, ...]
) -> None:
    value, low, high = numbers
    speedup = MetricValue(value=value, low=low, high=high, n=8, unit="1", reason=None if value else "not measured")
    text = text_of(with_metrics(summary, "ngram D=3", speedup=speedup))
    shown, words = SPEEDUPS[value, low, high]
    assert row(text, "ngram D=3").endswith(f" {shown}")
    assert [line for line in text.splitlines() if line.startswith("Against none")] == [words] * bool(words)


def test_an_arm_that_changes_the_output_is_not_called_faster_without_that(summary: RunSummary) -> None:
    fast = with_metrics(summary, "ngram D=3", speedup=MetricValue(value=1.32, low=1.1, high=1.58, n=8, unit="1"))
    (cell,) = [cell for cell in fast.cells if cell.arm == "ngram D=3" and cell.category is None]
    fault = Lamp(name="losslessness", level="fault", text="2 answers differ.", cells=[cell.cell_id])
    lines = text_of(fast.model_copy(update={"lamps": [fault]})).splitlines()
    assert [line for line in lines if line.startswith("Against none")] == [
        "Against none: faster, but not counted (changes the output): ngram D=3."
    ]


def test_an_arm_that_lost_its_engine_is_not_called_faster_without_that(summary: RunSummary) -> None:
    fast = with_metrics(summary, "ngram D=3", speedup=MetricValue(value=1.32, low=1.1, high=1.58, n=8, unit="1"))
    records = [
        record.model_copy(update={"lost": "killed"}) if record.key.arm.drafter == "ngram" else record
        for record in fast.manifest.cells
    ]
    manifest = fast.manifest.model_copy(update={"cells": records})
    text = text_of(fast.model_copy(update={"manifest": manifest}))
    assert "Against none: faster, but not counted (lost its engine): ngram D=3." in text


def test_seconds_become_milliseconds_and_shares_percent(summary: RunSummary) -> None:
    changed = with_metrics(
        summary,
        "ngram D=3",
        tpot=MetricValue(value=0.0123, n=1, unit="s"),
        coverage=MetricValue(value=0.875, n=8, unit="1"),
        draft_overhead=MetricValue(value=None, n=0, unit="1", reason="not timed"),
        output_tps=MetricValue(value=18.06, n=8, unit="tokens/s"),
        speedup=MetricValue(value=2, low=1.5, high=3, n=8, unit="1"),
    )
    assert row(text_of(changed), "ngram D=3") == "4.00 88% - 18.1 12.3 2.00x [1.50, 3.00] yes"


def test_what_is_wrong_stands_on_top_worst_first(summary: RunSummary) -> None:
    lamps = [
        Lamp(name="client", level="note", text="by the way", cells=[]),
        Lamp(name="client", level="ok", text="all is well", cells=[]),
        Lamp(name="losslessness", level="fault", text="output changed [bold]", cells=[]),
        Lamp(name="baseline", level="warning", text="it drifts", cells=[summary.cells[0].cell_id]),
    ]
    lines = text_of(summary.model_copy(update={"lamps": lamps})).splitlines()
    assert lines[1:4] == ["fault: output changed [bold]", "warning: [talk: none] it drifts", "note: by the way"]
    assert "all is well" not in "\n".join(lines)


def test_the_arm_that_accepts_most_is_not_taken_for_the_fastest(
    call: Call, plan_file: PlanFile, tmp_path: Path
) -> None:
    drafters = [{"kind": "none"}, {"kind": "ngram", "draft_length": [3]}, {"kind": "suffix", "draft_length": [7]}]
    call("run", plan_file(drafters=drafters), "--out", tmp_path / "two", "--quiet")
    summary = summarise(RunStore.read(tmp_path / "two"))
    summary = with_metrics(
        summary,
        "ngram D=3",
        speedup=MetricValue(value=1.5, n=5, unit="1"),
        acceptance_length=MetricValue(value=2.0, n=5, unit="tokens"),
    )
    slow = with_metrics(
        summary,
        "suffix D=7",
        speedup=MetricValue(value=0.8, n=5, unit="1"),
        acceptance_length=MetricValue(value=5.0, n=5, unit="tokens"),
    )
    hint = (
        "Acceptance length is not speed-up: suffix D=7 has the highest (5.00) and runs at 0.80x, "
        "while ngram D=3 is the fastest at 1.50x with 2.00."
    )
    assert hint in text_of(slow)
    fast = with_metrics(slow, "suffix D=7", speedup=MetricValue(value=2.0, n=5, unit="1"))
    assert "Acceptance length is not speed-up" not in text_of(fast)


def test_lossless_is_yes_or_what_differs(summary: RunSummary) -> None:
    text = text_of(summary)
    assert row(text, "ngram D=3").endswith(" yes")
    assert row(text, "none (control)").endswith(" yes")
    differing = with_metrics(summary, "ngram D=3", divergent_turns=MetricValue(value=3, n=5, unit="count"))
    assert row(text_of(differing), "ngram D=3").endswith(" 3 differ")
    unknown = MetricValue(value=None, n=0, unit="count", reason="sampled")
    assert row(text_of(with_metrics(summary, "ngram D=3", divergent_turns=unknown)), "ngram D=3").endswith(" -")


def test_answers_that_were_not_compared_are_not_called_lossless(summary: RunSummary) -> None:
    # 5 turns were answered, and 3 of them compared.
    assert "so many answers were compared" not in text_of(summary)
    text = text_of(with_metrics(summary, "ngram D=3", divergent_turns=MetricValue(value=0, n=3, unit="count")))
    assert row(text, "ngram D=3").endswith(" 3 of 5")
    assert row(text, "none (control)").endswith(" yes")
    assert "lossless, 3 of 5: so many answers were compared" in text


def test_bounds_and_rough_intervals_are_marked_and_the_marks_explained_once(summary: RunSummary) -> None:
    plain = text_of(summary)
    assert "~" not in plain
    assert "rough" not in plain
    bound = MetricValue(value=2.45, low=2.4, high=2.5, n=9, unit="tokens", note="inferred, upper bound; rough (9 ...)")
    speedup = MetricValue(value=1.32, low=1.1, high=1.58, n=9, unit="1", note="rough (11 conversations)")
    text = text_of(with_metrics(summary, "ngram D=3", acceptance_length=bound, speedup=speedup))
    assert row(text, "ngram D=3").startswith("~2.45 ")
    assert "1.32x [1.10, 1.58] rough" in row(text, "ngram D=3")
    assert text.count("~ is inferred") == text.count("rough: an interval from few conversations.") == 1


def test_requests_with_sampling_of_their_own_are_told_in_the_heading(summary: RunSummary) -> None:
    assert "request_sampling" not in text_of(summary)
    manifest = summary.manifest.model_copy(update={"plan": summary.manifest.plan | {"request_sampling": "recorded"}})
    assert "request_sampling: recorded" in text_of(summary.model_copy(update={"manifest": manifest})).splitlines()[0]


def left(summary: RunSummary, arm: str, question: str) -> Divergence:
    """A divergence, judged a fault, of one arm's first answer to a question."""
    (cell,) = [cell for cell in summary.cells if cell.arm == arm and cell.category is None]
    return Divergence(
        cell_id=cell.cell_id, question_id=question, turn_index=0, repeat=0, position=4, baseline_id=1, arm_id=2,
        verdict="fault", reason="measured",
    )  # fmt: skip


@pytest.mark.parametrize(("of_the_control", "said"), [(None, "1 fault"), ("another", "1 fault"), ("one", "1 differ")])
def test_a_divergence_is_excused_where_the_control_diverges_too_and_nowhere_else(
    summary: RunSummary, of_the_control: str | None, said: str
) -> None:
    once = MetricValue(value=1, n=5, unit="count")
    rows = [left(summary, "ngram D=3", "one")]
    changed = with_metrics(summary, "ngram D=3", divergent_turns=once)
    if of_the_control is not None:
        rows.append(left(summary, "none (control)", of_the_control))
        changed = with_metrics(changed, "none (control)", divergent_turns=once)
    text = text_of(changed.model_copy(update={"divergences": rows}))
    assert row(text, "ngram D=3").endswith(f" {said}")
    assert row(text, "none (control)").endswith(" yes" if of_the_control is None else " 1 differ")


def test_a_lamp_names_the_suites_and_arms_it_speaks_of(summary: RunSummary) -> None:
    baseline, control, ngram = [cell.cell_id for cell in summary.cells if cell.category is None]
    cases = {
        (): "",
        (baseline, control, ngram): "",
        (ngram,): "[talk: ngram D=3] ",
        (baseline, ngram): "[talk: none, ngram D=3] ",
    }
    for cells, named in cases.items():
        lamp = Lamp(name="client", level="note", text="so it is", cells=list(cells))
        assert f"note: {named}so it is" in text_of(summary.model_copy(update={"lamps": [lamp]}))


def test_what_met_the_objectives_is_told_with_how_long_users_wait(summary: RunSummary) -> None:
    assert "first token after" not in text_of(summary)
    told = with_metrics(
        summary,
        "ngram D=3",
        ttft_p50=MetricValue(value=0.102, n=8, unit="s"),
        ttft_p99=MetricValue(value=0.1834, n=8, unit="s"),
        objectives_met=MetricValue(value=0.976, n=8, unit="1"),
        goodput=MetricValue(value=6.344, n=8, unit="turns/s"),
    )
    assert (
        "ngram D=3: first token after 102 ms (median), 183 ms (99%), objectives met by 97.6%, goodput 6.34 turns/s"
        in text_of(told).splitlines()
    )


def test_the_table_fits_eighty_columns(run_folder: Path, summary: RunSummary) -> None:
    speedup = MetricValue(value=1.32, low=1.1, high=1.58, n=8, unit="1")
    lines = text_of(with_metrics(summary, "ngram D=3", speedup=speedup)).splitlines()
    table = [line.rstrip() for line in lines[lines.index("talk (fake)") :]]
    assert max(map(len, table)) <= 80


def test_where_acceptance_comes_from_has_a_line_per_place_and_no_table_of_arms(call: Call, run_folder: Path) -> None:
    said = call("show", run_folder, "--acceptance")
    assert said.code == 0
    lines = [line.split() for line in said.out.splitlines()]
    # The fake engine accepts 3 of 3 in each of its 10 steps, so that every place has 4 tokens a step.
    assert ["all", "turns", "ngram", "D=3", "4.00", "-", "10"] in lines
    places = [line[0] for line in lines if line[1:4] == ["ngram", "D=3", "4.00"]]
    assert {"code", "talk"} <= set(places)
    assert "thinking and answer: not measured (" in " ".join(said.out.split())
    assert "tok/s" not in said.out  # lamps may speak of speed-ups
    assert "1 (baseline)" not in said.out


def test_the_legend_of_acceptance_explains_what_stands_in_its_tables(summary: RunSummary) -> None:
    from draftmark.bench.reporting.acceptance_table import acceptance_lines

    def said(note: str, low: float | None) -> str:
        high = None if low is None else 4.5
        metric = MetricValue(value=4.0, low=low, high=high, n=10, unit="tokens", note=note)
        named = dict.fromkeys((name for name in summary.cells[-1].metrics if "acceptance_length" in name), metric)
        lines = acceptance_lines(with_metrics(summary, "ngram D=3", **named))
        return "\n".join(str(line) for line in lines[-3:])

    assert "No interval" in said("no interval: 2 conversations, at least 8 are needed", None)
    whole = said("prompt sampling only", 3.5)
    assert "No interval" not in whole
    assert "rough" not in whole
    assert "rough: an interval from few" in said("rough (11 conversations)", 3.5)
    assert "~ is inferred" in said("inferred, upper bound", 3.5)
