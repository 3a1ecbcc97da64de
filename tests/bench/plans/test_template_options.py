"""`template_options` reach the target's template, here or on a server, and are refused where it would not read them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.cli.validate import summary_lines
from draftmark.bench.plans.cells import expand, plan_arms
from draftmark.bench.plans.document import PlanError
from draftmark.bench.plans.materials import gather
from draftmark.bench.plans.plan import load_plan
from draftmark.bench.plans.prepared import prepare
from draftmark.bench.running.questions import Questions
from draftmark.bench.running.session import new_manifest
from draftmark.suites.prompt import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.results.records import RunManifest

TALK = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
BUDGETED = "budget {{ thinking_budget | default('none') }}{{ bos_token }}\n" + TALK
EFFORT = "{{ reasoning_effort | default('high') }}\n" + TALK
BOTH = "{{ reasoning_effort | default('high') }}{{ enable_thinking }}\n" + TALK


def manifest(path: Path) -> RunManifest:
    plan = load_plan(path, {})
    materials = gather(plan)
    arms, _ = plan_arms(plan)
    return new_manifest(plan, materials, expand(plan, arms, materials.suites), "run")


def prompt(path: Path) -> str:
    materials = prepare(path).materials
    (ids,) = materials.first.values()
    assert materials.renderer is not None
    assert ids is not None
    return materials.renderer.decode(ids)


@pytest.mark.parametrize(
    ("template", "keys", "sentence"),
    [
        (
            BUDGETED,
            {"template_options": {"thinking_budgets": 1}},
            "template_options.thinking_budgets: is not read by the target's chat template; did you mean thinking_budg",
        ),
        (BUDGETED, {"template_options": {"language": "de"}}, "chat template; it reads thinking_budget"),
        (TALK, {"template_options": {"language": "de"}}, "is not read by the target's chat template; it reads none"),
        (BUDGETED, {"template_options": {"messages": []}}, "template_options: messages is set by rendering itself"),
        (BUDGETED, {"template_options": {"bos_token": "x"}}, "bos_token is set by rendering itself"),
        (BUDGETED, {"template_options": {"strftime_now": "x"}}, "strftime_now is set by rendering itself"),
        (BOTH, {"template_options": {"enable_thinking": True}}, "said by the plan's thinking: write thinking: on or"),
        (BUDGETED, {"template_options": {"x": 1}, "chat_template": "none"}, "and chat_template is none"),
        (BUDGETED, {"template_options": ["x"]}, "template_options: must be a mapping"),
        (EFFORT, {"template_options": {"reasoning_effort": 3}}, "reasoning_effort must be a word"),
        (EFFORT, {"template_options": {"reasoning_effort": "a b"}}, "reasoning_effort must be a word"),
        (EFFORT, {"template_options": {"reasoning_effort": "high"}}, "by the plan's thinking: write thinking: high"),
        (BUDGETED, {"template_options": {"padding": True}}, "padding is set by rendering itself"),
        (BUDGETED, {"template_options": {"x": {"api_key": "abc"}}}, "x.api_key holds a key, which would be written"),
        (BUDGETED, {"template_options": {"x": ["sk-proj-abcdefghijklmnopqrst1234"]}}, "x holds a key"),
        (
            "{% for m in messages %}{% set text = m.content %}{{ text }}{% endfor %}",
            {"template_options": {"text": "hello"}},  # a variable of the template's own
            "is not read by the target's chat template; it reads none",
        ),
        (
            EFFORT,
            {"template_options": {"reasoning_effort": "max"}, "thinking": "low"},
            "says what thinking: low says too; take one of them away",
        ),
        (BOTH, {"template_options": {"reasoning_effort": "max"}}, "thinking: is missing"),
    ],
)
def test_what_a_template_cannot_be_told_is_refused(
    plan_of: Callable[..., Path], template: str, keys: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(PlanError) as refused:
        prepare(plan_of(template, **keys))
    assert sentence in str(refused.value)


def test_prompts_are_rendered_with_them(plan_of: Callable[..., Path]) -> None:
    assert prompt(plan_of(BUDGETED)).startswith("budget none")
    assert prompt(plan_of(BUDGETED, template_options={"thinking_budget": 512})).startswith("budget 512")


def test_a_word_for_how_long_to_think_that_only_this_template_knows(plan_of: Callable[..., Path]) -> None:
    path = plan_of(EFFORT, template_options={"reasoning_effort": "no_think"})
    assert prompt(path).startswith("no_think\n")
    assert manifest(path).thinking == "reasoning_effort no_think"
    path = plan_of(BOTH, thinking="on", template_options={"reasoning_effort": "max"})
    assert prompt(path).startswith("maxTrue\n")
    assert manifest(path).thinking == "on (enable_thinking), reasoning_effort max"


def test_what_is_not_said_leaves_no_trace_in_a_plans_hash(plan_of: Callable[..., Path]) -> None:
    assert "template_options" not in load_plan(plan_of(BUDGETED), {}).as_data()
    assert load_plan(plan_of(BUDGETED, template_options={}), {}).hash == load_plan(plan_of(BUDGETED), {}).hash
    said = load_plan(plan_of(BUDGETED, template_options={"thinking_budget": 1}), {})
    assert said.as_data()["template_options"] == {"thinking_budget": 1}
    assert said.hash != load_plan(plan_of(BUDGETED), {}).hash


def test_the_date_that_a_template_writes_is_on_record(plan_of: Callable[..., Path]) -> None:
    assert manifest(plan_of(TALK)).template_date is None
    dated = plan_of("{{ strftime_now('%d %b %Y') }}\n" + TALK)
    assert manifest(dated).template_date == "2025-01-01"
    assert prompt(dated).startswith("01 Jan 2025\n")
    server = {"kind": "openai", "base_url": "http://127.0.0.1:9", "model": "m", "send": "messages"}
    asked = {"backends": [server], "drafters": [{"kind": "none"}]}
    assert gather(load_plan(plan_of("{{ strftime_now('%Y') }}" + TALK, **asked), {})).template_date is None


def test_validate_tells_them(plan_of: Callable[..., Path]) -> None:
    assert [line for line in summary_lines(prepare(plan_of(TALK))) if "template" in line] == []
    path = plan_of(BUDGETED + "{{ strftime_now('%Y') }}", template_options={"thinking_budget": 512})
    assert [line for line in summary_lines(prepare(path)) if "template" in line] == [
        'options of the chat template: {"thinking_budget": 512}',
        "date in prompts, from the chat template: 2025-01-01, whatever the day",
    ]


def test_a_date_of_ones_own_is_not_taken_for_the_templates_by_looking_at_it(plan_of: Callable[..., Path]) -> None:
    """What an option changes is found by rendering without it, with the date that it stands for."""
    dated = TALK + "{% if not day is defined %}{% set day = strftime_now('%d %b %Y') %}{% endif %}{{ day }}"
    prepared = prepare(plan_of(dated, template_options={"day": "1 May 2026"}))
    assert prepared.warnings == []
    assert prepared.materials.template_date is None
    prepared = prepare(plan_of(dated))
    assert prepared.warnings == []
    assert prepared.materials.template_date == "2025-01-01"


def warnings(path: Path) -> list[str]:
    return [text for text in prepare(path).warnings if text.startswith("template_options.")]


def test_an_option_that_changes_no_prompt_is_told(plan_of: Callable[..., Path]) -> None:
    template = TALK + "{% if style == 'terse' %}!{% endif %}"
    assert warnings(plan_of(template, template_options={"style": "terse"})) == []
    (told,) = warnings(plan_of(template, template_options={"style": "long"}))
    assert told.startswith("template_options.style changes none of the 1 first turns that were looked at")


def test_a_word_that_is_no_switch_is_told(plan_of: Callable[..., Path]) -> None:
    template = TALK + "{% if brief %}!{% endif %}"
    (told,) = warnings(plan_of(template, template_options={"brief": "off"}))
    assert told == "template_options.brief is the text 'off', which templates take for true: write true or false"
    assert warnings(plan_of(template, template_options={"brief": True})) == []


def test_what_the_switch_is_by_another_name_is_not_called_no_switch(plan_of: Callable[..., Path]) -> None:
    template = TALK + "{% if mode == 'on' %}<think>{% else %}</think>{% endif %}"
    assert manifest(plan_of(template)).thinking == "no switch in the template"
    path = plan_of(template, template_options={"mode": "enabled"})
    assert manifest(path).thinking == "no switch by a known name; see template_options"


def test_templates_for_tools_and_without_are_both_asked(
    write_plan: Callable[..., Path], tiny_target: Path, tmp_path: Path, fake: Any
) -> None:
    """Tokenizers with several templates render tools by `tool_use`."""
    from draftmark.bench.plans.template_options import template_option_problems

    templates = {"default": TALK, "tool_use": BUDGETED, "rag": "{{ documents_style }}"}
    tokenizer = SimpleNamespace(chat_template=templates)
    path = write_plan(target=str(tiny_target), template_options={"thinking_budget": 1, "documents_style": 1})
    (problem,) = template_option_problems(load_plan(path, {}), tokenizer)
    assert problem.place == ("template_options", "documents_style")


# Servers that are asked in messages

SERVER = {"kind": "openai", "base_url": "http://127.0.0.1:9", "model": "m"}


def test_a_server_is_told_them_beside_its_switch(write_plan: Callable[..., Path]) -> None:
    def told(dialect: str, **keys: Any) -> Any:
        path = write_plan(backends=[SERVER | {"dialect": dialect}], drafters=[{"kind": "none"}], **keys)
        plan = json.loads(path.read_text("utf-8"))
        del plan["target"]
        path.write_text(json.dumps(plan), encoding="utf-8")
        return prepare(path).materials

    materials = told("vllm", thinking="on", template_options={"thinking_budget": 512})
    assert materials.template_options == {"thinking_budget": 512, "enable_thinking": True, "thinking": True}
    assert materials.thinking.stamp == "on (asked of the server)"
    materials = told("vllm", template_options={"reasoning_effort": "no_think"})
    assert materials.thinking.stamp == "reasoning_effort no_think (asked of the server)"
    asked = Questions(None, {}, materials.thinking, template_options=materials.template_options)
    assert asked.opening(Prompt(question_id="q", turns=("one",))).template_options == {"reasoning_effort": "no_think"}
    with pytest.raises(PlanError, match=r"takes nothing for a chat template \(thinking_budget\)"):
        told("openai", template_options={"thinking_budget": 512})
