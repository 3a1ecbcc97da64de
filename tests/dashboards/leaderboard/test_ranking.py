"""Ranks by hand, for every way in which entries may or may not be told apart."""

from __future__ import annotations

import pytest

from draftmark.dashboards.leaderboard.ranking import RankRange, rank_ranges
from draftmark.results.statistics import Interval

ABOVE, BELOW, BOTH, NONE = (1.1, 1.5), (0.6, 0.9), (0.9, 1.1), (None, None)


def ranks(names: str, **ratios: tuple[float | None, float | None]) -> list[str]:
    """Rank the named items; `ab=ABOVE` says that the interval of a over b lies above 1."""
    found = rank_ranges(names, lambda one, other: Interval(*ratios[one + other], ()))
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        pytest.param({"ab": ABOVE, "ac": ABOVE, "bc": ABOVE}, ["1", "2", "3"], id="all apart"),
        pytest.param({"ab": BOTH, "ac": BOTH, "bc": BOTH}, ["1-3", "1-3", "1-3"], id="none apart"),
        pytest.param({"ab": BOTH, "ac": ABOVE, "bc": ABOVE}, ["1-2", "1-2", "3"], id="two share the first ranks"),
        pytest.param({"ab": ABOVE, "ac": ABOVE, "bc": BOTH}, ["1", "2-3", "2-3"], id="two share the last ranks"),
        pytest.param({"ab": BOTH, "ac": ABOVE, "bc": BOTH}, ["1-2", "1-3", "2-3"], id="a chain"),
        pytest.param(
            {"ab": NONE, "ac": ABOVE, "bc": NONE}, ["1-2", "1-3", "2-3"], id="no interval tells nothing apart"
        ),
        pytest.param({"ab": BELOW, "ac": BOTH, "bc": ABOVE}, ["2-3", "1", "2-3"], id="the order given does not count"),
    ],
)
def test_ranks_are_shared_by_those_that_cannot_be_told_apart(ratios: dict, expected: list[str]) -> None:
    assert ranks("abc", **ratios) == expected


def test_an_interval_that_ends_at_1_tells_nothing_apart() -> None:
    assert ranks("ab", ab=(1.0, 1.4)) == ["1-2", "1-2"]


def test_a_lone_entry_is_first() -> None:
    assert rank_ranges("a", lambda one, other: pytest.fail("there is nothing to compare")) == [RankRange(1, 1)]
