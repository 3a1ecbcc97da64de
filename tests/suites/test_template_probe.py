"""What a template leaves out is told from one rendering of each kind of message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import TemplateError

from draftmark.suites.chat_template import compile_template
from draftmark.suites.template_probe import TemplateProbe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

USER = {"role": "user", "content": "Is it shut?"}
SYSTEM = {"role": "system", "content": "Be brief."}
ANSWER = {"role": "assistant", "content": "Yes."}
PROPERTIES = {"at": {"type": "string"}}
LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": PROPERTIES}},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"at": "door"}}}
CALLS = {"role": "assistant", "content": "", "tool_calls": [CALL]}
TOLD = {"role": "tool", "content": "shut", "tool_call_id": "c1"}
SAYING = "{% for m in messages %}{{ m.content }}{% endfor %}"
CALLING = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function }}{% endfor %}{% endfor %}"


class Counting:
    """Renders with a template, and counts how often."""

    def __init__(self, template: str) -> None:
        self.template = compile_template(template)
        self.times = 0

    def __call__(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> str | None:
        self.times += 1
        try:
            return self.template.render(messages=messages, tools=tools)
        except TemplateError:
            return None


def left_out(template: str, *messages: dict[str, Any], tools: tuple[dict[str, Any], ...] = ()) -> str | None:
    return TemplateProbe(Counting(template)).left_out(messages, tools)


@pytest.mark.parametrize(
    ("template", "messages", "what"),
    [
        ("hello", [USER], "messages of the user"),
        ("{{ messages | length }}", [USER], "messages of the user"),
        ("{{ messages[0].content }}", [USER, ANSWER, USER], "answers of the assistant"),
        ("{{ messages[-1].content }}", [SYSTEM, USER], "messages of the system"),
        ("{{ messages[1].content }}{{ messages[-1].content }}", [USER, ANSWER, USER], "some messages of the user"),
        (SAYING, [USER, CALLS, TOLD], "calls of tools"),
        (
            "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}"
            "{% endfor %}",
            [USER, CALLS, TOLD],
            "arguments of calls",
        ),
        (
            "{% for m in messages if m.role != 'tool' %}{{ m.content }}{{ m.tool_calls }}{% endfor %}",
            [USER, CALLS, TOLD],
            "answers of tools",
        ),
        (
            "{% for m in messages %}{{ m.content }}{{ (m.tool_calls or [''])[0] }}{% endfor %}",
            [USER, {**CALLS, "tool_calls": [CALL, CALL]}, TOLD, TOLD],
            "all but one of several calls of tools",
        ),
    ],
)
def test_what_is_left_out_is_said(template: str, messages: list[dict[str, Any]], what: str) -> None:
    assert left_out(template, *messages) == what


@pytest.mark.parametrize(
    ("shown", "what"),
    [
        ("", "tools"),
        ("{{ t.function.name }}", "descriptions of tools"),
        ("{{ t.function.name }}{{ t.function.description }}", "parameters of tools"),
        ("{{ t | tojson }}", None),
    ],
)
def test_tools_are_shown_with_what_they_do_and_take(shown: str, what: str | None) -> None:
    template = SAYING + "{% for t in tools or [] %}" + shown + "{% endfor %}"
    assert left_out(template, USER, tools=(LOOK,)) == what


def test_names_are_enough_for_tools_and_calls_that_have_no_more() -> None:
    template = SAYING + "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"
    assert left_out(template, USER, tools=({"type": "function", "function": {"name": "look"}},)) is None


@pytest.mark.parametrize(
    "template",
    [
        CALLING,
        "{% for m in messages %}{{ m.content | trim | upper }}{% for c in m.tool_calls %}{{ c.function | tojson }}"
        "{% endfor %}{% endfor %}",
        "{{ messages | tojson }}",
    ],
)
def test_text_may_be_stripped_merged_and_raised(template: str) -> None:
    assert left_out(template, SYSTEM, USER, ANSWER, USER, CALLS, TOLD) is None


def test_a_template_that_refuses_the_probe_is_left_to_the_real_conversation() -> None:
    strict = "{% if messages[0].role != 'system' %}{{ raise_exception('system first') }}{% endif %}" + SAYING
    assert left_out(strict, SYSTEM, USER) is None


def test_each_kind_is_rendered_once_however_many_turns_there_are() -> None:
    render = Counting(CALLING + "{{ tools }}")
    probe = TemplateProbe(render)
    talk = [SYSTEM, USER]
    for _ in range(50):
        talk += [CALLS, TOLD]
        assert probe.left_out(talk, [LOOK]) is None
    assert render.times == 3  # the user's message, the system's, and a call with its answer


SHOWN = "{% for m in messages %}{{ m.content }}{% if m.FIELD %}<think>{{ m.FIELD }}</think>{% endif %}{% endfor %}"
OF_CALLS = "{% for m in messages %}{{ m.content }}{% if m.FIELD and m.tool_calls %}{{ m.FIELD }}{% endif %}{% endfor %}"
BEFORE_A_USER = (
    "{% for m in messages %}{{ m.content }}{% if m.tool_calls %}{{ raise_exception('no tools') }}{% endif %}"
    "{{ m.FIELD }}{% endfor %}"
)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking", "thought"])
@pytest.mark.parametrize("template", [SHOWN, OF_CALLS, BEFORE_A_USER], ids=["any", "of calls", "no tools"])
def test_thinking_is_shown_from_the_field_that_a_template_reads(template: str, field: str) -> None:
    assert TemplateProbe(Counting(template.replace("FIELD", field))).thinking_field == field


def test_a_template_that_shows_no_thinking_is_handed_it_as_servers_are() -> None:
    render = Counting(SAYING)
    probe = TemplateProbe(render)
    assert probe.thinking_field == "reasoning_content"
    asked = render.times
    assert probe.thinking_field == "reasoning_content"
    assert render.times == asked  # once for all
