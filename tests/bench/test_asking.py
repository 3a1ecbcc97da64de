"""What a recorded turn was asked with is rebuilt exactly, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.asking import Asker
from draftmark.bench.conversation import ids_hash
from draftmark.bench.materials import first_prompts
from draftmark.results.store import RunStore
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Bench

    from draftmark.results.records import TurnRecord
    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


def asked(bench: Bench, suite: Suite, fake: Any) -> tuple[Asker, list[TurnRecord]]:
    """An asker that knows no answers yet, and the two turns of the first cell's one conversation."""
    bench.run(suite, warmup=0)
    store = RunStore.read(bench.folder)
    renderer = fake.FakeRenderer()
    first = first_prompts([suite], renderer)
    nothing: Any = None
    asker = Asker(nothing, nothing, renderer, first, session=0, launch=0, zero_s=0.0, clock=lambda: 0.0)
    return asker, sorted(store.turns(store.manifest.cells[0].cell_id), key=lambda turn: turn.turn_index)


def test_every_turn_is_rebuilt_to_the_ids_it_was_asked_with(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    suite = make_suite(["first", "second"])
    asker, turns = asked(bench, suite, fake)
    assert len(turns) == 2
    for turn in turns:
        assert ids_hash(asker.prompt_of(turn, suite.name, suite.prompts[0])) == turn.prompt_hash
        asker.histories.note(turn)


def test_a_later_turn_whose_earlier_answer_is_missing_is_not_taken_for_the_first(
    bench: Bench, make_suite: MakeSuite, fake: Any
) -> None:
    suite = make_suite(["first", "second"])
    asker, turns = asked(bench, suite, fake)
    with pytest.raises(SuiteError, match="what turn 1 of question 'q0' was asked cannot be rebuilt"):
        asker.prompt_of(turns[1], suite.name, suite.prompts[0])


def test_a_divergence_whose_prompt_cannot_be_rebuilt_is_of_unknown_nature(
    bench: Bench, make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(self: Asker, *_: object) -> None:
        raise SuiteError("an earlier answer is missing")

    monkeypatch.setattr(Asker, "prompt_of", never)
    bench.run(make_suite("DIVERGE TIE"))
    store = RunStore.read(bench.folder)
    rows = [row for cell in store.manifest.cells for row in store.divergences(cell.cell_id)]
    assert [(row.verdict, row.reason) for row in rows] == [("unknown", "an earlier answer is missing")]
