"""What later turns hold of earlier answers' thinking."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import pytest

from draftmark.bench.plans.thinking import Thinking
from draftmark.bench.running.earlier import Earlier
from draftmark.bench.running.questions import UNTOLD, Question, Questions
from draftmark.results.records import Observation, TurnRecord
from draftmark.suites.prompt import Message, Prompt
from draftmark.suites.thinking_marks import MARKS, ThinkingReader

if TYPE_CHECKING:
    from collections.abc import Sequence


class Codes:
    """Character codes, with nothing special; a template that opens thinking, or does not."""

    def __init__(self, generation_prompt: str = "assistant:") -> None:
        self.added_tokens_decoder: dict[int, Any] = {}
        self.generation_prompt = generation_prompt

    def prompt_ids(self, messages: list[dict[str, Any]], tools: Any = None) -> list[int]:
        return ids("".join(f"{one['role']}:{one['content']}\n" for one in messages) + self.generation_prompt)

    def decode(self, ids: Sequence[int], **options: Any) -> str:
        return "".join(map(chr, ids))


READER = ThinkingReader(Codes(), MARKS[0])
OUTPUT = "<think>\nwell\n</think>\n\nYes."
QUOTE = "A <think> tag ends with </think>. So."
THOUGHT = len("<think>\nwell\n</think>")


def thinking(reasoning: Literal["stripped", "kept"], *, reads: bool = True) -> Thinking:
    return Thinking(reader=READER if reads else None, kept=reasoning == "kept")


def earlier(reasoning: Literal["stripped", "kept"], *, reads: bool = True) -> Earlier:
    return Earlier(thinking(reasoning, reads=reads))


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
        # answers that quote the marks
        ({"output_ids": ids(QUOTE), "thinking_tokens": 0}, QUOTE, QUOTE),
        ({"output_text": QUOTE}, QUOTE, QUOTE),
        ({"output_text": QUOTE, "thinking_tokens": 0}, QUOTE, QUOTE),
        # two blocks, which have no count
        ({"output_ids": ids("<think>a</think>1 <think>b</think> 2")}, "1 2", "<think>a</think>1 <think>b</think> 2"),
        # the server took the thinking away and counted it
        ({"output_text": "Yes.", "thinking_tokens": 9, "output_tokens": 12, "finish_reason": "length"}, "Yes.", "Yes."),
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


@pytest.mark.parametrize(
    ("seen", "stripped", "kept"),
    [
        ({"output_text": "well</think>Yes."}, "Yes.", "<think>\nwell</think>Yes."),
        ({"output_text": "well, we", "finish_reason": "length"}, "", "<think>\nwell, we"),
        # the server took the thinking away, and the model ended the answer by itself
        ({"output_text": "Yes.", "finish_reason": "eos"}, "Yes.", "Yes."),
        # a server that does not look for thinking tells that there was none
        ({"output_text": "well</think>Yes.", "thinking_tokens": 0}, "Yes.", "<think>\nwell</think>Yes."),
    ],
)
def test_what_the_servers_template_opened_is_known_from_our_own(seen: dict[str, Any], stripped: str, kept: str) -> None:
    opened: Any = Codes("assistant:<think>\n")
    assert earlier("stripped").answer(turn(**seen), opened) == {"content": stripped}
    assert earlier("kept").answer(turn(**seen), opened) == {"content": kept}
    plain: Any = Codes()
    if turn(**seen).output_text != "Yes.":
        assert earlier("stripped").answer(turn(**seen), plain) == {"content": seen["output_text"]}


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        (OUTPUT, "Yes."),
        ("[THINK]well[/THINK]Yes.", "Yes."),
        ("<|channel|>analysis<|message|>well<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "Yes."),
        ("<think>well", ""),
        (QUOTE, QUOTE),
        ("well</think>Yes.", "well</think>Yes."),  # nothing tells that it began in its thinking
    ],
)
def test_an_unknown_targets_thinking_is_known_by_the_mark_that_opens_its_text(text: str, stripped: str) -> None:
    assert earlier("stripped", reads=False).answer(turn(output_text=text), None) == {"content": stripped}
    assert earlier("kept", reads=False).answer(turn(output_text=text), None) == {"content": text}


def test_a_turn_without_text_and_ids_has_no_answer() -> None:
    assert earlier("stripped").answer(turn(), None) is None


def test_later_turns_are_asked_with_it() -> None:
    prompt = Prompt(question_id="q", turns=("one", "two"))
    for reasoning, expected in (("stripped", {}), ("kept", {"reasoning_content": "well"})):
        questions = Questions(None, {("s", "q"): None}, thinking(reasoning, reads=False))  # type: ignore[arg-type]
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
    questions = Questions(None, {}, thinking("stripped"))
    asked = SimpleNamespace(ids=tuple(ids("assistant:")))
    question: Any = asked
    assert questions.told_apart(Observation(output_ids=ids(OUTPUT)), question).thinking_tokens == THOUGHT
    assert questions.told_apart(Observation(output_ids=ids(OUTPUT), thinking_tokens=5), question).thinking_tokens == 5
    assert questions.told_apart(Observation(output_text=OUTPUT), question).thinking_tokens is None
    assert questions.told_apart(Observation(output_ids=ids(OUTPUT), thinking_tokens=0), question).thinking_tokens == (
        THOUGHT
    )
    again = questions.told_apart(Observation(output_ids=ids(f"{OUTPUT}{OUTPUT}")), question)
    assert (again.thinking_tokens, again.details) == (None, {"notes": [UNTOLD]})


@pytest.mark.parametrize("turn_index", [0, 1])
def test_thinking_of_recorded_answers_goes_along_where_it_is_kept(turn_index: int) -> None:
    talk = (
        Message(role="user", content="a"),
        Message(role="assistant", content="one", reasoning_content="well"),
        Message(role="user", content="b"),
        Message(role="assistant", content="two"),
        Message(role="user", content="c"),
    )
    prompt = Prompt(question_id="q", turns=("b", "c"), messages=talk, asked=(3, 5))
    for reasoning, expected in (("stripped", {}), ("kept", {"reasoning_content": "well"})):
        questions = Questions(None, {("s", "q"): None}, thinking(reasoning, reads=False))  # type: ignore[arg-type]
        asked = questions.question("c", "s", prompt, 0, turn_index)
        assert asked is not None
        assert len(asked.messages) == (3, 5)[turn_index]
        assert asked.messages[1] == {"role": "assistant", "content": "one", **expected}
