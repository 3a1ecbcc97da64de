"""Charts of rows: where names and numbers stand, so that no name of any length eats the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.dashboards.charts.axes import axis
from draftmark.dashboards.charts.rows import LONGEST_ABOVE, Line, add_numbers, rows_canvas

if TYPE_CHECKING:
    import plotly.graph_objects as go

LONG = "eagle3 D=3 (head=org/some-long-name, layers=[2, 16, 29], temperature=0)"


def built(*names: str, **settings: Any) -> go.Figure:
    return rows_canvas([Line(name) for name in names], axis("x"), height=30, **settings)


def names_of(figure: go.Figure) -> list[Any]:
    return [note for note in figure.layout.annotations if note.x == 0]


def test_short_names_stand_left_in_a_margin_that_holds_them() -> None:
    figure = built("ngram D=3", "draft-model D=3")
    assert [(note.text, note.xanchor) for note in names_of(figure)] == [
        ("ngram D=3", "right"),
        ("draft-model D=3", "right"),
    ]
    assert figure.layout.margin.l >= 8 * len("draft-model D=3")


def test_one_long_name_puts_all_above_their_rows_and_gives_the_chart_its_width() -> None:
    figure = built("ngram D=3", LONG)
    assert {note.xanchor for note in names_of(figure)} == {"left"}
    assert all(note.yshift > 10 for note in names_of(figure))
    assert figure.layout.margin.l < 10
    assert figure.layout.height > built("ngram D=3", "ngram D=8").layout.height


def test_a_name_that_is_too_long_keeps_both_of_its_ends() -> None:
    (shown,) = (note.text for note in names_of(built(LONG)))
    assert len(shown) == LONGEST_ABOVE
    assert shown.startswith("eagle3 D=3 (head")
    assert shown.endswith("temperature=0)")


def test_wide_letters_widen_the_margin() -> None:
    assert built("wwww D=4").layout.margin.l > built("iiii D=4").layout.margin.l


def test_a_heading_is_bold_and_widens_the_margin_up_to_a_limit() -> None:
    figure = rows_canvas(
        [Line("a very long name of a category", heading=True), Line("ngram D=3")], axis("x"), height=20
    )
    heading, name = names_of(figure)
    assert heading.text == "<b>a very long name of a category</b>"
    assert (heading.xanchor, name.xanchor) == ("left", "right")
    assert heading.xshift == 2 - figure.layout.margin.l
    assert heading.bgcolor == "var(--panel)"
    margins = [
        rows_canvas([Line("c" * length, heading=True), Line("ngram D=3")], axis("x"), height=20).layout.margin.l
        for length in (4, 14, 30, 90)
    ]
    assert margins[0] < margins[1] < margins[2] == margins[3]


def test_columns_of_numbers_stand_in_the_margin_one_beside_the_other() -> None:
    figure = built("ngram D=3", columns=("ms/step", "tokens", "ms/token"))
    add_numbers(figure, 0, ["164", None, "72.2"])
    shown = {note.text: note.xshift for note in figure.layout.annotations if note.x == 1}
    assert shown["ms/step"] == shown["164"] < shown["tokens"] < shown["ms/token"] == shown["72.2"]
    assert shown["ms/token"] <= figure.layout.margin.r
