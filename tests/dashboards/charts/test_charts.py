"""The charts: what they draw, what they leave as gaps, and what stands in place of a chart without data."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.dashboards.charts.acceptance import acceptance_by_position, length_against_d
from draftmark.dashboards.charts.length_speedup import length_against_speedup
from draftmark.dashboards.charts.sections import sections
from draftmark.dashboards.charts.speedup import MAX_CATEGORIES, speedup_by_arm, speedup_by_category
from draftmark.dashboards.charts.step_time import step_time
from draftmark.dashboards.groups import groups_of
from draftmark.dashboards.palette import looks
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from draftmark.dashboards.charts.chart import Chart
    from draftmark.results.summary import CellSummary


def drawn(chart_of: Callable[..., Chart], *cells: CellSummary, specimen: ModuleType) -> Chart:
    summary = specimen.run(*cells)
    (group,) = groups_of(summary)
    style = looks(summary.cells)
    arguments = {
        speedup_by_arm: (group, style, [1.0]),
        speedup_by_category: (group, style, [1.0]),
        step_time: (group,),
    }.get(chart_of, (group, style))
    return chart_of(*arguments)


def marks(chart: Chart) -> list[dict[str, Any]]:
    return [trace for trace in chart.figure["data"] if "hovertext" in trace]


def test_speed_ups_are_drawn_with_their_intervals(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.32, 1.10, 1.58))
    (mark,) = marks(drawn(speedup_by_arm, specimen.baseline(), arm, specimen=specimen))
    assert list(mark["x"]) == [1.32]
    assert mark["error_x"]["array"] == [pytest.approx(0.26)]
    assert mark["error_x"]["arrayminus"] == [pytest.approx(0.22)]


def test_rough_intervals_have_hollow_marks(specimen: ModuleType) -> None:
    solid = specimen.cell("ngram", 3, metrics=specimen.gain(1.3, 1.1, 1.5))
    rough = specimen.cell("ngram", 8, metrics=specimen.gain(1.3, 1.1, 1.5, note="rough (9 conversations)"))
    bare = specimen.cell("ngram", 16, metrics=specimen.gain(1.3))
    found = marks(drawn(speedup_by_arm, solid, rough, bare, specimen=specimen))
    assert [mark["marker"]["symbol"] for mark in found] == ["circle", "circle-open", "circle-open"]
    assert found[2]["error_x"]["visible"] is False
    assert [mark["marker"]["opacity"] for mark in found] == [1.0, 1.0, 0.65]


def test_a_number_without_an_interval_stands_in_brackets_and_the_chart_says_so(specimen: ModuleType) -> None:
    firm = specimen.cell("ngram", 3, category="edit", metrics=specimen.gain(1.3, 1.1, 1.5))
    bare = specimen.cell("ngram", 3, category="write", metrics=specimen.gain(1.4))
    chart = drawn(speedup_by_category, firm, bare, specimen=specimen)
    numbers = [note for note in chart.figure["layout"]["annotations"] if note["x"] == 1]
    assert [note["text"] for note in numbers] == ["1.30", "(1.40)"]
    assert [note["font"]["color"] for note in numbers] == ["var(--ink)", "var(--muted)"]
    assert chart.notes == ("1 of 2 numbers have no interval: drawn hollow",)


def test_marks_of_acceptance_without_an_interval_are_hollow(specimen: ModuleType) -> None:
    arms = [specimen.cell("ngram", d, metrics=specimen.gain(1.3, 1.1, 1.5)) for d in (3, 8)]
    firm = specimen.value(2.0, 1.8, 2.2, unit="tokens")
    arms[1] = arms[1].model_copy(update={"metrics": {**arms[1].metrics, "acceptance_length": firm}})
    curve = marks(drawn(length_against_d, *arms, specimen=specimen))[-1]
    assert curve["marker"]["symbol"] == ["circle-open", "circle"]


def test_small_marks_of_categories_are_hollow_without_an_interval(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 3, metrics=specimen.gain(1.3, 1.1, 1.5))
    parts = [
        specimen.cell("ngram", 3, category=name, metrics=specimen.gain(*numbers))
        for name, numbers in (("edit", (1.3, 1.1, 1.5)), ("write", (1.4,)))
    ]
    small = next(m for m in marks(drawn(length_against_speedup, arm, *parts, specimen=specimen)) if len(m["x"]) == 2)
    assert small["marker"]["symbol"] == ["circle", "circle-open"]


def test_labels_beside_the_marks_name_the_drafter(specimen: ModuleType) -> None:
    names = ("ngram D=8", "eagle3 D=3 (head=instruct-head)")
    gains = (specimen.gain(1.3, 1.1, 1.5, al=2.0), specimen.gain(2.6, 2.4, 2.8, al=3.5))
    arms = [specimen.cell(name.split()[0], 8, arm=name, metrics=gain) for name, gain in zip(names, gains, strict=True)]
    found = [m["text"][0] for m in marks(drawn(length_against_speedup, *arms, specimen=specimen)) if m.get("text")]
    assert found == ["ngram D=8", "eagle3 D=3 …ruct-head)"]


def test_arms_that_change_the_output_have_hollow_marks_and_are_named_below(specimen: ModuleType) -> None:
    wrong, right = (specimen.cell(name, 3, metrics=specimen.gain(1.3, 1.1, 1.5)) for name in ("ngram", "suffix"))
    fault = Lamp(name="losslessness", level="fault", text="3 answers differ.", cells=[wrong.cell_id])
    (group,) = groups_of(specimen.run(wrong, right, lamps=[fault]))
    chart = speedup_by_arm(group, looks((wrong, right)), [1.0])
    assert [mark["marker"]["symbol"] for mark in marks(chart)] == ["circle-open", "square"]
    assert chart.notes == ("hollow, since not counted: ngram D=3 (changes the output)",)


def test_arms_that_lost_their_engine_have_hollow_marks_and_are_named_below(specimen: ModuleType) -> None:
    gone, kept = (
        specimen.cell(drafter, 3, metrics=specimen.gain(1.3, 1.1, 1.5, al=al))
        for drafter, al in (("eagle3", 2.0), ("ngram", 1.5))
    )
    (group,) = groups_of(specimen.run(gone, kept, lost={gone.cell_id: "killed"}))
    chart = speedup_by_arm(group, looks((gone, kept)), [1.0])
    assert [mark["marker"]["symbol"] for mark in marks(chart)] == ["triangle-down-open", "circle"]
    assert chart.notes == ("hollow, since not counted: eagle3 D=3 (lost its engine)",)


def names(chart: Chart) -> list[str]:
    """The names of a chart's rows, from top to bottom."""
    return [note["text"] for note in chart.figure["layout"]["annotations"] if note["x"] == 0]


def test_an_arm_without_a_number_has_no_row_and_is_named_below(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.3, 1.1, 1.5))
    without = [specimen.cell("suffix", d, metrics=specimen.gain(None)) for d in (4, 8)]
    for chart_of in (speedup_by_arm, length_against_speedup):
        chart = drawn(chart_of, arm, *without, specimen=specimen)
        assert chart.notes == ("not measured: suffix D=4 and suffix D=8 (the baseline failed)",)
    chart = drawn(speedup_by_arm, arm, *without, specimen=specimen)
    assert names(chart) == ["ngram D=8"]


def test_a_step_that_was_not_measured_has_no_row_and_is_named_below(specimen: ModuleType) -> None:
    known = specimen.cell("ngram", 8, metrics={"step_time": specimen.value(0.05, unit="s")})
    left_out = specimen.cell("suffix", 8, status="left out", status_text="no compiler")
    chart = drawn(step_time, known, left_out, specimen=specimen)
    assert names(chart) == ["ngram D=8"]
    assert chart.notes == ("not measured: suffix D=8 (no compiler)",)


def test_categories_and_arms_without_any_number_are_named_once(specimen: ModuleType) -> None:
    def part(arm: str, category: str, gain: float | None) -> CellSummary:
        return specimen.cell(arm, 3, category=category, metrics=specimen.gain(gain))

    parts = [
        *(part("ngram", name, gain) for name, gain in (("edit", 1.2), ("write", 1.1), ("explain", None))),
        *(part("suffix", name, None) for name in ("edit", "write", "explain")),
        *(part("mtp", name, gain) for name, gain in (("edit", 1.4), ("write", None), ("explain", None))),
    ]
    chart = drawn(speedup_by_category, *parts, specimen=specimen)
    assert names(chart) == ["<b>edit</b>", "ngram D=3", "mtp D=3", "<b>write</b>", "ngram D=3"]
    assert chart.notes == (
        "no number here has an interval, so each may be chance: drawn hollow",
        "not measured: explain, suffix D=3 and mtp D=3 on write (the baseline failed)",
    )


def test_what_all_categories_begin_with_is_left_out_of_their_headings(specimen: ModuleType) -> None:
    def headings(*categories: str) -> list[str]:
        parts = [specimen.cell(category=name, metrics=specimen.gain(1.1)) for name in categories]
        return [name for name in names(drawn(speedup_by_category, *parts, specimen=specimen)) if name != "ngram D=3"]

    assert headings("coding/edit", "coding/write") == ["<b>edit</b>", "<b>write</b>"]
    assert headings("coding/edit", "math/sums") == ["<b>coding/edit</b>", "<b>math/sums</b>"]
    assert headings("coding/edit", "coding") == ["<b>coding/edit</b>", "<b>coding</b>"]


def test_a_chart_without_any_number_is_its_reasons(specimen: ModuleType) -> None:
    chart = drawn(speedup_by_arm, specimen.cell("ngram", 8, metrics=specimen.gain(None)), specimen=specimen)
    assert (chart.figure, chart.missing) == (None, "the baseline failed")


def test_every_section_of_a_run_without_numbers_is_one_sentence(specimen: ModuleType) -> None:
    why = "draftmark[suffix] is not installed"
    cells = [
        specimen.cell(drafter, d, suite=suite, status="left out", status_text=why)
        for suite in ("coding", "summarization")
        for drafter, d in (("none", 0), ("suffix", 8))
    ]
    found = sections(specimen.run(*cells))
    assert len(found) == 5
    assert all((section.charts, section.missing) == ((), (f"not measured: {why}",)) for section in found)


def test_suites_without_a_number_share_a_sentence_below_the_charts_of_the_others(specimen: ModuleType) -> None:
    cells = [specimen.cell(metrics=specimen.gain(1.3, 1.1, 1.5))]
    cells += [specimen.cell(suite=suite, metrics=specimen.gain(None)) for suite in ("summarization", "long")]
    speedup = sections(specimen.run(*cells))[0]
    assert [chart.title for chart in speedup.charts] == ["coding"]
    assert speedup.missing == ("not measured: summarization and long (the baseline failed)",)


def test_at_the_end_of_a_steps_row_stand_step_yield_and_token(specimen: ModuleType) -> None:
    metrics = {
        "step_time": specimen.value(0.164, unit="s"),
        "acceptance_length": specimen.value(2.28, unit="tokens"),
        "tpot": specimen.value(0.0722, unit="s"),
    }
    layout = drawn(step_time, specimen.cell("draft-model", 3, metrics=metrics), specimen=specimen).figure["layout"]
    texts = {note["xshift"]: [] for note in layout["annotations"] if note["x"] == 1}
    for note in layout["annotations"]:
        if note["x"] == 1:
            texts[note["xshift"]].append(note["text"])
    assert [texts[shift] for shift in sorted(texts)] == [["ms/step", "164"], ["tokens", "2.28"], ["ms/token", "72.2"]]
    assert layout["xaxis"]["title"]["text"] == "ms per step"


def test_positions_never_proposed_are_gaps_not_zeros(specimen: ModuleType) -> None:
    metrics = {
        "conditional_acceptance[2]": specimen.value(None, reason="position 2 was never proposed"),
        "conditional_acceptance[1]": specimen.value(0.5),
        "conditional_acceptance[3]": specimen.value(0.25),
    }
    chart = drawn(acceptance_by_position, specimen.cell("ngram", 3, metrics=metrics), specimen=specimen)
    (curve,) = marks(chart)
    assert (list(curve["x"]), list(curve["y"])) == ([1, 2, 3], [0.5, None, 0.25])
    assert curve["connectgaps"] is False


def test_overhead_lines_are_al_over_one_plus_o(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.3, 1.1, 1.5, al=2.0))
    figure = drawn(length_against_speedup, arm, specimen=specimen).figure
    slopes = [t["y"][1] / t["x"][1] for t in figure["data"] if t["mode"] == "lines"]
    assert slopes == pytest.approx([1, 1 / 1.25, 1 / 1.5, 1 / 2, 1 / 3, 1 / 5])


def test_thousands_of_category_points_are_thinned_and_their_number_is_told(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.3, 1.1, 1.5))
    parts = [
        specimen.cell("ngram", 8, category=f"kind {i}", metrics=specimen.gain(9.0 if i == 4321 else 1.3))
        for i in range(6000)
    ]
    chart = drawn(length_against_speedup, arm, *parts, specimen=specimen)
    small = next(trace for trace in chart.figure["data"] if len(trace["x"]) > 100)
    assert len(small["x"]) <= 5000
    assert max(small["y"]) == 9.0
    assert "of 6,000 points drawn" in chart.notes[0]


def test_categories_beyond_the_cap_are_counted(specimen: ModuleType) -> None:
    parts = [
        specimen.cell("ngram", 8, category=f"kind {i}", metrics=specimen.gain(1.3, 1.1, 1.5))
        for i in range(MAX_CATEGORIES + 5)
    ]
    chart = drawn(speedup_by_category, specimen.cell("ngram", 8), *parts, specimen=specimen)
    assert len(marks(chart)) == MAX_CATEGORIES
    assert chart.notes == ("5 more categories are in the table.",)


def test_one_line_per_drafter_goes_through_its_draft_lengths_in_order(specimen: ModuleType) -> None:
    arms = [specimen.cell("ngram", d, metrics=specimen.gain(1.0, al=al)) for d, al in ((8, 2.3), (3, 1.9))]
    chart = drawn(length_against_d, *arms, specimen=specimen)
    curve = marks(chart)[-1]
    assert (list(curve["x"]), list(curve["y"])) == ([3, 8], [1.9, 2.3])


def test_two_heads_of_one_kind_are_two_lines(specimen: ModuleType) -> None:
    arms = [
        specimen.cell("eagle3", d, arm=f"eagle3 D={d} (head={head})", metrics=specimen.gain(1.0, al=al))
        for head, d, al in (("a", 3, 2.0), ("a", 7, 2.5), ("b", 3, 1.8), ("b", 7, 2.1))
    ]
    chart = drawn(length_against_d, *arms, specimen=specimen)
    assert [list(trace["y"]) for trace in marks(chart)[-2:]] == [[2.0, 2.5], [1.8, 2.1]]


def test_intervals_at_one_draft_length_stand_side_by_side_in_full_view(specimen: ModuleType) -> None:
    arms = [specimen.cell(drafter, 8, metrics=specimen.gain(1.0, al=2.0)) for drafter in ("ngram", "suffix")]
    wide = specimen.value(2.0, 1.5, 3.9, unit="tokens")
    arms = [arm.model_copy(update={"metrics": {**arm.metrics, "acceptance_length": wide}}) for arm in arms]
    chart = drawn(length_against_d, *arms, specimen=specimen)
    first, second = (trace["x"][0] for trace in marks(chart)[-2:])
    assert first < 8 < second
    assert chart.figure["layout"]["yaxis"]["range"][1] > 3.9


def test_a_step_is_stacked_from_its_parts_in_milliseconds(specimen: ModuleType) -> None:
    parts = {"t_draft_exposed": 0.030, "t_verify": 0.060, "t_other": 0.010}
    metrics = {name: specimen.value(seconds, unit="s") for name, seconds in parts.items()}
    chart = drawn(step_time, specimen.cell("draft-model", 3, metrics=metrics), specimen=specimen)
    bars = {bar["name"]: list(bar["x"]) for bar in chart.figure["data"]}
    assert bars == {"drafting": [30.0], "verifying": [60.0], "other": [pytest.approx(10.0)]}


def test_a_step_that_cannot_be_split_is_shown_whole(specimen: ModuleType) -> None:
    split = {name: specimen.value(0.05, unit="s") for name in ("t_draft_exposed", "t_verify", "t_other", "step_time")}
    whole = {"step_time": specimen.value(0.08, unit="s")}
    cells = [specimen.cell("ngram", 3, metrics=split), specimen.cell("eagle3", 3, metrics=whole)]
    chart = drawn(step_time, *cells, specimen=specimen)
    bars = {bar["name"]: list(bar["x"]) for bar in chart.figure["data"]}
    assert bars["verifying"] == [50.0, None]
    assert bars["not split"] == [None, 80.0]


def test_names_are_escaped_for_plotly(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, arm="<b>x</b> & y", metrics=specimen.gain(1.3, 1.1, 1.5))
    chart = drawn(speedup_by_arm, arm, specimen=specimen)
    assert names(chart) == ["&lt;b&gt;x&lt;/b&gt; &amp; y"]
    assert marks(chart)[0]["hovertext"][0].startswith("<b>&lt;b&gt;x&lt;/b&gt; &amp; y</b>")


def test_every_figure_of_the_demo_is_strict_json(specimen: ModuleType) -> None:
    figures = [chart.figure for section in sections(specimen.demo()) for chart in section.charts]
    assert len(figures) == 18
    for figure in figures:
        json.dumps(figure, allow_nan=False)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_numbers_that_are_not_finite_reach_no_figure(specimen: ModuleType, broken: float) -> None:
    names = ("speedup", "acceptance_length", "t_verify", "step_time", "tpot", "conditional_acceptance[1]")
    good = specimen.cell("ngram", 3, metrics={name: specimen.value(1.1, 1.0, 1.2) for name in names})
    bad = specimen.cell("ngram", 8, metrics={name: specimen.value(broken, broken, broken) for name in names})
    for section in sections(specimen.run(good, bad)):
        for chart in section.charts:
            json.dumps(chart.figure, allow_nan=False)
