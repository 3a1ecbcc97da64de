"""What a recorded turn was asked with is rebuilt exactly, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.bench.plans.materials import first_prompts
from draftmark.bench.running.questions import Question, Questions
from draftmark.results.run_folder.store import RunStore
from draftmark.suites.conversation import ids_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest
    from conftest import Bench

    from draftmark.results.records import TurnRecord
    from draftmark.suites.prompt import Suite

    MakeSuite = Callable[..., Suite]


def asked(bench: Bench, suite: Suite, fake: Any) -> tuple[Questions, list[TurnRecord]]:
    """Questions that know no answers yet, and the two turns of the first cell's one conversation."""
    bench.run(suite, warmup=0)
    store = RunStore.read(bench.folder)
    renderer = fake.FakeRenderer()
    questions = Questions(renderer, first_prompts([suite], renderer))
    return questions, sorted(store.turns(store.manifest.cells[0].cell_id), key=lambda turn: turn.turn_index)


def ids_of(questions: Questions, turn: TurnRecord, suite: Suite) -> Sequence[int] | None:
    asked = questions.question(turn.cell_id, suite.name, suite.prompts[0], turn.repeat, turn.turn_index)
    return None if asked is None else asked.ids


def test_every_turn_is_rebuilt_to_the_ids_it_was_asked_with(bench: Bench, make_suite: MakeSuite, fake: Any) -> None:
    suite = make_suite(["first", "second"])
    questions, turns = asked(bench, suite, fake)
    assert len(turns) == 2
    for turn in turns:
        ids = ids_of(questions, turn, suite)
        assert ids is not None
        assert ids_hash(ids) == turn.prompt_hash
        questions.note(turn)


def test_a_later_turn_whose_earlier_answer_is_missing_is_not_taken_for_the_first(
    bench: Bench, make_suite: MakeSuite, fake: Any
) -> None:
    suite = make_suite(["first", "second"])
    questions, turns = asked(bench, suite, fake)
    assert ids_of(questions, turns[1], suite) is None


def test_a_divergence_whose_prompt_cannot_be_rebuilt_is_of_unknown_nature(
    bench: Bench, make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for = Questions.question
    measured: list[str] = []

    def once_per_turn(self: Questions, cell_id: str, *rest: Any) -> Question | None:
        if cell_id in measured:
            return None
        measured.append(cell_id)
        return asked_for(self, cell_id, *rest)

    monkeypatch.setattr(Questions, "question", once_per_turn)
    bench.run(make_suite("DIVERGE TIE"))
    store = RunStore.read(bench.folder)
    rows = [row for cell in store.manifest.cells for row in store.divergences(cell.cell_id)]
    assert [row.verdict for row in rows] == ["unknown"]
    assert "what this turn was asked cannot be rebuilt" in rows[0].reason


def test_a_recorded_conversation_is_asked_with_its_recorded_answers_whatever_was_answered(
    bench: Bench, make_suite: MakeSuite, fake: Any
) -> None:
    from draftmark.suites.prompt import Message, Prompt

    talk = [("user", "one"), ("assistant", "recorded"), ("user", "two")]
    prompt = Prompt(
        question_id="q",
        turns=("one", "two"),
        messages=tuple(Message(role=role, content=text) for role, text in talk),  # type: ignore[arg-type]
        asked=(1, 3),
    )
    suite = make_suite(["first"]).model_copy(update={"prompts": (prompt,)})
    questions = Questions(fake.FakeRenderer(), first_prompts([suite], fake.FakeRenderer()))
    for index, length in enumerate((1, 3)):
        asked = questions.question("cell", suite.name, prompt, 0, index)
        assert asked is not None
        assert [(one["role"], one["content"]) for one in asked.messages] == talk[:length]
