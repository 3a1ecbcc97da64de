"""Thinking told from answer: the marks by which targets tell them apart, in text and in token ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.suites.chat_template import template_texts

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Marks:
    """What a target writes before and after its thinking."""

    opening: str
    ending: str
    others: str | None = None
    """Pattern of what ends thinking where that is more than the ending mark."""

    @property
    def ends(self) -> re.Pattern[str]:
        """Match the mark at which thinking ends."""
        return re.compile(self.others or re.escape(self.ending), re.DOTALL)

    def split(self, text: str, *, opened: bool) -> tuple[str, str]:
        """Return thinking and answer of a text, marks left out; the thinking is empty where none was opened.

        Marks within an answer that did not begin with thinking are words of that answer. After thinking, further blocks
        that are opened and ended belong to neither.

        Args:
            text: Of the whole output.
            opened: The prompt opened the thinking already.
        """
        if not opened and not self.begin(text):
            return "", text
        found = self.ends.search(text)
        thought, answer = (text, "") if found is None else (text[: found.start()], text[found.end() :].lstrip())
        again = re.compile(rf"{re.escape(self.opening)}.*?(?:{self.ends.pattern})\s*", re.DOTALL)
        return thought.strip().removeprefix(self.opening).strip(), again.sub("", answer)

    def begin(self, text: str) -> bool:
        """Say whether a text begins with the opening mark."""
        return text.lstrip().startswith(self.opening)


MARKS = (
    Marks("<think>", "</think>"),
    Marks("[THINK]", "[/THINK]"),
    Marks("<seed:think>", "</seed:think>"),
    Marks("<mm:think>", "</mm:think>"),
    Marks("<think:opensource>", "</think:opensource>"),
    Marks("<|START_THINKING|>", "<|END_THINKING|>"),
    Marks("<|channel>thought", "<channel|>"),
    Marks("<|inner_prefix|>", "<|inner_suffix|>"),
    Marks(
        "<|channel|>analysis<|message|>",
        "<|channel|>final<|message|>",
        r"<\|channel\|>(?:final|commentary)(?:.*?<\|message\|>)?",
    ),
)
"""Qwen3, DeepSeek, GLM and most others; Mistral; Seed-OSS; MiniMax-M3; Hy3; Command; Gemma 4; Apertus; gpt-oss, whose
calls of tools are commentary."""

_TAIL = 64
"""Tokens at the end of a prompt, and at the start of an output, in which thinking is opened."""


def without_thinking(text: str) -> str:
    """Return a text of an unknown target without the thinking that it begins with by one of the known marks."""
    marks = next((marks for marks in MARKS if marks.begin(text)), None)
    return text if marks is None else marks.split(text, opened=False)[1]


class ThinkingReader:
    """Tells thinking from answer in what one target writes.

    `ends_alone`: its template knows the mark that ends thinking and nothing that opens it.
    """

    def __init__(self, tokenizer: Any, marks: Marks, *, ends_alone: bool = False) -> None:
        self.marks = marks
        self._tokenizer = tokenizer
        self._ends_alone = ends_alone
        added = {token.content: (number, token.special) for number, token in tokenizer.added_tokens_decoder.items()}
        self._opening_id = added[marks.opening][0] if marks.opening in added else None
        self._ending_id = added[marks.ending][0] if marks.ending in added else None
        self.of_control_tokens = any(
            special and content in f"{marks.opening} {marks.ending}" for content, (_, special) in added.items()
        )
        """The marks hold control tokens, which the text of a message cannot."""

    @classmethod
    def of(cls, tokenizer: Any) -> ThinkingReader | None:
        """Return the reader for a target; null where its template and vocabulary know no marks of thinking."""
        texts = template_texts(tokenizer.chat_template)
        added = {token.content for token in tokenizer.added_tokens_decoder.values()}
        for marks in MARKS:
            opens, ends = (any(mark in text for text in texts) for mark in (marks.opening, marks.ending))
            if marks.ending in added or opens or ends:
                return cls(tokenizer, marks, ends_alone=ends and not opens and marks.others is None)
        return None

    def count(self, prompt_ids: Sequence[int], output_ids: Sequence[int]) -> int | None:
        """Return how many tokens at the start of an output are thinking, the mark that ends it included.

        The prompt may have opened the thinking already. All of an output whose thinking does not end is thinking. What
        neither the prompt nor the start of the output opens is none, whatever marks the answer quotes.

        Null where that is not told: it thinks again after answering, so that its start is not all of it; or it holds an
        ending where the target's template knows no opening, so that its outputs may begin within their thinking.
        """
        first = self._text(output_ids[:_TAIL])
        begun = self.opens(prompt_ids) or self.marks.begin(first)
        if not begun and (not self._ends_alone or first.lstrip().startswith(self.marks.ending)):
            return 0
        ended = self._end(output_ids)
        if not begun:
            return 0 if ended is None else None
        if ended is None:
            return len(output_ids)
        return None if self._begins(output_ids[ended:]) else ended

    def joined(self, thought: str, answer: str) -> str:
        """Return thinking and answer as the target writes them."""
        return f"{self.marks.opening}\n{thought}\n{self.marks.ending}\n\n{answer}"

    def opens(self, prompt_ids: Sequence[int]) -> bool:
        """Say whether a prompt has opened the thinking."""
        return self._text(prompt_ids[-_TAIL:]).rstrip().endswith(self.marks.opening)

    def _begins(self, ids: Sequence[int]) -> bool:
        """Say whether an opening mark comes anywhere."""
        return self.marks.opening in self._text(ids) if self._opening_id is None else self._opening_id in ids

    def _end(self, ids: Sequence[int]) -> int | None:
        """Return how many tokens there are up to the end of the mark that ends thinking; null where it is not there."""
        if self._ending_id is not None:
            return next((place for place, one in enumerate(ids, start=1) if one == self._ending_id), None)
        text = self._text(ids)
        found = self.marks.ends.search(text)
        if found is None:
            return None
        upto = text[: found.end()]
        low, high = 0, len(ids)
        while low + 1 < high:
            middle = (low + high) // 2
            if self._text(ids[:middle]).startswith(upto):
                high = middle
            else:
                low = middle
        return high

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
