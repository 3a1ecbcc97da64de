"""The switch that a chat template has for thinking: what it is called, what can be said to it, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection

Mode: TypeAlias = Literal["on", "off", "low", "medium", "high"]

SWITCHES = ("enable_thinking", "thinking")
"""What templates call their switch: Qwen3, GLM and others; DeepSeek V3.1 and Granite."""
EFFORT = "reasoning_effort"
"""What gpt-oss and others call how long to think."""
EFFORTS = ("low", "medium", "high")


def switches(template: Any) -> frozenset[str]:
    """Return which of the known switches a template reads; comments, texts and its own variables are no switches.

    Args:
        template: As tokenizers hold it: a text, several by name, or null.
    """
    from draftmark.suites.chat_template import template_variables

    return frozenset(template_variables(template) & {*SWITCHES, EFFORT})


def modes(known: Collection[str]) -> tuple[Mode, ...]:
    """Return what can be said of thinking to a template with these switches."""
    plain: tuple[Mode, ...] = ("on", "off") if any(name in known for name in SWITCHES) else ()
    return (*plain, *(EFFORTS if EFFORT in known else ()))


def options(mode: Mode, known: Collection[str]) -> dict[str, Any]:
    """Return what a template with these switches is handed so that it renders for a mode."""
    found: dict[str, Any] = {name: mode != "off" for name in SWITCHES if name in known}
    return found | ({EFFORT: mode} if mode in EFFORTS and EFFORT in known else {})
