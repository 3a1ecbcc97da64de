"""A server of which nothing is known but that it speaks the OpenAI API: timing and token counts, no acceptance."""

from __future__ import annotations

from typing import ClassVar

from draftmark.backends.http.dialects.base import Dialect, Gift


class OpenaiDialect(Dialect):
    """Any server; messages are sent, since not all take token ids."""

    name: ClassVar[str] = "openai"
    gives: ClassVar[tuple[Gift, ...]] = (
        Gift(
            "cached prompt tokens",
            "usage.prompt_tokens_details.cached_tokens",
            "https://platform.openai.com/docs/api-reference/chat/object",
        ),
    )
