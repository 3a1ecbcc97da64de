"""What each engine's server says beyond the OpenAI API, one module per engine; everything not its own is in `base`.

Reading order: base (what a dialect is), vllm, sglang, trtllm, llamacpp, counting (counters over time), detecting (which
dialect a server speaks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.backends.base import BackendError
from draftmark.backends.http.dialects.llamacpp import LlamacppDialect
from draftmark.backends.http.dialects.openai import OpenaiDialect
from draftmark.backends.http.dialects.sglang import SglangDialect
from draftmark.backends.http.dialects.trtllm import TrtllmDialect
from draftmark.backends.http.dialects.vllm import VllmDialect

if TYPE_CHECKING:
    from draftmark.backends.http.dialects.base import Dialect

__all__ = ["DIALECTS", "dialect_of"]

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (OpenaiDialect(), VllmDialect(), SglangDialect(), TrtllmDialect(), LlamacppDialect())
}


def dialect_of(name: str) -> Dialect:
    """Return a dialect by its name.

    Raises:
        BackendError: there is none of that name.
    """
    found = DIALECTS.get(name)
    if found is None:
        raise BackendError(f"no engine's server is known by the dialect {name!r}; known are {', '.join(DIALECTS)}")
    return found
