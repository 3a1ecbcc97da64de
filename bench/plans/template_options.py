"""`template_options` of a plan: what its target's chat template is told besides messages, tools and how to think."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, JsonValue

from draftmark.bench.plans.document import Problem
from draftmark.suites.thinking import EFFORT, EFFORTS, SWITCHES

if TYPE_CHECKING:
    from draftmark.bench.plans.plan import Plan

_TAKEN = frozenset(
    {
        *("messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "strftime_now"),
        *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
    }
)
"""Names that a rendering sets by itself."""
_LONGEST_EFFORT = 40
_MOST_NAMES = 12
"""Names that one sentence lists."""


def _not_taken(options: dict[str, Any]) -> dict[str, Any]:
    for name in SWITCHES:
        if name in options:
            raise ValueError(f"{name} is said by the plan's thinking: write thinking: on or off")
    effort = options.get(EFFORT, "")
    if not isinstance(effort, str) or len(effort) > _LONGEST_EFFORT:
        raise ValueError(f"{EFFORT} must be a word")
    taken = next((name for name in options if name in _TAKEN), None)
    if taken is not None:
        raise ValueError(f"{taken} is set by rendering itself; take it away")
    return options


TemplateOptions = Annotated[dict[str, JsonValue], AfterValidator(_not_taken)]
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


def _unread(name: str, read: list[str]) -> str:
    near = difflib.get_close_matches(name, read, n=1)
    if near:
        return f"is not read by the target's chat template; did you mean {near[0]}?"
    more = f" and {len(read) - _MOST_NAMES} more" if len(read) > _MOST_NAMES else ""
    names = f"it reads {', '.join(read[:_MOST_NAMES])}{more}" if read else "it reads none"
    return f"is not read by the target's chat template; {names}"
