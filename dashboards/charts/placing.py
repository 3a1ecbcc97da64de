"""Places short labels beside points so that none covers another, at the narrowest that a chart is drawn.

In a wider chart points only move apart, so labels that stand free in the narrowest stand free in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NARROWEST = 225
"""Width in pixels of what a chart on a screen of 360 pixels leaves between its axes."""

_SIDES = {
    # plotly's textposition: where the label's centre lies, in half label sizes and in marks
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, -1),
    "bottom center": (0, 1),
    "top right": (1, -1),
    "bottom right": (1, 1),
    "top left": (-1, -1),
    "bottom left": (-1, 1),
}
_CHARACTER, _LINE, _MARK = 7, 13, 7


@dataclass(frozen=True)
class Box:
    """A rectangle on the chart in pixels, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Say whether the two share any area."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


@dataclass(frozen=True)
class Label:
    """What stands beside a point, and on which side of it, in plotly's words."""

    text: str
    side: str


def labels(
    points: Sequence[tuple[float, float, Sequence[str]]], taken: Iterable[Box], *, height: float
) -> list[Label | None]:
    """Return each point's label, the first of its texts for which a side is free; null where none is.

    Args:
        points: x from 0 (left) to 1 (right), y from 0 (bottom) to 1 (top), and its texts, the most wanted first.
        taken: Areas that are covered already.
        height: Of the chart between its axes, in pixels.
    """
    pixels = [(x * NARROWEST, (1 - y) * height) for x, y, _ in points]
    marks = [Box(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in pixels]
    covered = [*taken, *marks]
    found: list[Label | None] = []
    for place, (_, _, texts) in enumerate(points):
        others = [box for box in covered if box is not marks[place]]
        options = {Label(text, side): _area(*pixels[place], text, side) for text in texts for side in _SIDES}
        free = (
            label
            for label, box in options.items()
            if box.left >= 0 and box.right <= NARROWEST and box.top >= 0 and box.bottom <= height
            if not any(box.meets(other) for other in others)
        )
        chosen = next(free, None)
        found.append(chosen)
        if chosen is not None:
            covered.append(options[chosen])
    return found


def _area(x: float, y: float, text: str, side: str) -> Box:
    across, down = _SIDES[side]
    half_width, half_height = _CHARACTER * len(text) / 2, _LINE / 2
    x, y = x + across * (half_width + _MARK), y + down * (half_height + _MARK)
    return Box(x - half_width, y - half_height, x + half_width, y + half_height)
