"""What one turn is sent as: ids or messages, and what its request has besides."""

from __future__ import annotations

from typing import Any

import pytest

from draftmark.backends.base import Asks, TurnFailed, TurnRequest
from draftmark.backends.http.backend import HttpSettings
from draftmark.backends.http.dialects import dialect_of
from draftmark.backends.http.questions import Asked, request_of
from draftmark.backends.http.spec import OpenaiSpec
from draftmark.backends.reference import ReferenceSpec
from draftmark.backends.servers.sglang import SglangServerSpec
from draftmark.backends.servers.vllm import VllmServerSpec
from draftmark.results.records import Sampling

TOOL = {"type": "function", "function": {"name": "look"}}
FORM = {"type": "json_object"}
SAID = ({"role": "user", "content": "a"},)


def asked(dialect: str, send: str = "auto", ids: tuple[int, ...] | None = (5, 6), **more: Any) -> Asked:
    settings = HttpSettings(base_url="http://127.0.0.1:1", model="m", send=send, **more.pop("settings", {}))
    sampling = more.pop("sampling", Sampling())
    request = TurnRequest(ids, sampling, 1, messages=SAID, **more)
    return request_of(request, settings, dialect_of(dialect), drafts=False)


def test_tools_go_with_messages_and_are_in_the_ids_already() -> None:
    chat = asked("openai", tools=(TOOL,))
    assert (chat.path, chat.body["tools"]) == ("/v1/chat/completions", [TOOL])
    beside = asked("sglang", tools=(TOOL,))
    assert (beside.path, beside.body["prompt"], "tools" in beside.body) == ("/v1/completions", [5, 6], False)


def test_a_form_goes_beside_ids_to_vllm_and_with_messages_to_others() -> None:
    assert asked("vllm", response_format=FORM).path == "/v1/completions"
    for dialect in ("openai", "sglang", "trtllm", "llamacpp"):
        found = asked(dialect, response_format=FORM, tools=(TOOL,))
        assert (found.path, found.body["response_format"]) == ("/v1/chat/completions", FORM)
        assert found.body["tools"] == [TOOL]
        with pytest.raises(TurnFailed, match=f"the dialect here is {dialect}"):
            asked(dialect, send="ids", response_format=FORM)


def test_what_a_request_had_goes_before_the_plans_extra_body() -> None:
    more = {"extra_body": {"response_format": {"type": "text"}, "min_p": 0.1}}
    assert asked("vllm", response_format=FORM, settings=more).body["response_format"] == FORM
    assert asked("vllm", settings=more).body["response_format"] == {"type": "text"}


def spec(**settings: Any) -> OpenaiSpec:
    return OpenaiSpec(base_url="http://127.0.0.1:1", model="m", **settings)


@pytest.mark.parametrize(
    ("backend", "asks", "sentence"),
    [
        (ReferenceSpec(), Asks(prompts_with_form=("q",)), "the reference engine cannot hold answers to a form"),
        (ReferenceSpec(), Asks(own_template=True), None),
        (spec(send="ids"), Asks(prompts_with_form=("q",)), "or name the dialect: vllm"),
        (spec(send="ids", dialect="vllm"), Asks(prompts_with_form=("q",), own_template=True), None),
        (spec(), Asks(prompts_with_form=("q",)), None),
        (spec(), Asks(own_template=True), "chat_template names a file"),
        (spec(dialect="sglang"), Asks(own_template=True), None),
        (spec(dialect="sglang"), Asks(own_template=True, prompts_with_form=("q",)), "chat_template names a file"),
        (spec(send="messages", dialect="vllm"), Asks(own_template=True), "chat_template names a file"),
        (VllmServerSpec(), Asks(own_template=True, prompts_with_form=("q",)), None),
        (SglangServerSpec(), Asks(own_template=True, prompts_with_form=("q",)), "chat_template names a file"),
    ],
)
def test_what_a_backend_cannot_be_asked_is_said_before_it_starts(
    backend: Any, asks: Asks, sentence: str | None
) -> None:
    said = backend.request_problem(asks)
    assert said is None if sentence is None else sentence in said


def test_the_reference_engine_names_the_prompts_that_ask_for_a_form() -> None:
    said = ReferenceSpec().request_problem(Asks(prompts_with_form=tuple("abcdefg"))) or ""
    assert "which 7 prompts of this plan ask for (a, b, c, d, e and 2 more)" in said
    assert "--without response_format" in said


@pytest.mark.parametrize(
    ("backend", "messages"),
    [
        (ReferenceSpec(), False),
        (spec(send="messages"), True),
        (spec(send="messages", dialect="vllm"), True),
        (spec(dialect="openai"), True),
        (spec(), False),
        (spec(dialect="vllm"), False),
        (spec(send="ids", dialect="openai"), False),
        (VllmServerSpec(), False),
    ],
)
def test_it_is_known_before_whether_all_turns_go_as_messages(backend: Any, messages: bool) -> None:
    assert backend.asked_in_messages() is messages
