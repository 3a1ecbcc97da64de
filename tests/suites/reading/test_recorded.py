"""Requests with roles: turns, recorded answers, and what cannot be put to an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from draftmark.suites.conversation import messages, recorded
from draftmark.suites.loaders.jsonl import JsonlSpec
from draftmark.suites.prompt import Message, Prompt, Suite, SuiteError

if TYPE_CHECKING:
    from pathlib import Path


def said(*pairs: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in pairs]


def loaded(tmp_path: Path, *rows: dict[str, Any]) -> tuple[Prompt, ...]:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps({"question_id": f"q{n}", **row}) + "\n" for n, row in enumerate(rows)))
    return JsonlSpec(path=str(path)).load(None).prompts


def test_a_recorded_answer_stays_between_the_users_messages_and_one_call_is_made(tmp_path: Path) -> None:
    talk = said(("system", "Be brief."), ("user", "Name a river."), ("assistant", "The Po."), ("user", "Another?"))
    (prompt,) = loaded(tmp_path, {"messages": talk})
    assert prompt.turns == ("Another?",)
    assert prompt.asked == (4,)
    assert messages(prompt, []) == talk


def test_several_turns_of_a_recorded_conversation_each_follow_what_was_recorded(tmp_path: Path) -> None:
    talk = said(("user", "one"), ("assistant", "recorded"), ("user", "two"), ("assistant", "unused"))
    (prompt,) = loaded(tmp_path, {"messages": talk, "asked": [1, 3]})
    assert prompt.turns == ("one", "two")
    assert messages(prompt, ["the model's own"]) == talk[:3]
    assert recorded(prompt, 0) == talk[:1]


def test_messages_of_the_user_alone_are_turns_with_the_models_own_answers_between(tmp_path: Path) -> None:
    talk = said(("system", "s"), ("user", "one"), ("user", "two"))
    (prompt,) = loaded(tmp_path, {"messages": talk})
    assert (prompt.system, prompt.turns, prompt.messages) == ("s", ("one", "two"), None)


def test_messages_may_be_one_string_and_content_a_list_of_text_parts(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Read "}, {"type": "text", "text": "this."}]
    first, second = loaded(tmp_path, {"messages": "thirteen chrs"}, {"messages": said(("user", parts))})
    assert first.turns == ("thirteen chrs",)
    assert second.turns == ("Read this.",)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"messages": []}, "messages is empty"),
        ({"messages": 7}, "messages is a number"),
        ({"messages": ["hello"]}, r"messages\[0\] is a string; it must be an object with role and content"),
        ({"messages": said(("user", "a"), ("assistant", "b"))}, "messages end with a message of the assistant"),
        ({"messages": said(("user", " "))}, r"messages\[0\].content is empty"),
        ({"messages": said(("robot", "a"))}, r"messages\[0\].role is 'robot'"),
        ({"messages": said(("user", "a"), ("tool", "b"), ("user", "c"))}, r"messages\[1\] is a tool's call or answer"),
        ({"messages": said(("user", [{"type": "image_url"}]))}, "a part of type 'image_url'; suites are text alone"),
        ({"messages": said(("user", "a")), "tools": [{"type": "function"}]}, "has tools, which a run cannot hand"),
        ({"messages": said(("user", "a")), "system": "s"}, "has both messages and system"),
        ({"messages": said(("user", "a")), "asked": [2]}, "asked must rise from 1 to at most 1"),
        ({"messages": said(("user", "a"), ("assistant", "b")), "asked": [2]}, r"messages\[1\] is not the user's"),
        ({"messages": said(("user", "a")), "asked": [True]}, "asked must be a list of whole numbers"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_message(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    with pytest.raises(SuiteError, match=rf"line 2: .*{fault}"):
        loaded(tmp_path, {"turns": "fine"}, row)


def test_conversations_that_end_alike_are_no_repeats(tmp_path: Path) -> None:
    rows = [{"messages": said(("user", f"{n}"), ("assistant", "ok"), ("user", "go on"))} for n in range(4)]
    assert len(loaded(tmp_path, *rows)) == 4


def test_the_hash_of_prompts_without_messages_is_that_of_before_there_were_any() -> None:
    suite = Suite(name="s", prompts=(Prompt(question_id="a", turns=("x",)),))
    # sha256 of [{"category":null,"difficulty":null,"prompt_tokens":null,"question_id":"a","source":null,
    # "src_id":null,"sub_category":null,"system":null,"turns":["x"]}] in one line without spaces
    assert suite.hash == "5ab4e1dd0a7da67243b4f7eb4029583395a54f457bc74784f427d050e0d04482"


def test_recorded_answers_are_part_of_the_hash() -> None:
    def suite(answer: str) -> Suite:
        talk = tuple(Message(role=role, content=text) for role, text in (("user", "a"), ("assistant", answer), ("user", "b")))  # type: ignore[arg-type]  # fmt: skip  # noqa: E501
        return Suite(name="s", prompts=(Prompt(question_id="a", turns=("b",), messages=talk, asked=(3,)),))

    assert suite("yes").hash != suite("no").hash


def test_turns_that_are_not_in_the_messages_are_refused() -> None:
    talk = (Message(role="user", content="a"),)
    with pytest.raises(ValidationError, match="turns must be the messages that asked ends with"):
        Prompt(question_id="a", turns=("b",), messages=talk, asked=(1,))
    with pytest.raises(ValidationError, match="messages and asked go together"):
        Prompt(question_id="a", turns=("a",), messages=talk)
