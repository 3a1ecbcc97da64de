"""What a run needs besides its plan: the target's renderer, loaded suites, first prompts, and which weights answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from draftmark.bench.plans.thinking import Thinking, thinking_of
from draftmark.results.records import ModelIdentity, PromptRecord, SuiteIdentity
from draftmark.suites.conversation import messages, text_hash
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from draftmark.bench.plans.plan import Plan
    from draftmark.suites.conversation import ConversationRenderer
    from draftmark.suites.prompt import Prompt, Suite

FirstPrompts = dict[tuple[str, str], tuple[int, ...] | None]
"""(suite, question_id) to the token ids of the first turn, rendered once and sent by every arm; null without a
tokenizer."""


@dataclass(frozen=True)
class Materials:
    """Everything loaded that a run asks from; engines are not among it."""

    renderer: ConversationRenderer | None
    """Null where the plan names no target: engines are asked in messages then."""
    suites: tuple[Suite, ...]
    identify: Callable[[str], ModelIdentity]
    """Which weights a model name means on this machine, right now."""
    chat_template_hash: str | None = None
    """sha256 of the plan's own template; null where it is the target's, or there is none."""
    thinking: Thinking = field(default_factory=Thinking)
    template_options: dict[str, Any] = field(default_factory=dict)
    """What the template is told by the plan, here or by a server: its own options, and of thinking."""
    needs_ids: bool = True
    """False where every turn goes to a server as messages: ids are for lengths alone then, and null where the template
    that is at hand cannot render a prompt, with tools for one."""
    tokenizer: Any = None
    """The target's; null where the plan names none."""
    date_written: Callable[[], str | None] = lambda: None
    """Returns the date that the template has written into ids so far."""

    @cached_property
    def first(self) -> FirstPrompts:
        """The first turn of every conversation, rendered when first asked for; raises as `first_prompts` does."""
        return first_prompts(self.suites, self.renderer, needs_ids=self.needs_ids, reasoning=self.thinking.kept)

    @property
    def template_date(self) -> str | None:
        """The date that the template writes into first turns, year first; null where it writes none."""
        return self.date_written() if self.first else None


def gather(plan: Plan) -> Materials:
    """Find the target, load its tokenizer and all suites; no weights are loaded.

    Raises `BackendError` for a model that is not there, `SuiteError` for a tokenizer or suite that cannot be read.
    """
    if plan.target is None:
        if plan.chat_template not in ("model", "none"):
            raise SuiteError("chat_template: a file renders prompts to token ids, which needs a target; name one")
        suites = tuple(spec.load(None) for spec in plan.suites)
        thinking = thinking_of(plan, None)
        options = plan.template_options | thinking.options
        return Materials(None, suites, _served, thinking=thinking, template_options=options)
    from draftmark.backends.model_files import identity
    from draftmark.backends.models import locate
    from draftmark.suites.rendering import Renderer

    path, options = locate(plan.target).pretrained()
    renderer = Renderer.load(path, chat_template=plan.chat_template, **options)
    thinking = thinking_of(plan, renderer.tokenizer)
    renderer.template_options = plan.template_options | thinking.options
    suites = tuple(spec.load(renderer) for spec in plan.suites)
    own = None if plan.chat_template in ("model", "none") else text_hash(renderer.tokenizer.chat_template)
    needs_ids = not all(backend.asked_in_messages() for backend in plan.backends)
    return Materials(
        renderer,
        suites,
        lambda name: identity(locate(name)),
        chat_template_hash=own,
        thinking=thinking,
        template_options=renderer.template_options,
        needs_ids=needs_ids,
        tokenizer=renderer.tokenizer,
        date_written=lambda: renderer.template_date if needs_ids else None,
    )


def _served(name: str) -> ModelIdentity:
    """Return all that is known of a model that a server has: its name there."""
    return ModelIdentity(name=name)


def rendered(
    renderer: ConversationRenderer | None, conversation: list[dict[str, Any]], prompt: Prompt, *, needs_ids: bool
) -> tuple[int, ...] | None:
    """Return a conversation's ids; null without a renderer, and where there are none and none are needed.

    Raises `SuiteError` where ids are needed that cannot be rendered.
    """
    if renderer is None:
        return None
    try:
        return tuple(renderer.prompt_ids(conversation, prompt.tools))
    except SuiteError:
        if needs_ids:
            raise
        return None


def first_prompts(
    suites: Iterable[Suite],
    renderer: ConversationRenderer | None,
    *,
    needs_ids: bool = True,
    reasoning: bool = False,
) -> FirstPrompts:
    """Render the first turn of every conversation; raise `SuiteError` naming the one that cannot be rendered.

    Where ids are not needed, those that cannot be rendered are null instead. `reasoning` keeps the thinking of recorded
    answers.
    """
    found: FirstPrompts = {}
    for suite in suites:
        for prompt in suite.prompts:
            try:
                conversation = messages(prompt, [], reasoning=reasoning)
                ids = rendered(renderer, conversation, prompt, needs_ids=needs_ids)
            except SuiteError as fault:
                raise SuiteError(f"{suite.name}, question {prompt.question_id!r}: {fault}") from fault
            if ids is not None and prompt.prompt_tokens is not None and len(ids) != prompt.prompt_tokens:
                raise SuiteError(
                    f"{suite.name}, question {prompt.question_id!r} should have {prompt.prompt_tokens} tokens, but has "
                    f"{len(ids)} with this target's template"
                )
            found[suite.name, prompt.question_id] = ids
    return found


def first_lengths(suites: Iterable[Suite], first: FirstPrompts) -> dict[tuple[str, str], int]:
    """Return the length of each first turn in tokens, or in words where its tokens are unknown."""
    found = {}
    for suite in suites:
        for prompt in suite.prompts:
            ids = first[suite.name, prompt.question_id]
            words = sum(len((message["content"] or "").split()) for message in messages(prompt, []))
            found[suite.name, prompt.question_id] = words if ids is None else len(ids)
    return found


def prompt_records(
    suites: Iterable[Suite], first: Mapping[tuple[str, str], Sequence[int] | None]
) -> list[PromptRecord]:
    """Return one record per planned turn; later turns depend on answers, so their ids are null."""

    def opening(suite: Suite, prompt: Prompt, index: int) -> list[int] | None:
        ids = None if index else first[suite.name, prompt.question_id]
        return None if ids is None else list(ids)

    def planned(prompt: Prompt, index: int) -> int | None:
        return None if index else prompt.prompt_tokens

    return [
        PromptRecord(
            suite=suite.name,
            question_id=prompt.question_id,
            turn_index=index,
            category=prompt.category,
            sub_category=prompt.sub_category,
            difficulty=prompt.difficulty,
            text_hash=text_hash(text),
            prompt_tokens=planned(prompt, index) if ids is None else len(ids),
            prompt_ids=ids,
        )
        for suite in suites
        for prompt in suite.prompts
        for index, text in enumerate(prompt.turns)
        for ids in [opening(suite, prompt, index)]
    ]


def suite_identity(suite: Suite) -> SuiteIdentity:
    """Describe a suite for the manifest."""
    return SuiteIdentity(
        name=suite.name,
        hash=suite.hash,
        prompts=len(suite.prompts),
        turns=suite.turns,
        licence=suite.licence,
        source=suite.source,
        selection=suite.selection,
        caution=suite.caution,
    )


def draft_models(plan: Plan) -> list[str]:
    """Return the names of the models that the plan's drafters use, each once, the target left out."""
    named = [arm.options.get("model") for drafter in plan.drafters for arm in drafter.arms()]
    return list(dict.fromkeys(name for name in named if isinstance(name, str) and name != plan.target))
