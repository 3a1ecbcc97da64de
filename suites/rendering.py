"""Messages to token ids, once, with the target's own tokenizer and chat template.

The template's text is encoded without the tokenizer's automatic special tokens, so the template alone decides about
beginning-of-sequence, as engines do. What a user wrote stays text: `<|im_end|>` inside a message is never the control
token of that name. transformers is imported only for tokenizers that `tokenizer_files` leaves to it.
"""

from __future__ import annotations

import itertools
import re
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.suites.chat_template import DATE, strftime_now
from draftmark.suites.json_values import texts_in
from draftmark.suites.messages import with_arguments_read
from draftmark.suites.prompt import SuiteError
from draftmark.suites.quoting import cut
from draftmark.suites.special_tokens import SpecialTokens
from draftmark.suites.template_probe import TemplateProbe
from draftmark.suites.tokenizer_files import folder_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Message = dict[str, Any]
"""A message as a request has it: `role`, `content`, and `tool_calls` where an answer called tools."""

MOST_TEMPLATE_BYTES = 10**6
"""A template of one's own may have no more; those of models have some ten thousand."""

_SENTINEL = "\ue000{}\ue001"
_MOST_ROLES = 8
"""Messages whose roles one error names."""
_MOST_OF_A_FAULT = 400
"""Characters of a template's own words in an error."""


class Renderer:
    """Renders conversations for one target; meets `PromptRenderer`.

    `chat_template` is "model" for the template the tokenizer carries, "none" for raw text: the contents alone, joined
    by blank lines, behind the beginning-of-sequence token where the tokenizer puts one by itself; or a file with a
    template to use instead.
    `template_options` are handed to the template (`enable_thinking` and the like).
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        chat_template: str = "model",
        template_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.chat_template = chat_template
        self.template_options = dict(template_options or {})
        self._special = SpecialTokens(tokenizer.added_tokens_decoder.values())
        self._probe = TemplateProbe(self._probed)
        self._dates = set[str]()
        """What the template was told for today's date, in whatever forms it asked for."""
        self._dated = False
        if chat_template not in ("model", "none"):
            tokenizer.chat_template = template_file(chat_template)
        elif chat_template == "model" and not tokenizer.chat_template:
            raise SuiteError(
                f"the tokenizer of {self._name} has no chat template; name a tuned model, a template of your own "
                "(chat_template: PATH.jinja), or set chat_template: none to send the prompts as raw text"
            )

    @classmethod
    def load(
        cls,
        name_or_path: str,
        *,
        chat_template: str = "model",
        template_options: Mapping[str, Any] | None = None,
        **tokenizer_options: Any,
    ) -> Renderer:
        """Load the tokenizer of a local folder or hub name; `tokenizer_options` go to `AutoTokenizer.from_pretrained`.

        Raises `SuiteError` where transformers is needed and missing, the tokenizer cannot be read, or it has no chat
        template.
        """
        if tokenizer_options.get("trust_remote_code"):
            raise SuiteError(f"{name_or_path}: Draftmark runs no code that comes with a model (trust_remote_code)")
        tokenizer: Any = folder_tokenizer(name_or_path, tokenizer_options)
        if tokenizer is None:
            tokenizer = _by_transformers(name_or_path, tokenizer_options)
        return cls(tokenizer, chat_template=chat_template, template_options=template_options)

    def prompt_ids(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None = None) -> list[int]:
        """Return the ids of a conversation whose next word is the model's, generation prompt included.

        `tools` are handed to the template. Raises `SuiteError` for messages that the template refuses or fails at, for
        what it leaves out of them and of tools, for a second beginning-of-sequence token, and where the text of a
        special token inside a message, a call or a tool cannot be kept as text.
        """
        if not messages:
            raise SuiteError("there are no messages to render")
        ids = self._raw_ids(messages, tools) if self.chat_template == "none" else self._chat_ids(messages, tools)
        if not ids:
            raise SuiteError(f"the messages render to no tokens at all with the tokenizer of {self._name}")
        bos = self.tokenizer.bos_token_id
        if bos is not None and ids[:2] == [bos, bos]:
            raise SuiteError(
                f"the prompt starts with two beginning-of-sequence tokens ({self.tokenizer.bos_token!r}, id {bos}); "
                f"{self._template} writes it twice; correct the template"
            )
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens left out, spaces as they are."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def without_option(self, name: str) -> Renderer:
        """Return a renderer for the same target that does not tell its template an option."""
        other = copy(self)
        other.template_options = {key: value for key, value in self.template_options.items() if key != name}
        other._probe = TemplateProbe(other._probed)
        other._dates, other._dated = set(), False
        return other

    @property
    def template_date(self) -> str | None:
        """The date that a prompt rendered so far holds for today's, year first; null where none does."""
        return DATE.date().isoformat() if self._dated else None

    @property
    def _name(self) -> str:
        return str(self.tokenizer.name_or_path or "the target")

    @property
    def _template(self) -> str:
        own = self.chat_template not in ("model", "none")
        return f"the chat template {self.chat_template}" if own else f"the chat template of {self._name}"

    def _raw_ids(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> list[int]:
        if tools or any(message.get("tool_calls") for message in messages):
            raise SuiteError("raw text (chat_template: none) has no place for tools; name a template that shows them")
        text = "\n\n".join(message["content"] for message in messages)
        front = self.tokenizer.encode("", add_special_tokens=True)
        bos = self.tokenizer.bos_token_id
        opening = [bos] if bos is not None and bos in front else []
        return opening + self._encode_text(text)

    def _chat_ids(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> list[int]:
        thoughts = [message.get("reasoning_content") or "" for message in messages]
        messages = [self._thinking_renamed(with_arguments_read(message)) for message in messages]
        text = self._render(messages, tools)
        self._dated = self._dated or any(date in text for date in self._dates)
        left_out = self._probe.left_out(messages, tools)
        if left_out is not None:
            raise SuiteError(
                f"{self._template} leaves {left_out} out, so that the model would not know of them; name a template "
                "that shows them (chat_template: PATH.jinja, as vllm serve --chat-template takes), or let a server "
                "render them (backend openai with send: messages)"
            )
        if not self._special:
            return self._encode(text)
        calls = [message["tool_calls"] for message in messages if message.get("tool_calls")]
        if any(self._special.within(said) for said in texts_in([calls, list(tools or ())])):
            raise self._cannot_keep_text("it stands in a tool or in a call of one")
        if any(self._special.within(said) for said in texts_in([self.template_options])):
            raise self._cannot_keep_text("it stands in template_options")
        if any(map(self._special.within, thoughts)):
            raise self._cannot_keep_text(
                "it stands in the thinking of an earlier answer; or write earlier_reasoning: stripped"
            )
        if not any(self._special.within(message["content"]) for message in messages):
            return self._encode(text)
        return self._ids_with_contents_as_text(messages, tools, text)

    def _thinking_renamed(self, message: Message) -> Message:
        """Return a message with its thinking in the field in which this template looks for it."""
        thought = message.get("reasoning_content")
        if thought is None or self._probe.thinking_field == "reasoning_content":
            return message
        rest = {name: value for name, value in message.items() if name != "reasoning_content"}
        return {**rest, self._probe.thinking_field: thought}

    def _probed(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> str | None:
        try:
            return self._render(messages, tools)
        except SuiteError:
            return None

    def _ids_with_contents_as_text(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, text: str
    ) -> list[int]:
        """Encode a rendering in which only the special tokens that the template wrote are control tokens."""
        blank, pieces = self._around_contents(messages, tools)
        contents = [message["content"] for message in messages if message["content"]]
        for shown in (contents, [content.strip() for content in contents]):
            if "".join(_interleave(pieces, shown)) == text:
                break
        else:
            raise self._cannot_keep_text("its chat template rewrites what messages say")
        if self._segment_ids(pieces, [_SENTINEL.format(n) for n in range(len(contents))]) != self._encode(blank):
            raise self._cannot_keep_text("its tokens depend on what stands before a control token")
        return self._segment_ids(pieces, shown)

    def _around_contents(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None
    ) -> tuple[str, list[str]]:
        """Render with a mark in place of each content; return that text and the template's pieces around the marks."""
        marks = [_SENTINEL.format(n) for n in range(sum(bool(message["content"]) for message in messages))]
        left = iter(marks)
        marked = [{**message, "content": next(left)} if message["content"] else message for message in messages]
        blank = self._render(marked, tools)
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
            for first, last in self._special.spans(piece):
                ids += self._encode_text(run + piece[end:first])
                ids += self._encode(piece[first:last])
                run, end = "", last
            run += piece[end:] + content
        return ids + self._encode_text(run)

    def _render(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> str:
        """Return the template's text; any fault of it, which is a program of others, is a `SuiteError`."""
        shown = {} if not tools else {"tools": list(tools)}
        try:
            text: str = self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=True,
                strftime_now=self._today,
                **shown,
                **self.template_options,
            )
        except Exception as fault:
            roles = ", ".join(message["role"] for message in messages[:_MOST_ROLES])
            more = f" and {len(messages) - _MOST_ROLES:,} more" if len(messages) > _MOST_ROLES else ""
            raise SuiteError(f"{self._template} refuses messages of roles {roles}{more}: {_told(fault)}") from fault
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as fault:
            raise SuiteError(
                f"{self._template} writes half of a surrogate pair (\\u{ord(text[fault.start]):04x}), no character"
            ) from fault
        return text

    def _today(self, form: str) -> str:
        date = strftime_now(form)
        if date:
            self._dates.add(date)
        return date

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


def template_file(path: str) -> str:
    """Return the text of a chat template of the user's own; raise `SuiteError` for a file that cannot be read."""
    try:
        place = Path(path).expanduser()
        if not place.exists():
            raise SuiteError(
                f"chat_template: there is no file {path} (looked from {Path.cwd()}); it is model, none, or a file"
            )
        if not place.is_file():  # a pipe would never end, nor would a device
            raise SuiteError(f"chat_template: {path} is no regular file; a template is one")
        with place.open("rb") as handle:
            data = handle.read(MOST_TEMPLATE_BYTES + 1)
        if len(data) > MOST_TEMPLATE_BYTES:
            raise SuiteError(
                f"chat_template: {path} has more than {MOST_TEMPLATE_BYTES // 10**6} MB; is it a template?"
            )
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise SuiteError(f"chat_template: {path} is not UTF-8: {fault.reason} at byte {fault.start + 1}") from fault
    except (OSError, ValueError, RuntimeError) as fault:
        raise SuiteError(f"chat_template: {path} cannot be read: {fault}") from fault


def _told(fault: Exception) -> str:
    """Return what a template's fault says: its own words alone where the template or its data is refused."""
    from jinja2 import TemplateError

    text = cut(str(fault), _MOST_OF_A_FAULT)
    if isinstance(fault, TemplateError | ValueError | TypeError) and text:
        return text
    return f"{type(fault).__name__}{text and ': '}{text}"


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


def _interleave(pieces: Sequence[str], contents: Sequence[str]) -> Iterator[str]:
    for piece, content in itertools.zip_longest(pieces, contents, fillvalue=""):
        yield piece
        yield content
