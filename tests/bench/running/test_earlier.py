"""What later turns hold of earlier answers' thinking."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import pytest

from draftmark.bench.plans.thinking import Thinking
from draftmark.bench.running.earlier import Earlier
from draftmark.bench.running.questions import Question, Questions
from draftmark.results.records import Observation, TurnRecord
from draftmark.suites.prompt import Prompt
from draftmark.suites.thinking import MARKS, ThinkingReader

if TYPE_CHECKING:
    from collections.abc import Sequence


class Codes:
    """Character codes, with nothing special."""

    def __init__(self) -> None:
        self.added_tokens_decoder: dict[int, Any] = {}

    def decode(self, ids: Sequence[int], **options: Any) -> str:
        return "".join(map(chr, ids))


READER = ThinkingReader(Codes(), MARKS[0])
OUTPUT = "<think>\nwell\n</think>\n\nYes."
THOUGHT = len("<think>\nwell\n</think>")


def earlier(reasoning: Literal["stripped", "kept"], *, reads: bool = True) -> Earlier:
    return Earlier(Thinking(reader=READER if reads else None), reasoning)


def turn(**seen: Any) -> TurnRecord:
    return TurnRecord(cell_id="c", question_id="q", prompt_hash="h", **seen)


def ids(text: str) -> list[int]:
    return [ord(one) for one in text]


@pytest.mark.parametrize(
    ("seen", "stripped", "kept"),
    [
        ({"output_ids": ids(OUTPUT), "thinking_tokens": THOUGHT}, "Yes.", OUTPUT),
        ({"output_ids": ids(OUTPUT), "output_text": OUTPUT, "thinking_tokens": THOUGHT}, "Yes.", OUTPUT),
        ({"output_text": OUTPUT}, "Yes.", OUTPUT),  # ids were sent, and none came back
        # the prompt had opened it
        ({"output_ids": ids(OUTPUT[8:]), "thinking_tokens": THOUGHT - 8}, "Yes.", OUTPUT),
        ({"output_ids": ids("<think>\nwell"), "thinking_tokens": 12}, "", "<think>\nwell"),  # never ended
        ({"output_ids": ids("Yes."), "thinking_tokens": 0}, "Yes.", "Yes."),
        ({"output_text": "Yes."}, "Yes.", "Yes."),
    ],
)
def test_thinking_within_an_output_is_cut_away_or_kept(seen: dict[str, Any], stripped: str, kept: str) -> None:
    codes: Any = Codes()
    assert earlier("stripped").answer(turn(**seen), codes) == {"content": stripped}
    assert earlier("kept").answer(turn(**seen), codes) == {"content": kept}


def test_thinking_that_came_apart_stays_apart() -> None:
    seen = turn(output_text="Yes.", details={"reasoning_text": "well"}, thinking_tokens=3)
    assert earlier("stripped", reads=False).answer(seen, None) == {"content": "Yes."}
    assert earlier("kept", reads=False).answer(seen, None) == {"content": "Yes.", "reasoning_content": "well"}


def test_a_target_without_marks_is_taken_at_its_word() -> None:
    assert earlier("stripped", reads=False).answer(turn(output_text=OUTPUT), None) == {"content": OUTPUT}
    assert earlier("stripped").answer(turn(), None) is None


def test_later_turns_are_asked_with_it() -> None:
    prompt = Prompt(question_id="q", turns=("one", "two"))
    for reasoning, expected in (("stripped", {}), ("kept", {"reasoning_content": "well"})):
        questions = Questions(None, {("s", "q"): None}, earlier(reasoning, reads=False))  # type: ignore[arg-type]
        questions.note(turn(output_text="Yes.", details={"reasoning_text": "well"}))
        asked = questions.question("c", "s", prompt, 0, 1)
        assert asked is not None
        assert asked.messages == (
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "Yes.", **expected},
            {"role": "user", "content": "two"},
        )


def test_options_of_the_template_make_another_question_of_the_same_messages() -> None:
    said = ({"role": "user", "content": "one"},)
    plain, off = Question(said, None), Question(said, None, template_options={"enable_thinking": False})
    assert plain.hash != off.hash
    rendered = [Question(said, (1,)), Question(said, (1,), template_options={"enable_thinking": False})]
    assert rendered[0].hash == rendered[1].hash  # they are in the ids


def test_thinking_is_counted_where_the_engine_gives_ids_and_does_not_count_it() -> None:
    questions = Questions(None, {}, earlier("stripped"))
    asked = SimpleNamespace(ids=tuple(ids("assistant:")))
    question: Any = asked
    assert questions.told_apart(Observation(output_ids=ids(OUTPUT)), question).thinking_tokens == THOUGHT
    assert questions.told_apart(Observation(output_ids=ids(OUTPUT), thinking_tokens=5), question).thinking_tokens == 5
    assert questions.told_apart(Observation(output_text=OUTPUT), question).thinking_tokens is None
