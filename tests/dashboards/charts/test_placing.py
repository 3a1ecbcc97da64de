"""Labels beside points: whatever the points, no label covers another label, a mark, or what was there before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from draftmark.dashboards.charts.placing import NARROWEST, Box, Label, labels

unit = st.floats(0, 1)
HEIGHT = 250.0

WIDTH = 7 * len("D=3")
"""Of the label in pixels, as the module reckons."""

AT = {
    "middle right": (7 + WIDTH / 2, 0),
    "middle left": (-7 - WIDTH / 2, 0),
    "top center": (0, -13.5),
    "bottom center": (0, 13.5),
    "top right": (7 + WIDTH / 2, -13.5),
    "bottom right": (7 + WIDTH / 2, 13.5),
    "top left": (-7 - WIDTH / 2, -13.5),
    "bottom left": (-7 - WIDTH / 2, 13.5),
}
"""Where a label's centre lies from its mark's, by plotly's names of the sides."""


def test_a_lone_label_stands_right_of_its_point() -> None:
    assert labels([(0.5, 0.5, ["D=3"])], [], height=HEIGHT) == [Label("D=3", "middle right")]


def test_a_label_at_the_right_edge_stands_left() -> None:
    assert labels([(0.99, 0.5, ["D=3"])], [], height=HEIGHT) == [Label("D=3", "middle left")]


def test_close_points_have_their_labels_on_different_sides() -> None:
    first, second = labels([(0.5, 0.5, ["D=3"]), (0.56, 0.5, ["D=8"])], [], height=HEIGHT)
    assert first is not None
    assert second is not None
    assert first.side != second.side


def test_where_a_long_text_has_no_room_a_shorter_one_is_tried() -> None:
    # The chart is 225 pixels wide: 40 characters of 7 pixels fit nowhere, 8 do.
    texts = ["a" * 40, "b" * 8]
    assert labels([(0.5, 0.5, texts)], [], height=HEIGHT) == [Label("b" * 8, "middle right")]


def test_a_label_without_room_is_left_out() -> None:
    everything = Box(0, 0, NARROWEST, HEIGHT)
    assert labels([(0.5, 0.5, ["D=3", "3"])], [everything], height=HEIGHT) == [None]


def test_boxes_that_touch_do_not_meet() -> None:
    assert not Box(0, 0, 10, 10).meets(Box(10, 0, 20, 10))
    assert Box(0, 0, 10, 10).meets(Box(9, 9, 20, 20))


@given(st.lists(st.tuples(unit, unit), max_size=12))
def test_no_label_covers_another(points: list[tuple[float, float]]) -> None:
    found = labels([(x, y, ["D=3"]) for x, y in points], [], height=HEIGHT)
    centres = [
        (x * NARROWEST + AT[label.side][0], (1 - y) * HEIGHT + AT[label.side][1])
        for (x, y), label in zip(points, found, strict=True)
        if label is not None
    ]
    for place, (x, y) in enumerate(centres):
        assert all(abs(x - other[0]) >= WIDTH - 1e-6 or abs(y - other[1]) >= 13 - 1e-6 for other in centres[:place])
