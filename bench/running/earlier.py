"""What a conversation's later turns hold of an arm's earlier answers: their thinking cut away, or kept as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from draftmark.bench.plans.thinking import Thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.records import TurnRecord
    from draftmark.suites.conversation import ConversationRenderer


@dataclass(frozen=True)
class Earlier:
    """How earlier answers are put into the prompts of later turns."""

    thinking: Thinking = field(default_factory=Thinking)
    reasoning: Literal["stripped", "kept"] = "stripped"
    """The plan's word for what becomes of their thinking."""

    def thinking_tokens(self, prompt_ids: Sequence[int], output_ids: Sequence[int]) -> int | None:
        """Return how many tokens of an output are thinking; null where nothing marks the target's."""
        reader = self.thinking.reader
        return None if reader is None else reader.count(prompt_ids, output_ids)

    def answer(self, turn: TurnRecord, renderer: ConversationRenderer | None) -> dict[str, str] | None:
        """Return a turn's answer as what a message of the assistant holds; null for one without text and ids.

        Thinking that a server sent apart stays apart.
        """
        text = turn.output_text
        if text is None and turn.output_ids is not None and renderer is not None:
            text = renderer.decode(turn.output_ids)
        if text is None:
            return None
        apart = turn.details.get("reasoning_text")
        if isinstance(apart, str) and apart:
            return {"content": text} | ({"reasoning_content": apart} if self.reasoning == "kept" else {})
        if self.thinking.reader is None or turn.thinking_tokens == 0:
            return {"content": text}
        return {"content": self._within(turn, text, renderer)}

    def _within(self, turn: TurnRecord, text: str, renderer: ConversationRenderer | None) -> str:
        """Return what is said of an output that may hold thinking, by its ids where they tell, else by its text."""
        reader = self.thinking.reader
        if reader is None:
            return text
        thought, answer = reader.split(text, opened=bool(turn.thinking_tokens))
        if self.reasoning == "kept":
            begun = reader.marks.opening in text.partition(reader.marks.ending)[0]
            return text if begun or not thought else f"{reader.marks.opening}\n{text.lstrip()}"
        if turn.output_ids is not None and turn.thinking_tokens is not None and renderer is not None:
            return renderer.decode(turn.output_ids[turn.thinking_tokens :]).lstrip()
        return answer
