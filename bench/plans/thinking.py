"""`thinking` and `earlier_reasoning` of a plan: what they mean for its target, and why they cannot be had."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import RendersMessages
from draftmark.bench.plans.document import Problem
from draftmark.suites.conversation import recorded
from draftmark.suites.prompt import SuiteError
from draftmark.suites.thinking import EFFORT, EFFORTS, SWITCHES, modes, options, switches
from draftmark.suites.thinking_marks import ThinkingReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.backends.base import Backend
    from draftmark.bench.plans.plan import Plan
    from draftmark.suites.conversation import ConversationRenderer
    from draftmark.suites.prompt import Prompt, Suite

AS_SERVED = "as the server does it"
NO_SWITCH = "no switch in the template"
AS_TOLD = "no switch by a known name; see template_options"
_MOST_LOOKED_AT = 200
"""Conversations of a suite that are rendered with and without their thinking."""
_PROBE = "seven grey herons"
"""Words that no template writes by itself."""


@dataclass(frozen=True)
class Thinking:
    """What is known of the target's thinking before a run."""

    switches: frozenset[str] | None = frozenset()
    """Names that its template reads; null where the server renders, with a template that is not at hand."""
    options: dict[str, Any] = field(default_factory=dict)
    """What the template is handed for it, here or by the server."""
    reader: ThinkingReader | None = None
    """Null where nothing marks the thinking in the target's tokens."""
    stamp: str | None = None
    """How the target thinks, in words for the record; null where nothing is said of it."""
    kept: bool = False
    """Earlier answers are sent with their thinking."""


def thinking_of(plan: Plan, tokenizer: Any) -> Thinking:
    """Return what a plan's target is told of thinking; `tokenizer` is null where only the server has it."""
    said, kept = plan.thinking, plan.earlier_reasoning == "kept"
    effort = _effort(plan)
    if tokenizer is None:
        handed = options(said, {EFFORT} if said in EFFORTS else SWITCHES) if said is not None else {}
        asked = ", ".join(words for words in (said, effort) if words is not None)
        served = f"{asked} (asked of the server)" if asked else AS_SERVED
        return Thinking(None, handed, None, served, kept=kept)
    reader = ThinkingReader.of(tokenizer)
    known = frozenset[str]() if plan.chat_template == "none" else switches(tokenizer.chat_template)
    handed = options(said, known) if said is not None else {}
    switched = f"{said} ({', '.join(sorted(handed))})" if said is not None else None
    stamp = ", ".join(words for words in (switched, effort) if words is not None) or None
    if stamp is None and reader is not None and plan.chat_template != "none":
        stamp = AS_TOLD if plan.template_options else NO_SWITCH
    return Thinking(known, handed, reader, stamp, kept=kept)


def _effort(plan: Plan) -> str | None:
    """Return in words how long the target thinks by the plan's `template_options`; null where they do not say."""
    return f"{EFFORT} {plan.template_options[EFFORT]}" if EFFORT in plan.template_options else None


def thinking_problems(plan: Plan, thinking: Thinking, suites: Sequence[Suite]) -> list[Problem]:
    """Return why a plan's target cannot think as said, or that the plan must say how."""
    sentence = _switch_problem(plan, thinking)
    found = [] if sentence is None else [Problem(("thinking",), sentence)]
    marked = thinking.reader is not None and thinking.reader.of_control_tokens
    if thinking.kept and marked and _hold_own_answers(suites):
        text = (
            "cannot be 'kept' where later turns hold the target's own answers: it marks its thinking by control "
            "tokens, which no message holds as text"
        )
        found.append(Problem(("earlier_reasoning",), f"{text}; write stripped"))
    if found:
        return found
    told = plan.template_options | thinking.options
    for index, backend in enumerate(plan.backends):
        problem = backend.thinking_problem(told, kept=thinking.kept, ids=thinking.switches is not None)
        if problem is not None:
            found.append(Problem(("backends", index), problem))
    return found


def _switch_problem(plan: Plan, thinking: Thinking) -> str | None:
    said, known = plan.thinking, thinking.switches
    if known is None:
        return None
    choices = modes(known)
    words = f"{', '.join(choices[:-1])} or {choices[-1]}" if choices else ""
    switch = ", ".join(sorted(known))
    if said is None:
        known = known - set(plan.template_options)
        return (
            f"is missing: the target's chat template has a switch for it ({switch}); write {words}" if known else None
        )
    if plan.chat_template == "none":
        return "needs a chat template, and chat_template is none; take one of them away"
    if not known:
        looked = ", ".join((*SWITCHES, EFFORT))
        return f"is {said!r}, but the target's chat template has no switch for it (such as {looked}); take it away"
    return None if said in choices else f"must be {words} for the target's chat template ({switch}), not {said!r}"


def engine_problem(thinking: Thinking, template_options: dict[str, Any], backend: Backend) -> str | None:
    """Say why a started engine cannot be asked as the plan says of thinking and its template; null if it can."""
    if not isinstance(backend, RendersMessages):
        return None
    return backend.thinking_problem(template_options, kept=thinking.kept, ids=thinking.switches is not None)


def thinking_warnings(
    thinking: Thinking, renderer: ConversationRenderer | None, suites: Sequence[Suite]
) -> Iterator[str]:
    """Yield that the template leaves out thinking of earlier answers, recorded or the arm's own, that is to stay."""
    yield from _recorded_left_out(thinking, renderer, suites)
    if not thinking.kept or renderer is None or thinking.reader is None or not _hold_own_answers(suites):
        return
    answer = thinking.reader.joined(_PROBE, "Yes.")
    talk = [("user", "Are they there?"), ("assistant", answer), ("user", "And now?")]
    try:
        text = renderer.decode(renderer.prompt_ids([{"role": role, "content": said} for role, said in talk]))
    except SuiteError:
        return
    if _PROBE not in text:
        yield (
            "earlier_reasoning is 'kept', but the target's chat template leaves the thinking of earlier answers out by "
            "itself, so that later turns are asked without it"
        )


def _hold_own_answers(suites: Sequence[Suite]) -> bool:
    """Say whether any later turn is asked with the arm's own answers between."""
    return any(prompt.multiturn and prompt.messages is None for suite in suites for prompt in suite.prompts)


def _recorded_left_out(
    thinking: Thinking, renderer: ConversationRenderer | None, suites: Sequence[Suite]
) -> Iterator[str]:
    """Yield for each suite in how many of its conversations with recorded thinking the template shows none of it."""
    for suite in suites if thinking.kept else ():
        thoughtful = [one for one in suite.prompts if any(said.reasoning_content for said in one.messages or ())]
        looked_at = thoughtful[:_MOST_LOOKED_AT]
        left_out = [one.question_id for one in looked_at if renderer is not None and _shows_none(one, renderer)]
        if left_out:
            yield (
                "earlier_reasoning is 'kept', but the target's chat template leaves the thinking of recorded answers "
                f"out of {len(left_out)} of {len(looked_at)} conversations that have some ({suite.name}, such as "
                f"question {left_out[0]!r})"
            )


def _shows_none(prompt: Prompt, renderer: ConversationRenderer) -> bool:
    """Say whether a conversation's last turn is asked the same with recorded thinking and without."""
    last = len(prompt.turns) - 1
    try:
        kept, cut = (
            renderer.prompt_ids(recorded(prompt, last, reasoning=reasoning), prompt.tools)
            for reasoning in (True, False)
        )
    except SuiteError:
        return False
    return kept == cut
