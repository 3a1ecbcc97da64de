"""What is said while an engine starts, and how its starts count in what is left."""

from __future__ import annotations

import threading

import pytest

from draftmark.bench.running.engines import signs_of_life
from draftmark.bench.running.forecast import Pace


class Heard:
    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.first = threading.Event()

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)
        self.first.set()

    def advance(self, done: int, total: int, left_s: float | None) -> None:
        raise AssertionError


def test_a_long_start_gives_signs_of_life_until_it_is_over() -> None:
    heard = Heard()
    with signs_of_life(heard, "still starting vllm", every_s=0.01):
        assert heard.first.wait(30)
    told = len(heard.sentences)
    assert heard.sentences[0].startswith("still starting vllm: ")
    assert not heard.first.wait(0) or len(heard.sentences) == told


def test_a_short_start_says_nothing() -> None:
    heard = Heard()
    with signs_of_life(heard, "still starting vllm", every_s=60):
        pass
    assert heard.sentences == []


def test_starts_to_come_count_in_what_is_left() -> None:
    pace = Pace()
    pace.add("a", 2.0)
    assert pace.left({"a": 3}) == pytest.approx(6.0)
    pace.add_start(40.0)
    pace.add_start(60.0)
    pace.starts_left = 2
    assert pace.left({"a": 3}) == pytest.approx(6.0 + 2 * 50.0)
