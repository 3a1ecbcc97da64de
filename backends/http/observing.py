"""From a read answer to the record of its turn: stamps, tokens, acceptance, and what is worth knowing besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.results.records import Observation

if TYPE_CHECKING:
    from draftmark.backends.http.answer import Answer
    from draftmark.backends.http.dialects.base import Acceptance
    from draftmark.backends.http.exchange import Exchange
    from draftmark.results.records import Sampling


def observation(exchange: Exchange, answer: Answer, acceptance: Acceptance, sampling: Sampling) -> Observation:
    """Put together what is known of one turn; a failed one keeps its stamps and what came before it failed."""
    failed = answer.failure is not None
    chunks = answer.chunks
    return Observation(
        status="failed" if failed else "ok",
        failure=answer.failure,
        finish_reason=_finish(answer, sampling),
        prompt_tokens=answer.prompt_tokens,
        output_tokens=answer.output_tokens,
        output_ids=None if answer.ids is None else list(answer.ids),
        output_text=answer.text,
        token_source=answer.token_source,
        thinking_tokens=answer.thinking_tokens,
        sent_s=exchange.sent_s,
        first_byte_s=exchange.first_byte_s,
        first_token_s=chunks[0].at_s if chunks else None,
        last_token_s=chunks[-1].at_s if chunks else None,
        done_s=exchange.done_s,
        chunk_s=[chunk.at_s for chunk in chunks],
        chunk_tokens=[chunk.tokens for chunk in chunks],
        steps=None if failed else acceptance.steps,
        steps_inferred=not failed and acceptance.steps_inferred,
        steps_in_order=acceptance.steps_in_order,
        reported=None if failed else acceptance.reported,
        details=_details(exchange, answer, acceptance),
    )


def _finish(answer: Answer, sampling: Sampling) -> Any:
    """Tell an answer that filled the context from one that reached its limit, and an end from a stop string's."""
    if answer.finish_reason == "stop" and not sampling.stop:
        return "eos"  # servers that do not tell the two apart were given no stop string
    cut = answer.finish_reason == "length" and answer.output_tokens is not None
    return "context" if cut and (answer.output_tokens or 0) < sampling.max_tokens else answer.finish_reason


def _details(exchange: Exchange, answer: Answer, acceptance: Acceptance) -> dict[str, Any]:
    found = {
        "counted_tokens": answer.counted_tokens,
        "cached_prompt_tokens": answer.cached_prompt_tokens,
        "reasoning_tokens": answer.reasoning_tokens,
        "reasoning_text": answer.reasoning or None,
        "first_answer_after_s": None if answer.first_answer_s is None else answer.first_answer_s - exchange.sent_s,
        "connect_s": exchange.connect_s,
        "notes": answer.notes or None,
        "acceptance_unknown": "; ".join(acceptance.reasons) or None,
    }
    return {**acceptance.details, **{name: value for name, value in found.items() if value is not None}}
