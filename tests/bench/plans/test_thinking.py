"""What a plan says of thinking: held against the target's template before the first request, and on record."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.plans.cells import expand, plan_arms
from draftmark.bench.plans.document import PlanError
from draftmark.bench.plans.materials import gather
from draftmark.bench.plans.plan import load_plan
from draftmark.bench.plans.prepared import prepare
from draftmark.bench.plans.thinking import Thinking, thinking_problems
from draftmark.bench.running.session import new_manifest
from draftmark.suites.messages import Message
from draftmark.suites.prompt import Prompt, Suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
SWITCHED = (
    "{% for m in messages %}{{ m.role }}: {{ m.content.split('</think>')[-1] }}\n{% endfor %}assistant:"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
)
KEEPING = PLAIN + "{% if thinking %}<think>{% endif %}"
EFFORT = PLAIN + "{{ reasoning_effort }}"


def stamp(path: Path) -> str | None:
    plan = load_plan(path, {})
    materials = gather(plan)
    arms, _ = plan_arms(plan)
    return new_manifest(plan, materials, expand(plan, arms, materials.suites), "run").thinking


def refusal(path: Path) -> str:
    with pytest.raises(PlanError) as refused:
        prepare(path)
    return str(refused.value)


@pytest.mark.parametrize(
    ("template", "keys", "sentence"),
    [
        (
            SWITCHED,
            {},
            "thinking: is missing: the target's chat template has a switch for it (enable_thinking); write on or",
        ),
        (EFFORT, {}, "(reasoning_effort); write low, medium or high"),
        (EFFORT, {"thinking": "on"}, "must be low, medium or high for the target's chat template"),
        (
            SWITCHED,
            {"thinking": "high"},
            "must be on or off for the target's chat template (enable_thinking), not 'high'",
        ),
        (PLAIN, {"thinking": "off"}, "is 'off', but the target's chat template has no switch for it"),
        (None, {"thinking": "on", "chat_template": "none"}, "needs a chat template, and chat_template is none"),
    ],
)
def test_a_plan_and_its_template_must_agree(
    plan_of: Callable[..., Path], template: str | None, keys: dict[str, Any], sentence: str
) -> None:
    assert sentence in refusal(plan_of(template, **keys))


def test_the_prompts_are_rendered_as_said(plan_of: Callable[..., Path]) -> None:
    texts = {}
    for said in ("on", "off"):
        materials = gather(load_plan(plan_of(SWITCHED, thinking=said), {}))
        (ids,) = materials.first.values()
        assert materials.renderer is not None
        assert ids is not None
        texts[said] = materials.renderer.decode(ids)
    assert texts == {"on": "user: one\nassistant:", "off": "user: one\nassistant:<think></think>"}


@pytest.mark.parametrize(
    ("template", "keys", "expected"),
    [
        (SWITCHED, {"thinking": "off"}, "off (enable_thinking)"),
        (KEEPING, {"thinking": "on"}, "on (thinking)"),
        (EFFORT, {"thinking": "low"}, "low (reasoning_effort)"),
        (PLAIN + "<think>", {}, "no switch in the template"),
        (PLAIN, {}, None),
    ],
)
def test_the_mode_is_on_record(
    plan_of: Callable[..., Path], template: str, keys: dict[str, Any], expected: str | None
) -> None:
    assert stamp(plan_of(template, **keys)) == expected


def test_what_is_not_said_leaves_no_trace_in_a_plans_hash(plan_of: Callable[..., Path]) -> None:
    data = load_plan(plan_of(PLAIN), {}).as_data()
    assert not {"thinking", "earlier_reasoning"} & set(data)
    said = load_plan(plan_of(PLAIN, thinking="on", earlier_reasoning="kept"), {}).as_data()
    assert (said["thinking"], said["earlier_reasoning"]) == ("on", "kept")


def test_thinking_that_the_template_leaves_out_by_itself_is_told_where_it_was_to_be_kept(
    plan_of: Callable[..., Path],
) -> None:
    def told(template: str, **keys: Any) -> list[str]:
        warnings = prepare(plan_of(template, thinking="on", **keys)).warnings
        return [text for text in warnings if "leaves the thinking of earlier answers out" in text]

    assert len(told(SWITCHED, earlier_reasoning="kept")) == 1
    assert told(SWITCHED) == []
    assert told(KEEPING, earlier_reasoning="kept") == []


READING = "{% for m in messages %}{{ m.role }}: {{ m.reasoning_content }}{{ m.content }}\n{% endfor %}assistant:"


def test_thinking_of_recorded_answers_is_rendered_where_it_is_kept(
    plan_of: Callable[..., Path], tmp_path: Path
) -> None:
    thought = {"role": "assistant", "content": "one", "reasoning_content": "well, "}
    talk = [{"role": "user", "content": "a"}, thought, {"role": "user", "content": "b"}]
    row = {"question_id": "q", "messages": talk}

    def told(template: str, **keys: Any) -> tuple[str, list[str]]:
        path = plan_of(template, **keys)
        (tmp_path / "talk.jsonl").write_text(json.dumps(row), encoding="utf-8")
        materials = gather(load_plan(path, {}))
        (ids,) = materials.first.values()
        assert materials.renderer is not None
        assert ids is not None
        warnings = [text for text in prepare(path).warnings if "thinking of recorded answers out" in text]
        return materials.renderer.decode(ids), warnings

    assert told(READING) == ("user: a\nassistant: one\nuser: b\nassistant:", [])
    assert told(READING, earlier_reasoning="kept") == ("user: a\nassistant: well, one\nuser: b\nassistant:", [])
    text, warnings = told(PLAIN, earlier_reasoning="kept")
    assert text == "user: a\nassistant: one\nuser: b\nassistant:"
    assert len(warnings) == 1
    assert warnings[0].endswith("out of 1 of 1 conversations that have some (talk, such as question 'q')")


def test_every_conversation_with_recorded_thinking_is_looked_at(plan_of: Callable[..., Path], tmp_path: Path) -> None:
    """A template that shows the thinking of calls alone leaves out that of every other answer."""
    template = (
        "{{ tools }}{% for m in messages %}{{ m.role }}: {% if m.tool_calls %}{{ m.reasoning_content }}"
        "{{ m.tool_calls }}{% endif %}{{ m.content }}\n{% endfor %}assistant:"
    )
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = {"role": "user", "content": "a"}
    calling = {"role": "assistant", "content": None, "reasoning_content": "well", "tool_calls": [call]}
    saying = {"role": "assistant", "content": "one", "reasoning_content": "well"}
    rows = [
        {"question_id": "calls", "messages": [asked, calling, {"role": "tool", "content": "x", "tool_call_id": "c"}]},
        {"question_id": "says", "messages": [asked, saying, asked]},
        {"question_id": "again", "messages": [asked, saying, asked]},
    ]
    path = plan_of(template, earlier_reasoning="kept")
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (told,) = [text for text in prepare(path).warnings if "thinking of recorded answers" in text]
    assert told.endswith("out of 2 of 3 conversations that have some (talk, such as question 'says')")


def test_recorded_thinking_can_be_kept_where_marks_are_control_tokens(plan_of: Callable[..., Path]) -> None:
    """The template writes such marks itself; only in the arm's own answers they would have to stand as text."""
    plan = load_plan(plan_of(PLAIN, earlier_reasoning="kept"), {})
    reader: Any = SimpleNamespace(of_control_tokens=True)
    thinking = Thinking(reader=reader, kept=True)
    own = Suite(name="own", prompts=(Prompt(question_id="q", turns=("a", "b")),))
    talk = (
        Message(role="user", content="a"),
        Message(role="assistant", content="b"),
        Message(role="user", content="c"),
    )
    recorded = Suite(name="log", prompts=(Prompt(question_id="q", turns=("a", "c"), messages=talk, asked=(1, 3)),))
    single = Suite(name="one", prompts=(Prompt(question_id="q", turns=("a",)),))
    assert thinking_problems(plan, thinking, [recorded, single]) == []
    (problem,) = thinking_problems(plan, thinking, [recorded, own])
    assert problem.place == ("earlier_reasoning",)
    assert "where later turns hold the target's own answers" in problem.text


# Servers that are asked in messages

SERVER = {"kind": "openai", "base_url": "http://127.0.0.1:9", "model": "m"}


@pytest.fixture
def served(write_plan: Callable[..., Path]) -> Callable[..., Path]:
    def write(server: dict[str, Any], **keys: Any) -> Path:
        path = write_plan(backends=[SERVER | server], drafters=[{"kind": "none"}], **keys)
        plan = json.loads(path.read_text("utf-8"))
        del plan["target"]
        path.write_text(json.dumps(plan), encoding="utf-8")
        return path

    return write


def test_a_server_without_a_tokenizer_does_as_it_does_or_as_it_is_asked(served: Callable[..., Path]) -> None:
    assert stamp(served({})) == "as the server does it"
    assert stamp(served({"dialect": "vllm"}, thinking="off")) == "off (asked of the server)"
    asked = gather(load_plan(served({}, thinking="off"), {})).thinking.options
    assert asked == {"enable_thinking": False, "thinking": False}
    assert gather(load_plan(served({}, thinking="low"), {})).thinking.options == {"reasoning_effort": "low"}


@pytest.mark.parametrize(
    ("server", "keys", "sentence"),
    [
        ({"dialect": "openai"}, {"thinking": "on"}, "takes nothing for a chat template (enable_thinking, thinking)"),
        ({"dialect": "openai"}, {"earlier_reasoning": "kept"}, "takes no thinking of earlier answers"),
        (
            {"extra_body": {"chat_template_kwargs": {"thinking": True}}},
            {"thinking": "on"},
            "extra_body says thinking, and the plan says it too",
        ),
    ],
)
def test_what_a_server_cannot_be_asked_is_refused(
    served: Callable[..., Path], server: dict[str, Any], keys: dict[str, Any], sentence: str
) -> None:
    assert sentence in refusal(served(server, **keys))
    prepare(served({"dialect": "openai"}, thinking="low"))
    prepare(served({"dialect": "vllm"}, thinking="on", earlier_reasoning="kept"))
