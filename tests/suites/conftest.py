"""A tokenizer of our own, made at once: byte-level pairs learnt from a few sentences, with ChatML's control tokens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from draftmark.suites.rendering import Renderer

if TYPE_CHECKING:
    from collections.abc import Callable

settings.register_profile("suites", deadline=None)
settings.load_profile("suites")

CHATML = (Path(__file__).parent / "chatml.jinja").read_text(encoding="utf-8").removesuffix("\n")

_TEXT = (
    "the level of the river was read at the bridge and at the weir every hour of the day",
    "for name in names: return name if name is not None else value",
    "2031-03-04 08:15:16 INFO gateway request done path=/v1/orders status=200",
    "user assistant system summer winter garden letter market window island",
)


@pytest.fixture(scope="session")
def make_tokenizer() -> Callable[..., Any]:
    """Build a tokenizer with a given chat template; `bos` is put in front by the tokenizer itself, as Llama's does.

    `marks` become tokens of their own, control tokens at will.
    """

    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    def make(
        chat_template: str | None = CHATML,
        *,
        bos: str | None = None,
        marks: tuple[str, ...] = (),
        control: bool = False,
    ) -> Any:
        special = ["<|im_start|>", "<|im_end|>"] + ([bos] if bos else [])
        core = Tokenizer(models.BPE())
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = decoders.ByteLevel()
        core.train_from_iterator(
            _TEXT,
            trainers.BpeTrainer(
                vocab_size=500,
                special_tokens=[AddedToken(token, special=True, normalized=False) for token in special],
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
        if bos:
            core.post_processor = processors.TemplateProcessing(
                single=f"{bos} $A", special_tokens=[(bos, core.token_to_id(bos))]
            )
        core.add_tokens([AddedToken(mark, special=control, normalized=False) for mark in marks])
        named = {"bos_token": bos, "eos_token": "<|im_end|>"}
        build: Any = PreTrainedTokenizerFast
        return build(tokenizer_object=core, chat_template=chat_template, **named)

    return make


@pytest.fixture(scope="session")
def tokenizer(make_tokenizer: Callable[..., Any]) -> Any:
    return make_tokenizer()


@pytest.fixture(scope="session")
def renderer(tokenizer: Any) -> Renderer:
    return Renderer(tokenizer)
