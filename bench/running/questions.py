"""What a turn is asked: first prompts as rendered once for all arms, later ones with the arm's own answers between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.suites.conversation import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.bench.plans.materials import FirstPrompts
    from draftmark.results.records import TurnRecord
    from draftmark.suites.conversation import ConversationRenderer
    from draftmark.suites.prompt import Prompt


class Questions:
    """Prompts of a run as token ids; it is told every finished turn, of this session or an earlier one."""

    def __init__(self, renderer: ConversationRenderer, first: FirstPrompts) -> None:
        self.renderer = renderer
        self._first = first
        self._answers: dict[tuple[str, str, int], dict[int, str]] = {}

    def note(self, turn: TurnRecord) -> None:
        """Take a finished turn's answer; a failed turn, or one without text and ids, gives none."""
        text = turn.output_text
        if text is None and turn.output_ids is not None:
            text = self.renderer.decode(turn.output_ids)
        if turn.status == "ok" and text is not None:
            self._answers.setdefault((turn.cell_id, turn.question_id, turn.repeat), {})[turn.turn_index] = text

    def ids(self, cell_id: str, suite: str, prompt: Prompt, repeat: int, turn_index: int) -> Sequence[int] | None:
        """Return the token ids of one turn for one cell; null where an earlier answer of the conversation is missing.

        Raises `SuiteError` where the conversation cannot be rendered.
        """
        if turn_index == 0:
            return self._first[suite, prompt.question_id]
        answers = self._answers.get((cell_id, prompt.question_id, repeat), {})
        if any(index not in answers for index in range(turn_index)):
            return None
        return self.renderer.prompt_ids(messages(prompt, [answers[index] for index in range(turn_index)]))
