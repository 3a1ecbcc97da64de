"""A log of requests with tools, forms and sampling, replayed over HTTP: the server gets what was logged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from draftmark.backends.mock import MockSettings, mock_process
from draftmark.results.records import Sampling
from draftmark.results.run_folder.store import RunStore
from draftmark.suites.traffic.conversion import convert_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "door"}'}}
FORM = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
TALK = [
    {"role": "user", "content": "Is it shut?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "shut", "tool_call_id": "c1"},
]
LOG = [
    {"id": "a", "time": 0, "messages": TALK, "tools": [TOOL], "temperature": 0.7, "top_p": 0.9, "max_tokens": 5},
    {"id": "b", "time": 0.02, "prompt": "Say it in JSON.", "response_format": FORM, "top_k": 3, "stop": "tok9"},
    {"id": "c", "time": 0.04, "prompt": "Plainly."},
]


def replayed(
    call: Callable[..., Any], tmp_path: Path, send: str = "auto", **plan: Any
) -> tuple[RunStore, dict[str, dict[str, Any]]]:
    """Replay the log against a mock server; return the run, and what arrived of each request by its last message."""
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in LOG))
    report = convert_log(log, tmp_path / "suite.jsonl")
    with mock_process(MockSettings(dialect="openai", ttft_s=0.002, step_s=0.001)) as url:
        whole = {
            "name": "replay",
            "backends": [{"kind": "openai", "base_url": url, "model": "mock-model", "send": send}],
            "drafters": [{"kind": "none"}],
            "suites": [{"kind": "jsonl", "path": str(report.suite)}],
            "load": {"kind": "trace", "path": str(report.trace)},
            "sampling": {"max_tokens": 8},
            "warmup": 0,
            **plan,
        }
        (tmp_path / "plan.yaml").write_text(json.dumps(whole))
        said = call("run", tmp_path / "plan.yaml", "--out", tmp_path / "run")
        assert said.code == 0, said.err
        with urlopen(f"{url}/truth") as page:  # noqa: S310 - a mock server on the loopback
            truth = json.load(page)["requests"]
    arrived: dict[str, dict[str, Any]] = {}
    for request in truth:
        arrived.setdefault(request["asked"]["messages"][-1]["content"], request["asked"])
    return RunStore.read(tmp_path / "run"), arrived


def test_recorded_sampling_tools_and_forms_arrive_and_are_on_record(
    plain_call: Callable[..., Any], tmp_path: Path
) -> None:
    store, arrived = replayed(plain_call, tmp_path, request_sampling="recorded")
    a, b, c = (arrived[text] for text in ("shut", "Say it in JSON.", "Plainly."))
    assert (a["messages"], a["tools"]) == (TALK, [TOOL])
    assert (a["temperature"], a["top_p"], a["max_tokens"]) == (0.7, 0.9, 5)
    assert (b["response_format"], b["top_k"], b["stop"]) == (FORM, 3, ["tok9"])
    assert (b["temperature"], b["max_tokens"], "tools" in b) == (0.0, 8, False)
    assert (c["temperature"], c["max_tokens"]) == (0.0, 8)
    assert not {"response_format", "tools", "top_k", "stop"} & set(c)
    cell = store.manifest.cells[0]
    assert cell.key.request_sampling == "recorded"
    turns = {turn.question_id: turn for turn in store.turns(cell.cell_id)}
    assert turns["a"].sampling == Sampling(temperature=0.7, top_p=0.9, max_tokens=5)
    assert (turns["a"].output_tokens, turns["c"].output_tokens) == (5, 8)
    assert turns["c"].sampling is None
    assert turns["b"].scheduled_s is not None


def test_a_target_whose_template_leaves_tools_out_keeps_no_server_from_getting_them(
    plain_call: Callable[..., Any], tmp_path: Path, tiny_target: Path
) -> None:
    store, arrived = replayed(plain_call, tmp_path, "messages", target=str(tiny_target), chat_template="none")
    assert (arrived["shut"]["messages"], arrived["shut"]["tools"]) == (TALK, [TOOL])
    ids = {prompt.question_id: prompt.prompt_ids for prompt in store.prompts()}
    assert ids["a"] is None
    assert ids["c"]


def test_by_default_the_plans_sampling_holds_for_all(plain_call: Callable[..., Any], tmp_path: Path) -> None:
    store, arrived = replayed(plain_call, tmp_path)
    for asked in arrived.values():
        assert (asked["temperature"], asked["max_tokens"], "top_p" in asked, "stop" in asked) == (0.0, 8, False, False)
    assert arrived["shut"]["tools"] == [TOOL]
    cell = store.manifest.cells[0]
    assert cell.key.request_sampling is None
    assert "request_sampling" not in store.manifest.plan
    assert {turn.sampling for turn in store.turns(cell.cell_id)} == {None}


@pytest.mark.parametrize("body", [{"tools": [{"type": "function"}]}, {"response_format": {"type": "grammar"}}])
def test_the_mock_server_refuses_what_is_not_the_apis(body: dict[str, Any]) -> None:
    from draftmark.backends.mock.asking import RefusedError, read_ask

    with pytest.raises(RefusedError):
        read_ask("chat", {"messages": TALK, **body}, {}, MockSettings())


@pytest.mark.parametrize("load", ["trace", "closed"])
def test_each_request_counts_with_its_own_max_tokens_before_it_is_asked(
    plain_call: Callable[..., Any], tmp_path: Path, load: str
) -> None:
    # One arm; 5 tokens are the first request's own, and the plan's 8 go to the two others.
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LOG))
    report = convert_log(tmp_path / "log.jsonl", tmp_path / "suite.jsonl")
    plan = {
        "name": "replay",
        "backends": [{"kind": "openai", "base_url": "http://127.0.0.1:9", "model": "mock-model"}],
        "drafters": [{"kind": "as-served", "draft_length": 0}],
        "baseline": False,
        "suites": [{"kind": "jsonl", "path": str(report.suite)}],
        "sampling": {"max_tokens": 8},
        "warmup": 0,
        **({"load": {"kind": "trace", "path": str(report.trace)}} if load == "trace" else {}),
    }
    told = {}
    for sampling in ("plan", "recorded"):
        (tmp_path / "plan.yaml").write_text(json.dumps(plan | {"request_sampling": sampling}))
        said = plain_call("validate", tmp_path / "plan.yaml")
        assert said.code == 0, said.err
        told[sampling] = said.out
    assert "plan replay: 1 cell, 3 requests and 0 for warm-up, at most 24 output tokens" in told["plan"]
    assert "plan replay: 1 cell, 3 requests and 0 for warm-up, at most 21 output tokens" in told["recorded"]
    assert ["request_sampling: recorded" in told[sampling] for sampling in ("plan", "recorded")] == [False, True]
