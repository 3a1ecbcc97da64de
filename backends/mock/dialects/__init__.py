"""The engines whose protocols the mock server speaks, one module each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.backends.mock.dialects.llamacpp import LlamacppDialect
from draftmark.backends.mock.dialects.openai import OpenaiDialect
from draftmark.backends.mock.dialects.sglang import SglangDialect
from draftmark.backends.mock.dialects.trtllm import TrtllmDialect
from draftmark.backends.mock.dialects.vllm import VllmDialect

if TYPE_CHECKING:
    from draftmark.backends.mock.dialects.base import State


def dialect_of(state: State) -> OpenaiDialect:
    """Return the dialect that a server's settings name."""
    kinds: dict[str, type[OpenaiDialect]] = {
        "openai": OpenaiDialect,
        "vllm": VllmDialect,
        "sglang": SglangDialect,
        "trtllm": TrtllmDialect,
        "llamacpp": LlamacppDialect,
    }
    return kinds[state.settings.dialect](state)
