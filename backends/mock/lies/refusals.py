"""Lies that answer with an error from the beginning, some under a status of success."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.backends.mock.lies.endings import SERVER_ERROR
from draftmark.backends.mock.lies.lie import Lie, Refusal

if TYPE_CHECKING:
    from draftmark.backends.mock.asking import Ask


def _error(message: str, kind: str, status: int) -> dict[str, object]:
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def _unary_error(ask: Ask, authorization: str | None) -> Refusal:
    return Refusal(200, SERVER_ERROR, {})


def _echo(ask: Ask, authorization: str | None) -> Refusal:
    return Refusal(401, _error(f"bad key: {authorization}", "AuthenticationError", 401), {"WWW-Authenticate": "Bearer"})


def _busy(ask: Ask, authorization: str | None) -> Refusal:
    return Refusal(429, _error("rate limit reached", "RateLimitError", 429), {"Retry-After": "1"})


def _unavailable(ask: Ask, authorization: str | None) -> Refusal:
    return Refusal(503, _error("the engine is not there", "ServiceUnavailableError", 503), {})


def _overflow(ask: Ask, authorization: str | None) -> Refusal:
    text = f"the prompt of {ask.prompt_tokens} tokens and {ask.limit} more are beyond the model's context"
    return Refusal(400, _error(text, "BadRequestError", 400), {})


def _unknown_model(ask: Ask, authorization: str | None) -> Refusal:
    return Refusal(404, _error(f"The model `{ask.model}` does not exist.", "NotFoundError", 404), {})


REFUSALS = (
    Lie(
        "error-unary-200",
        "Status 200, and a body that is an error, also where a stream was asked for.",
        "Failed, the server's message kept.",
        refusal=_unary_error,
    ),
    Lie(
        "auth-echo",
        "Status 401, and a message that repeats the `Authorization` header.",
        "Failed; the key is in no message, record, log or page.",
        refusal=_echo,
    ),
    Lie("rate-limit", "Status 429.", "Failed, counted apart; no retry that nobody sees.", refusal=_busy),
    Lie("unavailable", "Status 503.", "Failed, counted apart; no retry that nobody sees.", refusal=_unavailable),
    Lie(
        "overflow-400",
        "Status 400: the prompt is beyond the context.",
        "Failed or left out as too long, and said so.",
        refusal=_overflow,
    ),
    Lie("unknown-model", "Status 404: no such model.", "Wrong input: the name of the model.", refusal=_unknown_model),
)
