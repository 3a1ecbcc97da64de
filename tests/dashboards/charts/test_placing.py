"""Labels beside points: whatever the points, no label covers another label, a mark, or what was there before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from draftmark.dashboards.charts.placing import NARROWEST, Box, sides

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
    assert sides([(0.5, 0.5, "D=3")], [], height=HEIGHT) == ["middle right"]


def test_a_label_at_the_right_edge_stands_left() -> None:
    assert sides([(0.99, 0.5, "D=3")], [], height=HEIGHT) == ["middle left"]


def test_close_points_have_their_labels_on_different_sides() -> None:
    first, second = sides([(0.5, 0.5, "D=3"), (0.56, 0.5, "D=8")], [], height=HEIGHT)
    assert first != second


def test_a_label_without_room_is_left_out() -> None:
    everything = Box(0, 0, NARROWEST, HEIGHT)
    assert sides([(0.5, 0.5, "D=3")], [everything], height=HEIGHT) == [None]


def test_boxes_that_touch_do_not_meet() -> None:
    assert not Box(0, 0, 10, 10).meets(Box(10, 0, 20, 10))
    assert Box(0, 0, 10, 10).meets(Box(9, 9, 20, 20))


@given(st.lists(st.tuples(unit, unit), max_size=12))
def test_no_label_covers_another(points: list[tuple[float, float]]) -> None:
    found = sides([(x, y, "D=3") for x, y in points], [], height=HEIGHT)
    centres = [
        (x * NARROWEST + AT[side][0], (1 - y) * HEIGHT + AT[side][1])
        for (x, y), side in zip(points, found, strict=True)
        if side is not None
    ]
    for place, (x, y) in enumerate(centres):
        assert all(abs(x - other[0]) >= WIDTH - 1e-6 or abs(y - other[1]) >= 13 - 1e-6 for other in centres[:place])
