"""Stamps of tokens as they reach the front end, before it does anything with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from draftmark.backends.vllm.arrivals import Arrivals


@dataclass
class Piece:
    request_id: str
    new_token_ids: list[int]


class Processor:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def process_outputs(self, outputs: list[Piece], stamp: float, more: object = None) -> str:
        self.seen.append((outputs, stamp, more))
        return "processed"


def test_each_piece_is_stamped_once_per_output_of_the_engine() -> None:
    now = iter([1.0, 2.0, 3.5])
    processor = Processor()
    arrivals = Arrivals(processor, lambda: next(now))
    assert processor.process_outputs([Piece("r1-ab", [7]), Piece("r2-cd", [8, 9])], 0.5, more=1) == "processed"
    processor.process_outputs([Piece("r1-ab", [7, 7, 7])], 0.6)
    processor.process_outputs([Piece("r2-cd", []), Piece("r1-ab", [7])], 0.7)
    assert arrivals.take("r1", 5) == ([1.0, 2.0, 3.5], [1, 3, 1])
    assert arrivals.take("r2", 2) == ([1.0], [2])
    assert arrivals.tokens == 7
    assert processor.seen[0][1:] == (0.5, 1)


def test_what_arrives_behind_the_end_of_an_answer_has_no_stamp() -> None:
    processor = Processor()
    arrivals = Arrivals(processor, lambda: 1.0)
    for tokens in ([1], [2, 3, 4], [5]):
        processor.process_outputs([Piece("r-x", tokens)], 0.0)
    assert arrivals.take("r", 2) == ([1.0, 1.0], [1, 1])


def test_a_request_is_handed_out_once() -> None:
    arrivals = Arrivals(None)
    arrivals.note("r-x", 1.0, 3)
    assert arrivals.take("r", 3) == ([1.0], [3])
    assert arrivals.take("r", 3) == ([], [])


def test_a_front_end_without_that_method_is_told_apart() -> None:
    assert not Arrivals(object()).works
    assert Arrivals(Processor()).works
