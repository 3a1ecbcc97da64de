"""Signals as requests."""

from __future__ import annotations

import signal

import pytest

from draftmark.bench.running.interruption import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_ends(number: signal.Signals) -> None:
    told: list[bool] = []
    with Interruption(lambda: told.append(True)) as stop:
        assert not stop.requested
        signal.raise_signal(number)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert told == [True]


def test_the_handlers_of_before_come_back() -> None:
    before = [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]
    with Interruption():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)] == before
