"""`template_options` of a plan: what its target's chat template is told besides messages, tools and how to think."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from draftmark.backends.redaction import known_key, secret_keys
from draftmark.bench.plans.document import Problem
from draftmark.suites.conversation import messages
from draftmark.suites.json_values import texts_in, value_problem
from draftmark.suites.prompt import SuiteError
from draftmark.suites.thinking import EFFORT, EFFORTS, SWITCHES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.bench.plans.materials import Materials
    from draftmark.bench.plans.plan import Plan

_OF_A_RENDERING = ("messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "strftime_now")
_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_OF_TRANSFORMERS = (
    *("conversation", "conversations", "chat_template", "tokenize", "padding", "truncation", "max_length"),
    *("return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs"),
)
"""Arguments of `apply_chat_template`, which never reach a template."""
_TAKEN = frozenset({*_OF_A_RENDERING, *_TOKENS, *_OF_TRANSFORMERS})
_WORD = re.compile(r"[A-Za-z0-9_-]{1,40}")
_SWITCHED = frozenset({"on", "off", "yes", "no"})
"""Words of which YAML 1.2, and so a plan, makes text."""
_MOST_NAMES = 12
"""Names that one sentence lists."""
_MOST_LOOKED_AT = 50
"""Prompts that are rendered with and without an option."""


def _allowed(options: dict[str, Any]) -> dict[str, Any]:
    for name in SWITCHES:
        if name in options:
            raise ValueError(f"{name} is said by the plan's thinking: write thinking: on or off")
    taken = next((name for name in options if name in _TAKEN), None)
    if taken is not None:
        raise ValueError(f"{taken} is set by rendering itself; take it away")
    problem = value_problem(options)
    if problem is not None:
        raise ValueError(problem)
    effort = options.get(EFFORT, "word")
    if not isinstance(effort, str) or not _WORD.fullmatch(effort):
        raise ValueError(f"{EFFORT} must be a word of letters and digits")
    if effort in EFFORTS:
        raise ValueError(f"{EFFORT} {effort} is said by the plan's thinking: write thinking: {effort}")
    secret = [*secret_keys(options), *(name for name, value in options.items() if any(map(known_key, texts_in(value))))]
    if secret:
        raise ValueError(f"{secret[0]} holds a key, which would be written into the results; take it away")
    return options


TemplateOptions = Annotated[dict[str, Any], AfterValidator(_allowed)]
"""Name to value, as the template reads them."""


def template_option_problems(plan: Plan, tokenizer: Any) -> list[Problem]:
    """Return why the target's template cannot be told what a plan says; `tokenizer` is null where a server has it."""
    if not plan.template_options:
        return []
    if plan.chat_template == "none":
        sentence = "need a chat template, and chat_template is none; take one of them away"
        return [Problem(("template_options",), sentence)]
    found = []
    if EFFORT in plan.template_options and plan.thinking in EFFORTS:
        sentence = f"says what thinking: {plan.thinking} says too; take one of them away"
        found.append(Problem(("template_options", EFFORT), sentence))
    if tokenizer is not None:
        from draftmark.suites.chat_template import template_variables

        read = template_variables(tokenizer.chat_template)
        found += [
            Problem(("template_options", name), _unread(name, sorted(read - _TAKEN - {*SWITCHES})))
            for name in plan.template_options
            if name not in read
        ]
    return found


def template_option_warnings(plan: Plan, materials: Materials) -> Iterator[str]:
    """Yield which options are words where a template looks for true or false, and which change no prompt."""
    for name, value in plan.template_options.items():
        if isinstance(value, str) and value.lower() in _SWITCHED:
            yield f"template_options.{name} is the text {value!r}, which templates take for true: write true or false"
        asked = _asked_without(name, materials)
        if asked:
            yield (
                f"template_options.{name} changes none of the {asked} first turns that were looked at; it may matter "
                "to later turns, or to thinking that is kept (earlier_reasoning: kept)"
            )


def _asked_without(name: str, materials: Materials) -> int:
    """Return how many first turns were rendered without an option, if all stay what they are; else 0."""
    if materials.renderer is None:
        return 0
    renderer, looked_at = materials.renderer.without_option(name), 0
    for suite in materials.suites:
        for prompt in suite.prompts[:_MOST_LOOKED_AT]:
            conversation = messages(prompt, [], reasoning=materials.thinking.kept)
            try:
                ids = tuple(renderer.prompt_ids(conversation, prompt.tools))
            except SuiteError:
                return 0
            if ids != materials.first[suite.name, prompt.question_id]:
                return 0
            looked_at += 1
    return looked_at


def _unread(name: str, read: list[str]) -> str:
    near = difflib.get_close_matches(name, read, n=1)
    if near:
        return f"is not read by the target's chat template; did you mean {near[0]}?"
    more = f" and {len(read) - _MOST_NAMES} more" if len(read) > _MOST_NAMES else ""
    names = f"it reads {', '.join(read[:_MOST_NAMES])}{more}" if read else "it reads none"
    return f"is not read by the target's chat template; {names}"
