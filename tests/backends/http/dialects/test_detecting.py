"""Which dialect a server speaks, by what it answers to a few GETs, and what every dialect declares."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from draftmark.backends.base import BackendError
from draftmark.backends.http.answer import Answer
from draftmark.backends.http.dialects import DIALECTS, dialect_of
from draftmark.backends.http.dialects.counting import Counting
from draftmark.backends.http.dialects.detecting import detect


def models(owner: str) -> tuple[int, bytes]:
    return 200, json.dumps({"object": "list", "data": [{"id": "m", "owned_by": owner}]}).encode()


def page(**keys: Any) -> tuple[int, bytes]:
    return 200, json.dumps(keys).encode()


def detected(found: dict[str, tuple[int | None, bytes]]) -> str:
    """The dialect of a server that gives these pages, and 404 for any other."""

    async def get(path: str) -> tuple[int | None, bytes]:
        return found.get(path, (404, b""))

    return asyncio.run(detect(get))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"/v1/models": models("vllm")}, "vllm"),
        ({"/v1/models": models("sglang")}, "sglang"),
        ({"/v1/models": models("tensorrt_llm")}, "trtllm"),
        ({"/v1/models": models("llamacpp")}, "llamacpp"),
        ({"/v1/models": models("somebody")}, "openai"),
        ({"/v1/models": models("proxy"), "/metrics": (200, b'# x\nvllm:num_requests{a="b"} 1\n')}, "vllm"),
        ({"/metrics": (200, b"sglang:token_usage 0.5\n")}, "sglang"),
        ({"/metrics": (200, b"vllm:a 1\nsglang:b 1\n")}, "openai"),
        ({"/metrics": (200, b'[{"iter": 1, "inflightBatchingStats": {}}]')}, "trtllm"),
        ({"/metrics": (200, b"[]")}, "openai"),
        ({"/props": page(default_generation_settings={})}, "llamacpp"),
        ({"/server_info": page(vllm_config="VllmConfig(...)")}, "vllm"),
        ({"/server_info": page(internal_states=[{}])}, "sglang"),
        ({"/get_server_info": page(speculative_eagle_topk=None)}, "sglang"),
        ({"/v1/models": (401, b'{"data": [{"owned_by": "vllm"}]}')}, "openai"),
        ({"/v1/models": (200, b"<html>"), "/props": (None, b"")}, "openai"),
        ({}, "openai"),
    ],
)
def test_a_server_is_known_by_what_it_says(found: dict[str, tuple[int | None, bytes]], expected: str) -> None:
    assert detected(found) == expected


def test_a_server_that_names_itself_is_asked_nothing_more() -> None:
    asked: list[str] = []

    async def get(path: str) -> tuple[int | None, bytes]:
        asked.append(path)
        return models("tensorrt_llm")

    assert asyncio.run(detect(get)) == "trtllm"
    assert asked == ["/v1/models"]


def test_an_unknown_server_speaks_plain_openai() -> None:
    async def get(path: str) -> tuple[int | None, bytes]:
        return 404, b""

    assert asyncio.run(detect(get)) == "openai"


def test_an_unknown_dialect_is_an_error_that_names_the_known() -> None:
    with pytest.raises(BackendError, match="known are openai, vllm, sglang, trtllm, llamacpp"):
        dialect_of("ollama")


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_asks_streams_for_their_tokens(name: str) -> None:
    asked = dialect_of(name).body({"stream": True, "model": "m"}, drafts=True)
    assert asked["stream_options"]["include_usage"] is True
    assert "stream_options" not in dialect_of(name).body({"model": "m"}, drafts=True)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("junk", [[], [{}], [{"choices": None}], [{"timings": 1, "metrics": 2, "sglext": 3}]])
def test_every_dialect_says_why_an_answer_tells_nothing_of_drafting(name: str, junk: list[dict[str, Any]]) -> None:
    found = dialect_of(name).acceptance(Answer(output_tokens=5, raw=junk), drafts=True)
    assert found.steps is None
    assert found.reasons


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_bears_a_server_that_tells_nothing_of_itself(name: str) -> None:
    dialect = dialect_of(name)
    assert dialect.resolved({}) == {}
    assert dialect.resolved({path: [] for path in dialect.info_paths}) == {}


@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_dialect_gives_has_a_source(name: str) -> None:
    for gift in dialect_of(name).gives:
        assert gift.how
        assert gift.source


def test_one_engine_of_two_that_restarts_spoils_the_window() -> None:
    counting = Counting(dialect_of("vllm"))

    def told(first: int, second: int) -> dict[str, float]:
        lines = (f'vllm:generation_tokens_total{{engine="{at}"}} {n}' for at, n in enumerate((first, second)))
        found = counting.read({"/metrics": ("\n".join(lines) + "\n").encode()})
        assert found is not None
        return found

    assert told(1000, 500)["counter_resets"] == 0.0
    assert told(1010, 510) == {"output_tokens": 1520.0, "counter_resets": 0.0}
    assert told(12, 2000) == {"output_tokens": 2012.0, "counter_resets": 1.0}
    assert "restarted" in str(counting.reason)


def test_a_page_that_cannot_be_read_is_no_counter() -> None:
    counting = Counting(dialect_of("vllm"))
    assert counting.read({"/metrics": b"<html>"}) is None
    assert "Prometheus" in str(counting.reason)


def test_nesting_without_end_gives_no_dialect_away() -> None:
    deep = b"[" * 200_000
    assert detected(dict.fromkeys(("/v1/models", "/props", "/server_info", "/metrics"), (200, deep))) == "openai"
    assert Counting(dialect_of("trtllm")).read({"/metrics": deep}) is None
