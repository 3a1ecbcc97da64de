"""What a conversation's later turns hold of an arm's earlier answers: their thinking cut away, or kept as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from draftmark.bench.plans.thinking import Thinking
from draftmark.suites.prompt import SuiteError
from draftmark.suites.thinking_marks import without_thinking

if TYPE_CHECKING:
    from draftmark.results.records import TurnRecord
    from draftmark.suites.conversation import ConversationRenderer
    from draftmark.suites.thinking_marks import ThinkingReader


@dataclass(frozen=True)
class Earlier:
    """How earlier answers are put into the prompts of later turns."""

    thinking: Thinking = field(default_factory=Thinking)
    _opening: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    """Renderer, by its identity, to whether its prompts open the thinking."""

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
            return {"content": text} | ({"reasoning_content": apart} if self.thinking.kept else {})
        return {"content": self._within(turn, text, renderer)}

    def _within(self, turn: TurnRecord, text: str, renderer: ConversationRenderer | None) -> str:
        """Return what is said of an output that may hold thinking, by its ids where they tell, else by its text."""
        reader, count = self.thinking.reader, turn.thinking_tokens
        if reader is None:
            return text if self.thinking.kept else without_thinking(text)
        begun = reader.marks.begin(text)
        told = count is not None and turn.output_ids is not None
        opened = bool(count) if told else self._opened(turn, text, renderer)
        if not begun and not opened:
            return text
        thought, answer = reader.marks.split(text, opened=opened)
        if self.thinking.kept:
            return text if begun or not thought else f"{reader.marks.opening}\n{text.lstrip()}"
        if turn.output_ids is not None and count and renderer is not None:
            return renderer.decode(turn.output_ids[count:]).lstrip()
        return answer

    def _opened(self, turn: TurnRecord, text: str, renderer: ConversationRenderer | None) -> bool:
        """Say whether a text without ids begins within thinking: by the server's count, or since its prompt opened it.

        Without a mark that ends it, it was cut there; one that the model ended by itself is an answer, from which the
        server took the thinking. A count of 0 says nothing: servers that do not look for thinking tell it too.
        """
        reader, count = self.thinking.reader, turn.thinking_tokens
        if reader is None:
            return False
        if reader.marks.ends.search(text) is None and (count or turn.finish_reason == "eos"):
            return bool(count) and count == turn.output_tokens
        return bool(count) or self._rendered_open(reader, renderer)

    def _rendered_open(self, reader: ThinkingReader, renderer: ConversationRenderer | None) -> bool:
        """Say whether our own rendering of a prompt, by a server's template and options, opens the thinking."""
        if renderer is None:
            return False
        if id(renderer) not in self._opening:
            try:
                found = reader.opens(renderer.prompt_ids([{"role": "user", "content": "Go on."}]))
            except SuiteError:
                found = False
            self._opening[id(renderer)] = found
        return self._opening[id(renderer)]
