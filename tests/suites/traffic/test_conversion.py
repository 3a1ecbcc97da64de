"""A log becomes a suite that the jsonl suite reads and a trace that the load reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.errors import DraftmarkError
from draftmark.suites.conversation import messages
from draftmark.suites.loaders.jsonl import JsonlSpec
from draftmark.suites.prompt import RequestSampling, SuiteError
from draftmark.suites.traffic.conversion import convert_log, trace_path
from draftmark.suites.traffic.hashed_text import Hasher

if TYPE_CHECKING:
    from pathlib import Path

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Name a river."},
    {"role": "assistant", "content": "The Po."},
    {"role": "user", "content": [{"type": "text", "text": "Another?"}]},
]


def logged(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_requests_come_in_the_order_of_their_times_with_a_trace_from_zero(tmp_path: Path) -> None:
    log = logged(
        tmp_path / "log.jsonl",
        {"timestamp": "2031-03-04T08:15:02.5+00:00", "prompt": "second", "id": "b"},
        {"timestamp": "2031-03-04T08:15:00Z", "prompt": "first", "id": "a"},
        {"timestamp": "2031-03-04T09:15:03+01:00", "messages": TALK},
    )
    report = convert_log(log, tmp_path / "suite.jsonl")
    assert (report.written, report.span_s) == (3, 3.0)
    suite = JsonlSpec(path=str(tmp_path / "suite.jsonl")).load(None)
    assert [prompt.question_id for prompt in suite.prompts] == ["a", "b", "traffic-000003"]
    assert messages(suite.prompts[2], []) == [*TALK[:3], {"role": "user", "content": "Another?"}]
    assert report.trace == tmp_path / "suite.trace.jsonl"
    assert rows(trace_path(tmp_path / "suite.jsonl")) == [
        {"time_s": 0.0, "question_id": "a"},
        {"time_s": 2.5, "question_id": "b"},
        {"time_s": 3.0, "question_id": "traffic-000003"},
    ]


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [(10, 12.5, 2.5), (1_900_000_000_000, 1_900_000_002_500, 2.5), ("10.5", "12", 1.5)],
)
def test_times_are_seconds_milliseconds_or_digits(tmp_path: Path, first: Any, second: Any, seconds: float) -> None:
    log = logged(tmp_path / "log.jsonl", {"time": first, "prompt": "a"}, {"time": second, "prompt": "b"})
    assert convert_log(log, tmp_path / "suite.jsonl").span_s == pytest.approx(seconds)


def test_a_batch_file_is_a_log_without_times(tmp_path: Path) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 9, "temperature": 0.5}
    log = logged(tmp_path / "log.jsonl", {"custom_id": "r1", "method": "POST", "url": "/v1", "body": body})
    report = convert_log(log, tmp_path / "suite.jsonl")
    assert report.trace is None
    assert not trace_path(tmp_path / "suite.jsonl").exists()
    (row,) = rows(tmp_path / "suite.jsonl")
    assert row == {
        "question_id": "r1", "turns": ["a"], "sampling": {"max_tokens": 9, "temperature": 0.5},
        "recorded_sampling": {"max_tokens": 9, "temperature": 0.5},
    }  # fmt: skip
    assert report.sampling["max_tokens"] == {"9": 1}
    assert report.sampling["top_p"] == {'"not set"': 1}
    assert JsonlSpec(path=str(tmp_path / "suite.jsonl")).load(None).prompts[0].turns == ("a",)


def test_two_messages_of_the_user_in_one_request_stay_one_request(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    convert_log(logged(tmp_path / "log.jsonl", {"messages": talk}), tmp_path / "suite.jsonl")
    (prompt,) = JsonlSpec(path=str(tmp_path / "suite.jsonl")).load(None).prompts
    assert prompt.turns == ("b",)
    assert messages(prompt, []) == talk


def test_what_no_run_can_replay_is_left_out_and_named_with_its_lines(tmp_path: Path) -> None:
    user = {"role": "user", "content": "a"}
    call = {"role": "assistant", "content": None, "function_call": {"name": "f"}}
    log = logged(
        tmp_path / "log.jsonl",
        {"prompt": "kept"},
        {"messages": [user], "tools": [{"type": "web_search"}]},
        {"messages": [user], "tool_choice": "required"},
        {"messages": [user], "response_format": {"type": "text"}, "tools": []},
        {"messages": [user, call, {"role": "function", "content": "b", "name": "f"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        {"messages": [user, {"role": "assistant", "content": "Well, "}]},
    )
    report = convert_log(log, tmp_path / "suite.jsonl")
    assert report.written == 2
    assert sorted(lines for lines in report.left_out.values()) == [[2], [3], [5], [6], [7]]
    assert report.left_out["has tools that are no functions, which a run cannot hand to an engine"] == [2]


TOOL = {
    "type": "function",
    "function": {
        "name": "find_ferry",
        "description": "Finds a ferry.",
        "parameters": {
            "type": "object",
            "properties": {"harbour": {"type": "string", "enum": ["Dover", "Calais"]}, "hour": {"minimum": 12}},
            "required": ["harbour"],
        },
    },
}
CALL = {"id": "call_Xy7", "type": "function", "function": {"name": "find_ferry", "arguments": '{"harbour": "Dover"}'}}
WITH_TOOLS = {
    "messages": [
        {"role": "user", "content": "When does it leave?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": '{"leaves":1230,"from":"Dover\\nEast","full":false}', "tool_call_id": "call_Xy7"},
    ],
    "tools": [TOOL],
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "ferry", "schema": TOOL["function"]["parameters"]},
    },
    "temperature": 0.7,
    "stop": "Dover",
    "max_completion_tokens": 5,
    "min_p": 0.1,
}


def test_settings_that_a_run_replays_are_kept_by_a_plans_names(tmp_path: Path) -> None:
    asked = {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "max_completion_tokens": 7, "stop": ["x"], "seed": 3}
    report = convert_log(logged(tmp_path / "log.jsonl", {"prompt": "a", **asked}), tmp_path / "suite.jsonl")
    (prompt,) = JsonlSpec(path=str(tmp_path / "suite.jsonl")).load(None).prompts
    assert prompt.sampling == RequestSampling(temperature=0.5, top_p=0.9, top_k=40, max_tokens=7, stop=("x",))
    assert report.not_replayed == {"seed": 1}


def test_tools_format_and_sampling_are_kept_and_read_back(tmp_path: Path) -> None:
    convert_log(logged(tmp_path / "log.jsonl", WITH_TOOLS), tmp_path / "suite.jsonl")
    (prompt,) = JsonlSpec(path=str(tmp_path / "suite.jsonl")).load(None).prompts
    assert messages(prompt, []) == WITH_TOOLS["messages"]
    assert (prompt.tools, prompt.response_format) == ((TOOL,), WITH_TOOLS["response_format"])
    assert prompt.sampling == RequestSampling(temperature=0.7, max_tokens=5, stop=("Dover",))


def test_hashing_leaves_no_word_of_tools_calls_and_answers_and_what_was_json_stays_so(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", WITH_TOOLS)
    convert_log(log, tmp_path / "suite.jsonl", hasher=Hasher(b"secret"))
    text = (tmp_path / "suite.jsonl").read_text()
    for word in ("Dover", "Calais", "East", "Finds", "leave?", "Xy7", "1230"):
        assert word not in text
    (row,) = rows(tmp_path / "suite.jsonl")
    function = row["tools"][0]["function"]
    schema = function["parameters"]
    assert (function["name"], schema["required"], schema["type"]) == ("find_ferry", ["harbour"], "object")
    assert schema["properties"]["hour"] == {"minimum": 12}
    _, call, answer = row["messages"]
    given = json.loads(call["tool_calls"][0]["function"]["arguments"])
    assert given["harbour"] == schema["properties"]["harbour"]["enum"][0]  # equal words stay equal
    assert call["tool_calls"][0]["id"] == answer["tool_call_id"] == "call_000001"
    told = json.loads(answer["content"])
    leaves, place, full = told.values()
    assert (place.split("\n")[0], full) == (given["harbour"], False)
    assert not {"leaves", "from", "full"} & set(told)  # keys of answers are no parameters
    assert len(str(leaves)) == 4
    assert len(answer["content"]) == len(WITH_TOOLS["messages"][2]["content"])
    form = row["response_format"]["json_schema"]
    assert form["schema"] == schema
    assert form["name"] != "ferry"
    assert row["sampling"]["stop"] == [given["harbour"]]


def test_bad_lines_stop_it_all_by_number_unless_they_are_to_be_skipped(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", {"prompt": "a"}, '{"prompt": "cut', {"prompt": ["a", "b"]}, {"time": "noon"})
    with pytest.raises(SuiteError) as caught:
        convert_log(log, tmp_path / "suite.jsonl")
    assert "line 2: is not JSON" in str(caught.value)
    assert "line 3: prompt is a list" in str(caught.value)
    assert "line 4: time 'noon' is no time" in str(caught.value)
    assert list(tmp_path.iterdir()) == [log]
    report = convert_log(log, tmp_path / "suite.jsonl", skip_bad=True)
    assert report.written == 1
    assert list(report.left_out.values()) == [[2, 3, 4]]


def test_a_limit_takes_the_first_by_time(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", *({"time": 9 - n, "prompt": f"p{n}"} for n in range(5)))
    report = convert_log(log, tmp_path / "suite.jsonl", limit=2)
    assert [row["turns"] for row in rows(tmp_path / "suite.jsonl")] == [["p4"], ["p3"]]
    assert report.over_limit == 3


def test_ids_that_come_twice_are_replaced_and_repeats_are_said(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", *({"id": "same", "prompt": "again"} for _ in range(3)))
    report = convert_log(log, tmp_path / "suite.jsonl")
    assert [row["question_id"] for row in rows(tmp_path / "suite.jsonl")] == [
        "same", "traffic-000002", "traffic-000003",
    ]  # fmt: skip
    assert report.repeated
    assert len(JsonlSpec(path=str(tmp_path / "suite.jsonl"), allow_repeats=True).load(None).prompts) == 3


def test_repeats_are_what_the_written_suite_is_refused_for(tmp_path: Path) -> None:
    """The same question thrice is too often, whatever its settings; with other tools it is another question."""
    same = [{"prompt": "again", "temperature": n / 10} for n in range(3)]
    assert convert_log(logged(tmp_path / "log.jsonl", *same), tmp_path / "thrice.jsonl").repeated
    with pytest.raises(SuiteError, match="3 rows ask the same thing"):
        JsonlSpec(path=str(tmp_path / "thrice.jsonl")).load(None)
    other = {"messages": [{"role": "user", "content": "again"}], "tools": [TOOL]}
    report = convert_log(logged(tmp_path / "log.jsonl", *same[:2], other), tmp_path / "twice.jsonl")
    assert not report.repeated
    assert len(JsonlSpec(path=str(tmp_path / "twice.jsonl")).load(None).prompts) == 3


def test_a_request_that_no_suite_may_hold_is_a_bad_line(tmp_path: Path) -> None:
    withheld = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE"
    log = logged(tmp_path / "log.jsonl", {"prompt": "a"}, {"prompt": withheld})
    with pytest.raises(SuiteError, match=r"line 2: turns\[0\] is SPEED-Bench's stand-in"):
        convert_log(log, tmp_path / "suite.jsonl")
    assert convert_log(log, tmp_path / "suite.jsonl", skip_bad=True).written == 1


def test_hashing_leaves_no_word_id_or_stop_text_in_either_file(tmp_path: Path) -> None:
    line = {"id": "ann@harbour.example", "time": 1, "messages": TALK, "stop": ["Harbour"], "max_tokens": 5}
    convert_log(logged(tmp_path / "log.jsonl", line), tmp_path / "suite.jsonl", hasher=Hasher(b"secret"))
    text = (tmp_path / "suite.jsonl").read_text() + trace_path(tmp_path / "suite.jsonl").read_text()
    for word in ("brief", "river", "Another", "arbour", "ann@"):
        assert word not in text
    (row,) = rows(tmp_path / "suite.jsonl")
    assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant", "user"]
    assert row["recorded_sampling"] == {"max_tokens": 5}


def test_existing_files_are_never_written_over(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", {"prompt": "a"})
    trace_path(tmp_path / "suite.jsonl").write_text("mine")
    with pytest.raises(SuiteError, match="exists already"):
        convert_log(log, tmp_path / "suite.jsonl")
    with pytest.raises(SuiteError, match="exists already"):
        convert_log(log, log)


def test_a_log_without_a_request_and_one_that_is_not_there_are_told(tmp_path: Path) -> None:
    empty = logged(tmp_path / "empty.jsonl")
    with pytest.raises(SuiteError, match="has no request that can be replayed"):
        convert_log(empty, tmp_path / "suite.jsonl")
    with pytest.raises(SuiteError, match="there is no file"):
        convert_log(tmp_path / "none.jsonl", tmp_path / "suite.jsonl")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.jsonl", {"prompt": "a"})
    with pytest.raises(DraftmarkError, match="cannot write"):
        convert_log(log, log / "below" / "suite.jsonl")
