"""How much of an answer was thinking: pieces made by hand, and a mock whose truth is known."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import TurnRequest
from draftmark.backends.http.backend import HttpBackend, HttpSettings
from draftmark.backends.http.dialects import dialect_of
from draftmark.backends.http.exchange import Exchange
from draftmark.backends.http.questions import request_of
from draftmark.backends.http.reading import read_answer
from draftmark.backends.http.thinking import thinking_tokens
from draftmark.backends.mock import MockSettings, mock_process
from draftmark.results.columns import CellColumns
from draftmark.results.metrics import measure
from draftmark.results.metrics.evidence import Evidence
from draftmark.results.records import Arm, Sampling, TurnRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.backends.http.answer import Answer

THOUGHT, ANSWER, BOTH, MARK = (True, False), (False, True), (True, True), (False, False)


def counted(*pieces: tuple[tuple[bool, bool], int | None], told: int | None = None, total: int = 12) -> int | None:
    return thinking_tokens(
        [(thinks, answers, tokens) for (thinks, answers), tokens in pieces], told=told, total=total, whole=False
    )


def test_thinking_is_what_came_before_the_answer_with_its_mark() -> None:
    assert counted((THOUGHT, 2), (THOUGHT, 4), (ANSWER, 5), (ANSWER, 1)) == 6
    assert counted((THOUGHT, 2), (THOUGHT, 4), (MARK, 1), (ANSWER, 5)) == 7


def test_a_piece_of_both_parts_is_divided_by_the_servers_own_count_alone() -> None:
    pieces = ((THOUGHT, 2), (BOTH, 4), (ANSWER, 6))
    assert counted(*pieces) is None
    assert counted(*pieces, told=5) == 5
    assert counted(*pieces, told=7) is None  # it says more than the piece can hold


def test_thinking_that_never_ended_is_all_of_the_output() -> None:
    assert counted((THOUGHT, 2), (THOUGHT, None), total=12) == 12


def test_what_a_server_does_not_tell_is_not_known() -> None:
    assert counted((ANSWER, 12)) is None  # it may have no parser for thinking
    assert counted((ANSWER, 12), told=0) == 0
    assert counted((THOUGHT, None), (ANSWER, 3)) is None
    assert counted((THOUGHT, None), (ANSWER, 3), told=9) == 9
    assert counted((THOUGHT, 2), (ANSWER, 3), (THOUGHT, 2), (ANSWER, 5), told=4) is None  # it thought again


def chat(*deltas: dict[str, Any], finish: str = "stop", total: int = 9) -> Answer:
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta}]} | more for delta, more in _split(deltas)
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    events.append({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": total}})
    reads = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]
    exchange = Exchange(sent_s=0.0, status=200)
    exchange.read_s, exchange.reads = [float(index) for index in range(len(reads))], reads
    return read_answer(exchange, chat=True)


def _split(deltas: tuple[dict[str, Any], ...]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Part the running count `n` from what the delta says."""
    return [
        (
            {key: value for key, value in delta.items() if key != "n"},
            {"usage": {"completion_tokens": delta["n"]}} if "n" in delta else {},
        )
        for delta in deltas
    ]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_running_counts_tell_how_long_a_stream_thought(key: str) -> None:
    found = chat({key: "so", "n": 2}, {key: " then", "n": 5}, {"content": "Yes", "n": 7}, {"content": ".", "n": 9})
    assert found.thinking_tokens == 5
    assert chat({key: "so"}, {"content": "Yes"}).thinking_tokens is None


def test_a_stream_cut_while_thinking_thought_all_along() -> None:
    assert chat({"reasoning": "so"}, {"reasoning": " then"}, finish="length", total=9).thinking_tokens == 9


def test_a_call_of_a_tool_ends_thinking() -> None:
    call = [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]
    assert chat({"reasoning": "so", "n": 4}, {"tool_calls": call, "n": 9}).thinking_tokens == 4


def measured(settings: MockSettings, tokens: int) -> tuple[TurnRecord, dict[str, Any], Any]:
    """One chat with a mock of D = 3: its record, the server's truth, and the metrics."""
    arm = Arm(drafter="ngram", draft_length=3)
    messages = ({"role": "user", "content": "say it"},)
    request = TurnRequest(None, Sampling(max_tokens=tokens, ignore_eos=True), 1, messages=messages)
    with mock_process(settings) as url:
        backend = HttpBackend(HttpSettings(base_url=url, model="mock-model"))
        backend.start([arm])
        seen = asyncio.run(backend.generate(arm, request))
        backend.stop()
        with urllib.request.urlopen(f"{url}/truth") as page:  # noqa: S310 - a server of our own on the loopback
            (truth,) = json.load(page)["requests"]
    turn = TurnRecord.model_validate({**dict(seen), "cell_id": "c", "question_id": "q", "prompt_hash": "h"})
    return turn, truth, measure(Evidence(CellColumns.from_turns([turn]), "ngram", 3))


def test_acceptance_of_thinking_and_answer_is_the_servers_truth() -> None:
    # Steps begin with tokens 1, 5, 6, 9, 13, 14, 17; the first 6 tokens are thinking, and the third step answers.
    turn, truth, found = measured(
        MockSettings(ttft_s=0.001, step_s=0.001, draft_length=3, accepted_cycle=(3, 0, 2), reasoning_tokens=6), 21
    )
    assert truth["accepted"] == [3, 0, 2, 3, 0, 2, 3]
    assert turn.thinking_tokens == 6
    assert found["acceptance_length@thinking"].value == (4 + 1) / 2
    assert found["acceptance_length@answer"].value == (3 + 4 + 1 + 3 + 4) / 5
    assert found["acceptance_length"].value == 20 / 7


def test_a_mock_that_only_thinks_answers_nothing() -> None:
    turn, _, found = measured(
        MockSettings(ttft_s=0.001, step_s=0.001, draft_length=3, accepted_cycle=(3,), reasoning_tokens=99), 9
    )
    assert turn.thinking_tokens == 9
    assert found["acceptance_length@thinking"].value == 4
    assert found["acceptance_length@answer"].reason == "every decode step lies in the thinking"


def test_counts_without_an_order_do_not_tell_the_parts_apart() -> None:
    settings = MockSettings(
        ttft_s=0.001, step_s=0.001, draft_length=3, accepted_cycle=(3, 0, 2), reasoning_tokens=6, per_request="summary"
    )
    turn, _, found = measured(settings, 21)
    assert turn.thinking_tokens == 6
    assert found["acceptance_length"].value is not None
    assert "where in the answer its steps lie" in str(found["acceptance_length@thinking"].reason)


# Asking a server to think

OPTIONS = {"enable_thinking": False, "thinking": False}


def body(
    dialect: str, options: dict[str, Any], *, ids: tuple[int, ...] | None = None, **settings: Any
) -> dict[str, Any]:
    messages = ({"role": "user", "content": "say it"},)
    request = TurnRequest(ids, Sampling(), 1, messages=messages, template_options=options)
    asked = HttpSettings(base_url="http://127.0.0.1:9", model="m", **settings)
    return request_of(request, asked, dialect_of(dialect), drafts=False).body


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llamacpp"])
def test_switches_go_to_the_servers_template(dialect: str) -> None:
    assert body(dialect, OPTIONS)["chat_template_kwargs"] == OPTIONS
    assert "chat_template_kwargs" not in body(dialect, {})
    assert "chat_template_kwargs" not in body(dialect, OPTIONS, ids=(1, 2))  # rendered already


def test_a_server_that_refuses_names_its_template_does_not_read_is_sent_one_of_two() -> None:
    assert body("trtllm", OPTIONS)["chat_template_kwargs"] == {"enable_thinking": False}
    assert body("trtllm", {"thinking": False})["chat_template_kwargs"] == {"thinking": False}


@pytest.mark.parametrize("dialect", ["openai", "vllm", "sglang", "trtllm", "llamacpp"])
def test_how_long_to_think_has_a_key_of_the_api(dialect: str) -> None:
    found = body(dialect, {"reasoning_effort": "low"})
    assert found["reasoning_effort"] == "low"
    assert "chat_template_kwargs" not in found


def test_a_word_that_only_a_template_knows_goes_to_the_template() -> None:
    for word in ("no_think", "max", "none"):
        found = body("vllm", {"reasoning_effort": word})
        assert found["chat_template_kwargs"] == {"reasoning_effort": word}
        assert "reasoning_effort" not in found


def test_other_options_of_the_users_own_stay() -> None:
    found = body("vllm", {"thinking": True}, extra_body={"chat_template_kwargs": {"language": "de"}})
    assert found["chat_template_kwargs"] == {"language": "de", "thinking": True}


def test_a_server_that_has_no_switch_says_so_once_it_is_known(unknown_server: str) -> None:
    backend = HttpBackend(HttpSettings(base_url=unknown_server, model="mock-model"))
    backend.look()
    assert "takes nothing for a chat template (enable_thinking, thinking) but how long to think" in str(
        backend.thinking_problem(OPTIONS, kept=False, ids=False)
    )
    assert "no thinking of earlier answers" in str(backend.thinking_problem({}, kept=True, ids=True))
    assert backend.thinking_problem({}, kept=False, ids=False) is None
    sends_ids = HttpBackend(HttpSettings(base_url=unknown_server, model="mock-model", send="ids"))
    assert sends_ids.thinking_problem(OPTIONS, kept=True, ids=True) is None


@pytest.fixture
def unknown_server() -> Iterator[str]:
    with mock_process(MockSettings(dialect="openai", ttft_s=0.001, step_s=0.001)) as url:
        yield url
