"""Counters out of metrics text: several engines, odd labels, and restarts."""

from __future__ import annotations

import pytest

from draftmark.backends.http.prometheus import (
    MetricsUnreadable,
    Series,
    read_series,
    reset_between,
    summed,
    window,
)

NAMES = {
    "e:drafts": "drafting_steps",
    "e:accepted": "accepted_tokens",
    "e:accepted_per_pos": "accepted_tokens",
}
ODD = r'model="a \"b\", c}{ d\\",'


def exposition(first: tuple[int, int, int], second: tuple[int, int, int], *, started: int = 7) -> str:
    """Two engines with drafts, and drafts accepted up to positions 1 and 2."""
    lines = [f"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {started}.5"]
    for engine, (drafts, one, two) in enumerate((first, second)):
        where = f'{ODD}engine="{engine}"'
        lines += [
            f"e:drafts_total{{{where}}} {drafts}.0",
            f"e:drafts_created{{{where}}} 1.7e+09",
            f"e:accepted_total{{{where}}} {one + two}",
            f'e:accepted_per_pos_total{{position="0",{where}}} {one}',
            f'e:accepted_per_pos_total{{{where},position="1"}} {two}',
        ]
    return "\n".join(["# HELP e:drafts_total of drafts", "# TYPE e:drafts_total counter", *lines, ""])


BEFORE = exposition((100, 50, 20), (60, 30, 10))
AFTER = exposition((130, 70, 29), (90, 48, 16))


def test_engines_are_added_up_and_positions_count_from_one() -> None:
    assert summed(read_series(BEFORE, NAMES)) == {
        "drafting_steps": 160.0,
        "accepted_tokens": 110.0,
        "accepted_tokens[1]": 80.0,
        "accepted_tokens[2]": 30.0,
    }


def test_differences_over_a_window() -> None:
    found = window(read_series(BEFORE, NAMES), read_series(AFTER, NAMES))
    assert found == {
        "drafting_steps": 60.0,
        "accepted_tokens": 53.0,
        "accepted_tokens[1]": 38.0,
        "accepted_tokens[2]": 15.0,
    }


def test_the_order_of_labels_makes_no_other_series() -> None:
    one, other = 'e:drafts_total{a="1",b="2"} 5\n', 'e:drafts_total{b="2",a="1"} 5\n'
    assert read_series(one, NAMES) == read_series(other, NAMES)


def test_one_engine_that_began_anew_is_seen_though_the_sum_grew() -> None:
    after = exposition((3, 2, 1), (900, 500, 200))
    found = window(read_series(BEFORE, NAMES), read_series(after, NAMES))
    assert isinstance(found, str)
    assert "went back from 100 to 3: the server was restarted" in found


def test_an_engine_that_is_gone_is_seen() -> None:
    after = {name: value for name, value in read_series(AFTER, NAMES).items() if 'engine="1"' not in name}
    assert "is gone" in str(window(read_series(BEFORE, NAMES), after))


def test_a_restart_that_overtook_the_old_counts_is_seen_by_its_start() -> None:
    after = exposition((1000, 900, 800), (1000, 900, 800), started=8)
    found = window(read_series(BEFORE, NAMES), read_series(after, NAMES))
    assert found == "the server's process began anew in between"


def test_a_label_that_is_first_used_within_the_window_began_at_zero() -> None:
    before = read_series("e:drafts_total 5\n", NAMES)
    after = read_series('e:drafts_total 9\ne:accepted_per_pos_total{position="0"} 3\n', NAMES)
    assert window(before, after) == {"drafting_steps": 4.0, "accepted_tokens[1]": 3.0}


def test_restarts_are_counted_over_time() -> None:
    seen = Series()
    texts = [BEFORE, AFTER, exposition((1, 1, 0), (95, 49, 17)), exposition((2, 1, 1), (95, 49, 17))]
    counts = [seen.sums(read_series(text, NAMES))["counter_resets"] for text in texts]
    assert counts == [0.0, 0.0, 1.0, 1.0]
    assert "went back" in str(seen.reason)


def test_the_same_process_twice_is_no_restart() -> None:
    assert reset_between(read_series(BEFORE, NAMES), read_series(BEFORE, NAMES)) is None


@pytest.mark.parametrize(
    "text",
    [
        "# TYPE e:drafts counter\ne:drafts 5\n",
        "# TYPE e:drafts counter\ne:drafts_total 5\n",
        "# TYPE e:drafts_total counter\ne:drafts_total 5\n",
        "e:drafts_total 5",
        "e:drafts 5\n",
        "# TYPE e:drafts counter\n# HELP e:drafts of drafts\ne:drafts_total 5.0\ne:drafts_created 1.7e9\n# EOF\n",
        "e:drafts_total 5e0 1700000000000\n",
    ],
    ids=["no total", "typed without", "typed with", "untyped", "bare", "openmetrics", "with a stamp"],
)
def test_every_way_of_writing_a_counter(text: str) -> None:
    assert summed(read_series(text, NAMES)) == {"drafting_steps": 5.0}


def test_what_is_not_asked_for_is_left_out() -> None:
    text = '# TYPE e:drafts_total histogram\ne:drafts_total_bucket{le="1"} 5\nother_total 9\ne:drafts_created 1\n'
    assert summed(read_series(text, NAMES)) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("e:drafts_total NaN\n", "is nan, no count"),
        ("e:drafts_total +Inf\n", "is inf, no count"),
        ("e:drafts_total -1\n", "is -1, no count"),
        ("e:drafts_total 1\ne:drafts_total 1\n", "twice with the same labels"),
        ('e:accepted_per_pos_total{position="x"} 1\n', "the position 'x', no number"),
        ('e:drafts_total{a="b} 1\n', "no Prometheus text"),
        ("<html>not here</html>", "no Prometheus text"),
        ("e:drafts_total many\n", "no Prometheus text"),
    ],
)
def test_what_is_no_counter_is_refused(text: str, words: str) -> None:
    with pytest.raises(MetricsUnreadable, match=words):
        read_series(text, NAMES)
