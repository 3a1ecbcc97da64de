"""Messages to token ids, once, with the target's own tokenizer and chat template.

The template's text is encoded without the tokenizer's automatic special tokens, so the template alone decides about
beginning-of-sequence, as engines do. What a user wrote stays text: `<|im_end|>` inside a message is never the control
token of that name. transformers is imported only for tokenizers that `tokenizer_files` leaves to it.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, Literal

from draftmark.suites.prompt import SuiteError
from draftmark.suites.tokenizer_files import folder_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Message = dict[str, str]
"""`role` (system, user, assistant) and `content`."""

_SENTINEL = "\ue000{}\ue001"


class Renderer:
    """Renders conversations for one target; meets `PromptRenderer`.

    `chat_template` is "model" for the template the tokenizer carries, or "none" for raw text: the contents alone,
    joined by blank lines, behind the beginning-of-sequence token where the tokenizer puts one by itself.
    `template_options` are handed to the template (`enable_thinking` and the like).
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        chat_template: Literal["model", "none"] = "model",
        template_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.chat_template = chat_template
        self.template_options = dict(template_options or {})
        self._special = _special_tokens(tokenizer)
        if chat_template == "model" and not tokenizer.chat_template:
            raise SuiteError(
                f"the tokenizer of {self._name} has no chat template; name a tuned model, or set "
                "chat_template: none to send the prompts as raw text"
            )

    @classmethod
    def load(
        cls,
        name_or_path: str,
        *,
        chat_template: Literal["model", "none"] = "model",
        template_options: Mapping[str, Any] | None = None,
        **tokenizer_options: Any,
    ) -> Renderer:
        """Load the tokenizer of a local folder or hub name; `tokenizer_options` go to `AutoTokenizer.from_pretrained`.

        Raises `SuiteError` where transformers is needed and missing, the tokenizer cannot be read, or it has no chat
        template.
        """
        if tokenizer_options.get("trust_remote_code"):
            raise SuiteError(f"{name_or_path}: Draftmark runs no code that comes with a model (trust_remote_code)")
        tokenizer: Any = None if template_options else folder_tokenizer(name_or_path, tokenizer_options)
        if tokenizer is None:
            tokenizer = _by_transformers(name_or_path, tokenizer_options)
        return cls(tokenizer, chat_template=chat_template, template_options=template_options)

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a conversation whose next word is the model's, generation prompt included.

        Raises `SuiteError` for messages the template refuses, for a second beginning-of-sequence token, and where the
        text of a special token inside a message cannot be kept as text.
        """
        if not messages:
            raise SuiteError("there are no messages to render")
        ids = self._raw_ids(messages) if self.chat_template == "none" else self._chat_ids(messages)
        if not ids:
            raise SuiteError(f"the messages render to no tokens at all with the tokenizer of {self._name}")
        bos = self.tokenizer.bos_token_id
        if bos is not None and ids[:2] == [bos, bos]:
            raise SuiteError(
                f"the prompt starts with two beginning-of-sequence tokens ({self.tokenizer.bos_token!r}, id {bos}); "
                f"the chat template of {self._name} writes it twice; correct the template"
            )
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens left out, spaces as they are."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    @property
    def _name(self) -> str:
        return str(self.tokenizer.name_or_path or "the target")

    def _raw_ids(self, messages: Sequence[Message]) -> list[int]:
        text = "\n\n".join(message["content"] for message in messages)
        front = self.tokenizer.encode("", add_special_tokens=True)
        bos = self.tokenizer.bos_token_id
        opening = [bos] if bos is not None and bos in front else []
        return opening + self._encode_text(text)

    def _chat_ids(self, messages: Sequence[Message]) -> list[int]:
        text = self._render(messages)
        if not any(self._special and self._special.search(message["content"]) for message in messages):
            return self._encode(text)
        return self._ids_with_contents_as_text(messages, text)

    def _ids_with_contents_as_text(self, messages: Sequence[Message], text: str) -> list[int]:
        """Encode a rendering in which only the special tokens that the template wrote are control tokens."""
        blank, pieces = self._around_contents(messages)
        contents = [message["content"] for message in messages]
        for shown in (contents, [content.strip() for content in contents]):
            if "".join(_interleave(pieces, shown)) == text:
                break
        else:
            raise self._cannot_keep_text("its chat template rewrites what messages say")
        if self._segment_ids(pieces, [_SENTINEL.format(n) for n in range(len(messages))]) != self._encode(blank):
            raise self._cannot_keep_text("its tokens depend on what stands before a control token")
        return self._segment_ids(pieces, shown)

    def _around_contents(self, messages: Sequence[Message]) -> tuple[str, list[str]]:
        """Render with a mark in place of each content; return that text and the template's pieces around the marks."""
        marks = [_SENTINEL.format(n) for n in range(len(messages))]
        blank = self._render([{**message, "content": mark} for message, mark in zip(messages, marks, strict=True)])
        pieces = re.split("|".join(map(re.escape, marks)), blank)
        if re.findall("|".join(map(re.escape, marks)), blank) != marks:
            raise self._cannot_keep_text("its chat template leaves out, repeats or reorders messages")
        return blank, pieces

    def _segment_ids(self, pieces: Sequence[str], contents: Sequence[str]) -> list[int]:
        """Encode text between the template's control tokens as text, seams between template and content included."""
        ids: list[int] = []
        run = ""
        for piece, content in itertools.zip_longest(pieces, contents, fillvalue=""):
            end = 0
            for control in self._special.finditer(piece) if self._special else ():
                ids += self._encode_text(run + piece[end : control.start()])
                ids += self._encode(control.group())
                run, end = "", control.end()
            run += piece[end:] + content
        return ids + self._encode_text(run)

    def _render(self, messages: Sequence[Message]) -> str:
        from jinja2 import TemplateError

        try:
            text: str = self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True, **self.template_options
            )
        except (TemplateError, ValueError, TypeError) as fault:
            roles = ", ".join(message["role"] for message in messages)
            raise SuiteError(f"the chat template of {self._name} refuses messages of roles {roles}: {fault}") from fault
        return text

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False, verbose=False))

    def _encode_text(self, text: str) -> list[int]:
        if not text:
            return []
        return list(self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True, verbose=False))

    def _cannot_keep_text(self, why: str) -> SuiteError:
        return SuiteError(
            f"a message holds the text of a special token of {self._name}, which cannot be kept as plain text: {why}; "
            "take that text out of the prompt"
        )


def _by_transformers(name_or_path: str, options: Mapping[str, Any]) -> Any:
    try:
        from transformers import AutoTokenizer
    except ImportError as fault:
        raise SuiteError(
            'rendering prompts in the target\'s tokens needs transformers; run: pip install "draftmark[reference]"'
        ) from fault
    try:
        return AutoTokenizer.from_pretrained(name_or_path, **options)
    except Exception as fault:  # the tokenizers library raises plain Exception for a damaged file
        raise SuiteError(f"the tokenizer of {name_or_path} cannot be loaded: {fault}") from fault


def _special_tokens(tokenizer: Any) -> re.Pattern[str] | None:
    """Match any special token's text, longest first, with the white space that the token swallows."""
    tokens = [token for token in tokenizer.added_tokens_decoder.values() if token.special and token.content]
    if not tokens:
        return None
    tokens.sort(key=lambda token: -len(token.content))
    return re.compile(
        "|".join(
            (r"\s*" if token.lstrip else "") + re.escape(token.content) + (r"\s*" if token.rstrip else "")
            for token in tokens
        )
    )


def _interleave(pieces: Sequence[str], contents: Sequence[str]) -> Iterator[str]:
    for piece, content in itertools.zip_longest(pieces, contents, fillvalue=""):
        yield piece
        yield content
