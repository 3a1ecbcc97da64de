"""How long the rest takes, by what was measured and never by a guess."""

from __future__ import annotations

import pytest

from draftmark.bench.running.forecast import Pace, duration, in_words
from draftmark.results.records import Observation


def test_nothing_measured_is_no_forecast() -> None:
    assert Pace().left({"a": 3}) is None


def test_each_cell_goes_by_its_own_turns_and_a_new_one_by_the_mean_of_all() -> None:
    pace = Pace()
    pace.add("fast", 1.0)
    pace.add("slow", 4.0)
    pace.add("slow", 7.0)
    # fast 2 x 1 s, slow 1 x 5.5 s, new 3 x (1 + 4 + 7) / 3 s
    assert pace.left({"fast": 2, "slow": 1, "new": 3}) == pytest.approx(2 + 5.5 + 12)


def test_a_turn_lasts_from_sending_to_done() -> None:
    assert duration(Observation(sent_s=2.0, last_token_s=5.0, done_s=6.5)) == 4.5
    assert duration(Observation(sent_s=2.0, last_token_s=5.0)) == 3.0
    assert duration(Observation(sent_s=2.0)) is None
    assert duration(Observation(done_s=2.0)) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "1 s"),
        (40.2, "40 s"),
        (89, "89 s"),
        (91, "2 min"),
        (3540, "59 min"),
        (3600, "1 h 0 min"),
        (4860, "1 h 21 min"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
