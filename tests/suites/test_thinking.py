"""Switches that templates have for thinking, and what can be said to them."""

from __future__ import annotations

from typing import Any

import pytest

from draftmark.suites.thinking import modes, options, switches

QWEN3 = (
    "{%- for message in messages %}"
    "{%- set content = message.content %}"
    "{%- if message.role == 'assistant' and '</think>' in content %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}"
    "{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}"
    "{%- endif %}"
)
"""In Qwen3's manner: its own switch, and thinking of earlier answers left out."""


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (QWEN3, {"enable_thinking"}),
        ("{% if not thinking is defined %}{% set thinking = false %}{% endif %}{{ thinking }}", {"thinking"}),
        ("{%- set enable_thinking = enable_thinking | default(true) %}{{ enable_thinking }}", {"enable_thinking"}),
        ("{% macro system() %}{{ reasoning_effort }}{% endmacro %}{{ system() }}", {"reasoning_effort"}),
        ("{# enable_thinking #}{{ 'enable_thinking' }} thinking", set()),
        ("{{ message.thinking }}{% for thinking in messages %}{{ thinking }}{% endfor %}", set()),
        (
            "{% for m in messages %}{% generation %}{{ thinking }}{% endgeneration %}{% break %}{% endfor %}",
            {"thinking"},
        ),
        ({"default": "{{ thinking }}", "tool_use": "{{ enable_thinking }}"}, {"thinking", "enable_thinking"}),
        ([{"name": "default", "template": "{{ thinking }}"}, {"name": "rag", "template": "{{ x }}"}], {"thinking"}),
        ({"rag": "{{ thinking }}", "tool_use": "{{ enable_thinking }}"}, {"enable_thinking"}),
        ({"rag": "{{ thinking }}", "other": "{{ enable_thinking }}"}, {"thinking", "enable_thinking"}),
        ("{% for m in messages %}{% set thinking = m.x %}{% endfor %}{{ thinking }}", set()),  # its own
        ("{% if not thinking is defined %}{% set thinking = true %}{% endif %}{{ thinking }}", {"thinking"}),
        (None, set()),
        ("{% if thinking %}", set()),  # damaged: rendering says so
    ],
)
def test_switches_are_what_a_template_reads(template: Any, expected: set[str]) -> None:
    assert switches(template) == expected


def test_what_can_be_said_follows_from_the_switches() -> None:
    assert modes({"enable_thinking"}) == ("on", "off")
    assert modes({"reasoning_effort"}) == ("low", "medium", "high")
    assert modes({"thinking", "reasoning_effort"}) == ("on", "off", "low", "medium", "high")
    assert modes(set()) == ()
    assert options("off", {"thinking"}) == {"thinking": False}
    assert options("on", {"enable_thinking", "reasoning_effort"}) == {"enable_thinking": True}
    assert options("low", {"enable_thinking", "reasoning_effort"}) == {
        "enable_thinking": True,
        "reasoning_effort": "low",
    }
