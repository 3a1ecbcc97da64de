"""What a turn is asked: first prompts as rendered once for all arms, later ones with the arm's own answers between.

A recorded conversation is asked with its recorded answers instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.bench.plans.materials import rendered
from draftmark.bench.plans.thinking import Thinking
from draftmark.bench.running.earlier import Earlier
from draftmark.suites.conversation import ids_hash, messages, messages_hash, recorded, request_hash

if TYPE_CHECKING:
    from draftmark.bench.plans.materials import FirstPrompts
    from draftmark.results.records import CellKey, Observation, Sampling, TurnRecord
    from draftmark.suites.conversation import ConversationRenderer
    from draftmark.suites.prompt import Prompt

UNTOLD = "it thinks again after answering, or ends thinking that nothing opened: its thinking is not counted"
"""Note of a turn whose ids do not tell how many of its first tokens are thinking."""


@dataclass(frozen=True, slots=True)
class Question:
    """One turn as it is asked: its conversation, and the same in the target's tokens where its tokenizer is at hand."""

    messages: tuple[dict[str, Any], ...]
    ids: tuple[int, ...] | None
    tools: tuple[dict[str, Any], ...] | None = None
    """In the ids already, where there are any."""
    response_format: dict[str, Any] | None = None
    template_options: dict[str, Any] | None = None
    """In the ids already likewise; null for none."""

    @property
    def hash(self) -> str:
        """Of the ids, else of messages, tools and options of the template, and the answer's form.

        Equal hashes were asked the same thing.
        """
        if self.ids is not None:
            return request_hash(ids_hash(self.ids), response_format=self.response_format)
        tools = None if self.tools is None else list(self.tools)
        return request_hash(
            messages_hash(self.messages),
            tools=tools,
            response_format=self.response_format,
            template_options=self.template_options,
        )


class Questions:
    """Prompts of a run; it is told every finished turn, of this session or an earlier one.

    `renderer` is null where the target's tokenizer is not at hand, and the engine is asked in messages.
    """

    def __init__(
        self,
        renderer: ConversationRenderer | None,
        first: FirstPrompts,
        thinking: Thinking | None = None,
        *,
        template_options: dict[str, Any] | None = None,
        needs_ids: bool = True,
    ) -> None:
        self._renderer = renderer
        self._needs_ids = needs_ids
        self._first = first
        self._thinking = thinking or Thinking()
        self._earlier = Earlier(self._thinking)
        self._template_options = template_options or None
        self._answers: dict[tuple[str, str, int], dict[int, dict[str, str]]] = {}

    def note(self, turn: TurnRecord) -> None:
        """Take a finished turn's answer; a failed turn, or one without text and ids, gives none."""
        answer = self._earlier.answer(turn, self._renderer) if turn.status == "ok" else None
        if answer is not None:
            self._answers.setdefault((turn.cell_id, turn.question_id, turn.repeat), {})[turn.turn_index] = answer

    def told_apart(self, seen: Observation, question: Question) -> Observation:
        """Return what an engine told of a question's answer, with its thinking counted in the ids where they tell.

        An engine's count of 0 is looked at again: servers that do not look for thinking tell it too.
        """
        if question.ids is None or seen.output_ids is None or seen.thinking_tokens:
            return seen
        if self._thinking.reader is None:
            return seen
        count = self._thinking.reader.count(question.ids, seen.output_ids)
        if count is not None:
            return seen.model_copy(update={"thinking_tokens": count})
        notes = [*(seen.details.get("notes") or ()), UNTOLD]
        return seen.model_copy(update={"thinking_tokens": None, "details": {**seen.details, "notes": notes}})

    def opening(self, prompt: Prompt) -> Question:
        """Return the first turn of a prompt that no suite holds; raises `SuiteError` where it cannot be rendered."""
        return self._rendered(prompt, messages(prompt, []))

    def question(self, cell_id: str, suite: str, prompt: Prompt, repeat: int, turn_index: int) -> Question | None:
        """Return what one turn asks one cell; null where an earlier answer of the conversation is missing.

        Raises `SuiteError` where the conversation cannot be rendered.
        """
        kept = self._thinking.kept
        if turn_index == 0:
            ids = self._first[suite, prompt.question_id]
            return self._asked(prompt, messages(prompt, [], reasoning=kept), ids)
        if prompt.messages is not None:
            return self._rendered(prompt, recorded(prompt, turn_index, reasoning=kept))
        answers = self._answers.get((cell_id, prompt.question_id, repeat), {})
        if any(index not in answers for index in range(turn_index)):
            return None
        earlier = [answers[index] for index in range(turn_index)]
        conversation = messages(prompt, [answer["content"] for answer in earlier])
        left = iter(earlier)
        return self._rendered(prompt, [one | next(left) if one["role"] == "assistant" else one for one in conversation])

    def _rendered(self, prompt: Prompt, conversation: list[dict[str, Any]]) -> Question:
        ids = rendered(self._renderer, conversation, prompt, needs_ids=self._needs_ids)
        return self._asked(prompt, conversation, ids)

    def _asked(self, prompt: Prompt, conversation: list[dict[str, Any]], ids: tuple[int, ...] | None) -> Question:
        return Question(tuple(conversation), ids, prompt.tools, prompt.response_format, self._template_options)


def effective_sampling(key: CellKey, prompt: Prompt) -> Sampling:
    """Return how a prompt's turns are sampled in a cell: by the plan, or as its request was where that is replayed."""
    if key.request_sampling is None or prompt.sampling is None:
        return key.sampling
    return prompt.sampling.over(key.sampling)
