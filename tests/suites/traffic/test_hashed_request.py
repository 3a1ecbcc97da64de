"""Hashing a request leaves readable what the docs list, and nothing else anywhere."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from draftmark.suites.request_settings import format_problem, tools_problem
from draftmark.suites.traffic.hashed_request import hashed_format, hashed_messages, hashed_tools
from draftmark.suites.traffic.hashed_text import Hasher
from draftmark.suites.traffic.requests import LoggedRequest, logged_request

WORD = "Zaphodberry"


def request(**body: Any) -> LoggedRequest:
    return logged_request({"messages": [{"role": "user", "content": "Go."}], **body})


def tool(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "find", "parameters": schema}, **more}


def hashed(schema: Any, **more: Any) -> dict[str, Any]:
    (found,) = hashed_tools(request(tools=[tool(schema, **more)]), Hasher(b"secret"))
    return found


@pytest.mark.parametrize(
    "said",
    [
        {key: WORD}
        for key in (
            "type", "format", "pattern", "title", "description", "$comment", "$schema", "$id", "$anchor", "$ref",
            "contentEncoding", "contentMediaType", "const", "default", "minimum", "strict", "x-owner", "required",
        )
    ]
    + [
        {"$id": f"https://{WORD}.example/{WORD}.json"},
        {"$ref": f"https://{WORD}.example/s#/x"},
        {"$ref": f"#{WORD}"},
        {"type": ["string", WORD]},
        {"patternProperties": {f"^{WORD}": {"type": "string"}}},
        {"enum": [WORD, WORD, {"type": WORD}]},
        {"examples": [WORD, WORD, [WORD]]},
        {"const": {"required": [WORD], WORD: 1}},
        {"default": {"pattern": WORD}},
        {WORD: {"type": "string"}},
        {"x-owners": {WORD: [WORD]}},
        {"items": [{"allOf": [{"pattern": WORD}]}]},
    ],
)  # fmt: skip
def test_no_word_stays_in_any_place_of_a_schema(said: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"harbour": said}}
    found = hashed(schema)
    assert WORD.lower() not in json.dumps(found).lower()
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    answer = hashed_format(request(response_format=form), Hasher(b"secret"))
    assert WORD.lower() not in json.dumps(answer).lower()
    assert found["function"]["parameters"]["properties"].keys() == {"harbour"}


def test_what_json_schema_says_with_its_own_words_stays() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": ["object", "null"],
        "properties": {"pattern": {"type": "string", "format": "date-time"}, "way": {"$ref": "#/$defs/way"}},
        "required": ["pattern"],
        "$defs": {"way": {"type": "integer", "minimum": 3, "default": None}},
        "additionalProperties": False,
    }
    assert hashed(schema)["function"]["parameters"] == schema


def test_no_word_stays_beside_a_tools_function_and_beside_a_forms_schema() -> None:
    given = tool({}, metadata={WORD: WORD}, owner=WORD)
    given["function"] |= {"description": WORD, "strict": WORD, "team": WORD}
    form = {
        "type": "json_schema", "owner": WORD,
        "json_schema": {"name": WORD, "description": WORD, "schema": {}, "strict": True, "team": WORD},
    }  # fmt: skip
    asked = request(tools=[given], response_format=form)
    tools, answer = hashed_tools(asked, Hasher(b"secret")), hashed_format(asked, Hasher(b"secret"))
    assert WORD.lower() not in json.dumps([tools, answer]).lower()
    assert tools_problem(tools) is None
    assert format_problem(answer) is None
    assert answer is not None
    assert answer["json_schema"]["strict"] is True
    open_form = hashed_format(request(response_format={"type": "json_object", "team": WORD}), Hasher(b"secret"))
    assert WORD not in json.dumps(open_form)


@pytest.mark.parametrize("name", ["SecretMergerAcme", "secret_merger-2", "\u5408\u4f75 plan", "a" * 80])
def test_the_name_of_a_form_becomes_another_that_the_api_takes(name: str) -> None:
    form = {"type": "json_schema", "json_schema": {"name": name, "schema": {}}}
    found = hashed_format(request(response_format=form), Hasher(b"secret"))
    assert found is not None
    assert found["json_schema"]["name"] != name
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", found["json_schema"]["name"])


def test_values_of_an_enum_stay_as_many_and_equal_ones_equal() -> None:
    letters = [*"abcdefghijklmnopqrstuvwxyz", "a"]
    found = hashed({"properties": {"x": {"enum": letters}}})["function"]["parameters"]["properties"]["x"]["enum"]
    assert len(set(found)) == 26
    assert found[0] == found[-1]


def test_no_word_stays_in_messages_but_names_of_tools_and_parameters() -> None:
    call = {"id": WORD, "type": "function", "function": {"name": "find", "arguments": json.dumps({"at": 1, WORD: 2})}}
    talk = [
        {"role": "user", "content": WORD, "name": WORD, "metadata": {"a": WORD}},
        {"role": "assistant", "content": None, "tool_calls": [call], "name": WORD, "reasoning": WORD},
        {"role": "tool", "content": json.dumps({WORD: {"at": WORD}}), "tool_call_id": WORD, "name": WORD},
        {"role": "tool", "content": WORD, "tool_call_id": WORD, "name": "find"},
    ]
    asked = logged_request({"messages": talk, "user": WORD, "tools": [tool({"properties": {"at": {}}})]})
    found = hashed_messages(asked, Hasher(b"secret"))
    assert WORD.lower() not in repr(found).lower()
    assert found[1].reasoning_content == found[0].content  # the same word, and another one
    calls = found[1].tool_calls
    assert calls is not None
    assert (calls[0].name, found[3].name) == ("find", "find")
    assert next(iter(json.loads(calls[0].arguments))) == "at"


@pytest.mark.parametrize(
    "said",
    ['{"at": "Dover", "at": "Calais"}', '{"at": NaN}', '{"depth": 1e999}'],
    ids=["a key twice", "no number", "not finite"],
)
def test_what_is_not_strict_json_is_hashed_as_text_and_loses_nothing(said: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    talk = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": said, "tool_call_id": "c"},
    ]
    (_, _, told) = hashed_messages(logged_request({"messages": talk}), Hasher(b"secret"))
    assert told.content == Hasher(b"secret").text(said)
    assert told.content is not None
    assert len(told.content) == len(said)
