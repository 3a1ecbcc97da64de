"""A tokenizer read from its folder without transformers, which takes seconds to import, torch and all.

Only folders that transformers takes as they stand are read: many others it rebuilds by the model's class, or changes
by a setting or by the model's name. What qualifies is a list of what is known to change nothing, made after
`AutoTokenizer.from_pretrained` and `TokenizersBackend` of transformers 5.19; everything else is left to transformers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.suites.chat_template import compile_template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Template

_CLASSES = frozenset({"TokenizersBackend", "PreTrainedTokenizerFast"})
"""Two names of the class that takes tokenizer.json as it is."""

_MODELS = frozenset({"llama"})
"""`model_type`s of which it is known that transformers then takes that class, and mends nothing."""

_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_HARMLESS = frozenset(
    {"backend", "chat_template", "clean_up_tokenization_spaces", "is_local", "local_files_only", "model_max_length",
     "tokenizer_class", *_NAMED}
)  # fmt: skip
"""Keys of tokenizer_config.json that change no token of a prompt."""

_FILES = frozenset({"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"})
_MORE = ("tokenizer", "special_tokens", "added_tokens", "chat_template", "additional_chat", "vocab", "merges", "tekken")
"""How other files begin that transformers looks at."""

_OPTIONS = frozenset({"trust_remote_code", "local_files_only"})


class FolderTokenizer:
    """The part of a transformers tokenizer that `Renderer` uses, with the same answers."""

    def __init__(self, name: str, core: Any, named: Mapping[str, str], chat_template: str | None) -> None:
        self.name_or_path = name
        self.chat_template = chat_template
        self.added_tokens_decoder: dict[int, Any] = core.get_added_tokens_decoder()
        self._core = core
        self._named = dict(named)
        self._template: Template | None = None

    def __len__(self) -> int:
        """Entries of the vocabulary, added ones included."""
        return int(self._core.get_vocab_size(with_added_tokens=True))

    @property
    def bos_token(self) -> str | None:
        """The beginning-of-sequence token's text."""
        return self._named.get("bos_token")

    @property
    def bos_token_id(self) -> int | None:
        """Its id."""
        return None if self.bos_token is None else self._core.token_to_id(self.bos_token)

    def encode(
        self, text: str, *, add_special_tokens: bool, split_special_tokens: bool = False, verbose: bool = False
    ) -> list[int]:
        """Return a text's ids; special tokens' texts count as text if split. `verbose` means nothing here."""
        self._core.encode_special_tokens = split_special_tokens
        return list(self._core.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool, clean_up_tokenization_spaces: bool) -> str:
        """Return the text of ids; raises `ValueError` if it should clean spaces up, which nothing here does."""
        if clean_up_tokenization_spaces:
            raise ValueError("spaces are never cleaned up")
        return str(self._core.decode(list(ids), skip_special_tokens=skip_special_tokens))

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tokenize: bool,
        add_generation_prompt: bool,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> str:
        """Return the text of a conversation; raises `jinja2.TemplateError` where the template refuses it.

        `options` are further names for the template; they stand before the tokens' own.
        """
        if tokenize or self.chat_template is None:
            raise ValueError("a template gives text alone, and there must be one")
        if self._template is None:
            self._template = compile_template(self.chat_template)
        return self._template.render(
            messages=messages,
            tools=tools,
            documents=None,
            add_generation_prompt=add_generation_prompt,
            **{**self._named, **options},
        )


def folder_tokenizer(name_or_path: str, options: Mapping[str, Any]) -> FolderTokenizer | None:
    """Return the tokenizer of a folder that transformers takes as it stands; null where it might not, or is damaged.

    `options` are those of `AutoTokenizer.from_pretrained`.
    """
    folder = Path(name_or_path)
    if not set(options) <= _OPTIONS or options.get("trust_remote_code") or not folder.is_dir():
        return None
    try:
        from tokenizers import Tokenizer

        settings, model = (
            json.loads((folder / name).read_bytes()) for name in ("tokenizer_config.json", "config.json")
        )
        if not _as_it_stands(folder, settings, model):
            return None
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        named = {key: settings[key] for key in _NAMED if settings.get(key) is not None}
        if not _taken_as_it_is(json.loads(text), named):
            return None
        written = folder / "chat_template.jinja"
        template = written.read_text(encoding="utf-8") if written.exists() else settings.get("chat_template")
        return FolderTokenizer(name_or_path, Tokenizer.from_str(text), named, template)
    except Exception:  # noqa: BLE001 - whatever is wrong, transformers says it better; tokenizers raises Exception itself
        return None


def _as_it_stands(folder: Path, settings: Any, model: Any) -> bool:
    """Say whether files and settings are all among those that change nothing."""
    names = {path.name for path in folder.iterdir()}
    templates = ("chat_template" in settings) + ("chat_template.jinja" in names)
    return (
        isinstance(settings, dict)
        and set(settings) <= _HARMLESS
        and settings.get("tokenizer_class") in _CLASSES
        and model.get("model_type") in _MODELS
        and templates < 2
        and isinstance(settings.get("chat_template"), str | None)
        and all(isinstance(settings.get(key), str | None) for key in _NAMED)
        and not any(name.startswith(_MORE) or name.endswith(".model") for name in names - _FILES)
    )


def _taken_as_it_is(core: Any, named: Mapping[str, str]) -> bool:
    """Say whether tokenizer.json has all that transformers would add or replace otherwise."""
    special = {token["content"] for token in core["added_tokens"] if token["special"]}
    return (
        set(named.values()) <= special
        and core["truncation"] is None
        and core["padding"] is None
        and core["post_processor"] is not None
    )
