"""Requests with roles: turns, recorded answers, and what cannot be put to an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from draftmark.results.records import Sampling
from draftmark.suites.conversation import messages, recorded
from draftmark.suites.loaders.jsonl import JsonlSpec
from draftmark.suites.prompt import Message, Prompt, Suite, SuiteError

if TYPE_CHECKING:
    from pathlib import Path


def said(*pairs: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in pairs]


def calling(arguments: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


CALL = calling('{"at": "door"}')
ANSWER = {"role": "tool", "content": "shut", "tool_call_id": "c1"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


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
        ({"messages": said(("user", "a"), ("tool", "b"), ("user", "c"))}, r"messages\[1\].tool_call_id is missing"),
        ({"messages": said(("user", "a"), ("function", "b"))}, r"messages\[1\] is a function's call or answer"),
        (
            {"messages": [*said(("user", "a")), CALL | {"tool_calls": "x"}, ANSWER]},
            r"messages\[1\].tool_calls is a str",
        ),
        ({"messages": [*said(("user", "a")), calling("{"), ANSWER]}, r"tool_calls\[0\].function.arguments is not JSON"),
        ({"messages": [*said(("user", "a")), CALL]}, "messages end with a message of the assistant"),
        ({"turns": "a", "tools": [{"type": "web_search"}]}, r"tools\[0\] is no function"),
        ({"turns": "a", "tools": "look"}, "tools is a string that is not JSON"),
        ({"turns": "a", "tool_choice": "required"}, "has a tool_choice, which a run cannot hand"),
        ({"turns": "a", "response_format": {"type": "grammar"}}, "response_format is of type 'grammar'"),
        ({"turns": "a", "response_format": {"type": "json_schema"}}, "needs json_schema: an object with a schema"),
        (
            {"turns": "a", "sampling": {"temperature": -1}},
            "sampling.temperature: input should be greater than or equal to 0",
        ),
        ({"turns": "a", "sampling": {"seed": 1}}, "sampling.seed: extra inputs are not permitted"),
        ({"messages": said(("user", [{"type": "image_url"}]))}, "a part of type 'image_url'; suites are text alone"),
        ({"messages": said(("user", "a")), "tools": [{"type": "function"}]}, r"tools\[0\] is no function"),
        ({"messages": said(("user", "a")), "system": "s"}, "has both messages and system"),
        ({"messages": said(("user", "a")), "asked": [2]}, "asked must rise from 1 to at most 1"),
        (
            {"messages": said(("user", "a"), ("assistant", "b")), "asked": [2]},
            r"messages\[1\] is neither the user's nor a tool's",
        ),
        ({"messages": said(("user", "a")), "asked": [True]}, "asked must be a list of whole numbers"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_message(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    with pytest.raises(SuiteError, match=rf"line 2: .*{fault}"):
        loaded(tmp_path, {"turns": "fine"}, row)


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


HALF = "\ud800"
STEPS = [*said(("user", "a")), CALL, ANSWER]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"messages": [*STEPS[:1], calling(r'{"a": "\ud800"}'), ANSWER]}, r"function.arguments holds half of a surr"),
        ({"messages": [*STEPS[:1], calling({"a": HALF}), ANSWER]}, r"function.arguments holds half of a surrogate"),
        ({"messages": [*STEPS[:1], calling('{"a": NaN}'), ANSWER]}, r"function.arguments is not JSON: NaN"),
        ({"messages": [*STEPS[:1], calling('{"a": 1e999}'), ANSWER]}, r"arguments holds a number that is not finite"),
        ({"messages": [*STEPS[:1], calling('{"a": 1, "a": 2}'), ANSWER]}, r"arguments has the key 'a' twice"),
        ({"messages": [*STEPS[:1], calling(0), ANSWER]}, r"arguments is a number; it must be an object"),
        ({"messages": [*STEPS[:1], calling(False), ANSWER]}, r"arguments is true or false; it must be an object"),
        ({"messages": [*STEPS[:1], calling("[1]"), ANSWER]}, r"arguments is the text of a list; it must be an object"),
        ({"messages": [*STEPS[:1], calling(nested(101)), ANSWER]}, r"arguments is nested more than 100 deep"),
        ({"messages": [*STEPS[:1], calling("[" * 3000), ANSWER]}, r"arguments is nested more than 100 deep"),
        ({"messages": [*STEPS[:2], ANSWER | {"name": HALF}]}, r"messages\[2\].name holds half of a surrogate"),
        ({"messages": [*STEPS[:2], ANSWER | {"tool_call_id": HALF}]}, r"messages\[2\].tool_call_id holds half"),
        (
            {"messages": [*STEPS[:1], CALL | {"tool_calls": [CALL["tool_calls"][0] | {"id": HALF}]}, ANSWER]},
            r"tool_calls\[0\].id holds half of a surrogate",
        ),
        (
            {"messages": [*STEPS[:2], ANSWER | {"tool_call_id": "c2"}]},
            r"tool_call_id 'c2' names no call that",
        ),
        (
            {"messages": [STEPS[0], ANSWER, *STEPS[1:]]},
            r"messages\[1\].tool_call_id 'c1' names no call that",
        ),
        (
            {"messages": said(("user", [{"type": ["text"], "text": "a"}]))},
            r"a part of type \['text'\]",
        ),
        ({"messages": said(("user", [{"type": {}, "text": "a"}]))}, r"a part of type {}; suites are text"),
        ({"turns": "a", "tools": 0}, "tools is no list"),
        ({"turns": "a", "tools": {}}, "tools is no list"),
        (
            {"turns": "a", "tools": [{"function": {"name": "f", "x": nested(99)}}]},
            r"tools\[0\] is nested",
        ),
        ({"turns": "a", "tools": [{"function": {"name": HALF}}]}, r"tools\[0\] holds half of a surrogate"),
        ({"turns": "a", "response_format": False}, "response_format is no object"),
        ({"turns": "a", "response_format": 0}, "response_format is no object"),
        ({"turns": "a", "response_format": {}}, "response_format is of type None"),
        ({"turns": "a", "response_format": {"type": {"a": 1}}}, "response_format is of type {'a': 1}"),
        (
            {"turns": "a", "response_format": '{"type": "json_object", "x": 1e999}'},
            "response_format is a string that holds a number that is not finite",
        ),
        ({"turns": "a", "sampling": {"max_tokens": 2**31}}, "sampling.max_tokens: input should be less than or equal"),
        ({"turns": "a", "sampling": {"top_k": 10**30}}, "sampling.top_k: input should be less than or equal"),
        ({"turns": "a", "sampling": {"stop": [HALF]}}, "sampling holds half of a surrogate"),
        ({"turns": "a", "tool": [TOOL]}, "has no key 'tools' but one called 'tool'; did you mean"),
        ({"turns": "a", "respons_format": {}}, "has no key 'response_format' but one called 'respons_format'"),
        ({"turns": "a", "samplng": {}}, "has no key 'sampling' but one called 'samplng'"),
        ({"message": said(("user", "a"))}, "has no key 'messages' but one called 'message'"),
    ],
)
def test_what_no_engine_could_take_is_refused_by_name(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    with pytest.raises(SuiteError, match=rf"line 2: .*{fault}"):
        loaded(tmp_path, {"turns": "fine"}, row)


def test_a_number_that_json_has_no_word_for_is_refused_in_an_answers_form(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": 1, "turns": "a", "response_format": {"type": "json_object", "x": 1e999}}\n')
    with pytest.raises(SuiteError, match="line 1: response_format holds a number that is not finite"):
        JsonlSpec(path=str(path)).load(None)


LONG = "x" * 10**6


@pytest.mark.parametrize(
    "row",
    [
        {"messages": said((LONG, "a"))},
        {"messages": said(("user", [{"type": LONG}]))},
        {"turns": "a", "response_format": {"type": LONG}},
        {"turns": "a", "sampling": {LONG: 1}},
        {"messages": [*STEPS[:2], ANSWER | {"tool_call_id": LONG}]},
        {"messages": [*STEPS[:1], calling(f'{{"{LONG}": 1, "{LONG}": 2}}'), ANSWER]},
    ],
)
def test_what_is_quoted_is_cut(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(SuiteError, match="line 1") as caught:
        loaded(tmp_path, row)
    assert len(str(caught.value)) < 1000


def test_an_answer_may_be_to_a_call_without_an_id_and_what_is_deep_enough_passes(tmp_path: Path) -> None:
    call = {"type": "function", "function": {"name": "look", "arguments": nested(100)}}
    (prompt,) = loaded(tmp_path, {"messages": [*STEPS[:1], CALL | {"tool_calls": [call]}, ANSWER]})
    assert prompt.turns == ("shut",)


def test_columns_that_only_look_like_messages_are_no_misspelling_beside_turns(tmp_path: Path) -> None:
    assert len(loaded(tmp_path, {"turns": "a", "message": "b", "response": "c"})) == 1


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


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_the_thinking_of_a_recorded_answer_stays_on_its_message(tmp_path: Path, key: str) -> None:
    talk = [*said(("user", "a"), ("assistant", "yes"), ("user", "b")), CALL, ANSWER]
    plain, thinking = (
        loaded(tmp_path, {"messages": [talk[0], talk[1] | more, talk[2], talk[3] | more, talk[4]]})[0]
        for more in ({}, {key: "well"})
    )
    assert plain.messages is not None
    assert thinking.messages is not None
    assert [one.reasoning_content for one in thinking.messages] == [None, "well", None, "well", None]
    assert recorded(thinking, 0) == recorded(plain, 0) == talk
    kept = recorded(thinking, 0, reasoning=True)
    assert kept == [talk[0], talk[1] | {"reasoning_content": "well"}, talk[2], talk[3] | {"reasoning_content": "well"}, talk[4]]  # fmt: skip  # noqa: E501
    assert Suite(name="s", prompts=(plain,)).hash != Suite(name="s", prompts=(thinking,)).hash


def test_the_thinking_of_a_recorded_answer_is_text(tmp_path: Path) -> None:
    talk = said(("user", "a"), ("assistant", "yes"), ("user", "b"))
    with pytest.raises(SuiteError, match=r"messages\[1\].reasoning is a list; it must be a string"):
        loaded(tmp_path, {"messages": [talk[0], talk[1] | {"reasoning": ["well"]}, talk[2]]})
    blank = [talk[0] | {"reasoning": 1}, talk[1] | {"reasoning_content": " "}, talk[2]]
    assert loaded(tmp_path, {"messages": blank}) == loaded(tmp_path, {"messages": talk})


def test_a_tools_answer_is_answered_and_calls_go_out_as_they_were_recorded(tmp_path: Path) -> None:
    talk = [*said(("user", "Is it shut?")), CALL, ANSWER]
    (prompt,) = loaded(tmp_path, {"messages": talk, "tools": [TOOL]})
    assert (prompt.turns, prompt.asked, prompt.tools) == (("shut",), (3,), (TOOL,))
    assert messages(prompt, []) == talk


def test_arguments_may_be_an_object_and_a_tools_answer_empty(tmp_path: Path) -> None:
    talk = [*said(("user", "a")), calling({"at": "door"}), ANSWER | {"content": ""}]
    (prompt,) = loaded(tmp_path, {"messages": talk})
    assert prompt.turns == ("",)
    assert messages(prompt, [])[1] == CALL


def test_tools_format_and_sampling_of_a_request_may_stand_beside_turns_or_be_json_in_a_text(tmp_path: Path) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    row = {"turns": "a", "tools": json.dumps([TOOL]), "response_format": form, "sampling": {"top_k": 4, "stop": ["x"]}}
    (prompt,) = loaded(tmp_path, row)
    assert (prompt.tools, prompt.response_format) == ((TOOL,), form)
    assert prompt.sampling is not None
    over = prompt.sampling.over(Sampling(temperature=0.5, max_tokens=9))
    assert over == Sampling(temperature=0.5, max_tokens=9, top_k=4, stop=("x",))


def test_what_asks_for_nothing_is_null_and_the_hash_that_of_before(tmp_path: Path) -> None:
    row = {"turns": "x", "tools": [], "response_format": {"type": "text"}, "sampling": {}, "tool_choice": "auto"}
    (prompt,) = loaded(tmp_path, row)
    assert Suite(name="s", prompts=(prompt,)).hash == Suite(name="s", prompts=loaded(tmp_path, {"turns": "x"})).hash


@pytest.mark.parametrize(
    "more", [{"tools": [TOOL]}, {"response_format": {"type": "json_object"}}, {"sampling": {"top_k": 1}}]
)
def test_each_of_them_is_part_of_the_hash(tmp_path: Path, more: dict[str, Any]) -> None:
    plain, other = (Suite(name="s", prompts=loaded(tmp_path, {"turns": "x", **row})) for row in ({}, more))
    assert plain.hash != other.hash
