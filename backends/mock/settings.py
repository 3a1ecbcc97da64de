"""How a mock server behaves: its dialect, its speed, what it accepts of its drafts, and how it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from draftmark.backends.base import BackendError
from draftmark.backends.mock.lies import LIES

DIALECTS = ("openai", "vllm", "sglang", "trtllm", "llamacpp")
"""The engines whose protocols are spoken; `draftmark.backends.mock.dialects` has a module for each."""

DEFAULT_OUTPUT_TOKENS = 128
"""Length of an answer whose request names none, where the server has no natural end, tokens."""


@dataclass(frozen=True)
class MockSettings:
    """What a server is told once; equal settings and equal requests give equal answers.

    Raises:
        BackendError: For a value that makes no sense, in a sentence that says which.
    """

    dialect: str = "vllm"
    ttft_s: float = 0.1
    """From the request's last byte to its first token, seconds."""
    step_s: float = 0.025
    """Of one engine step after the first token, seconds."""
    draft_length: int = 0
    """D, the most tokens a step drafts; 0 for an engine without speculation."""
    accept: tuple[float, ...] = ()
    """Share of drafts accepted at each position, of all drafts: falls or stays from position to position."""
    accepted_cycle: tuple[int, ...] = ()
    """Accepted tokens of one drafting step after the other, over and over; instead of `accept`."""
    no_draft_share: float = 0.0
    """Share of steps that draft nothing, spread evenly; 0 up to 1."""
    tokens_per_chunk: int = 1
    """A chunk waits until it holds at least so many tokens; the first token is never held back."""
    output_tokens: int | None = None
    """Where an answer ends by itself, tokens; null for as long as is asked."""
    reasoning_tokens: int = 0
    """How many tokens at the start of a chat's answer are thinking."""
    max_model_len: int = 32768
    """Longest prompt and answer together, tokens."""
    model: str = "mock-model"
    """The name under `/v1/models`; a request may name any."""
    per_request: Literal["none", "summary", "detailed"] = "detailed"
    """What vLLM's `--per-request-spec-decode-metrics` would be."""
    engines: int = 1
    """How many data-parallel engines share the requests, each with counters of its own."""
    loading_s: float = 0.0
    """How long after its start the server is not ready, seconds."""
    lies: tuple[str, ...] = ()
    """Names of the lies that every answer tells."""
    seed: int = 0
    """Of the draws against `accept`."""
    port: int = 0
    """On the loopback; 0 for a free one."""

    def __post_init__(self) -> None:
        problem = next(iter(self._problems()), None)
        if problem is not None:
            raise BackendError(f"mock server: {problem}")

    def _problems(self) -> list[str]:
        found = [*self._problems_of_drafts(), *self._problems_of_sizes()]
        if self.dialect not in DIALECTS:
            found.append(f"no dialect {self.dialect!r}; there are {', '.join(DIALECTS)}")
        unknown = [name for name in self.lies if name not in LIES]
        if unknown:
            found.append(unknown_lie(unknown[0]))
        return found

    def _problems_of_drafts(self) -> list[str]:
        found = []
        if self.draft_length < 0:
            found.append(f"a draft length of {self.draft_length}; 0 is none")
        if self.accept and self.accepted_cycle:
            found.append("acceptance given twice, as rates and as a cycle; give one")
        if self.draft_length and not (self.accept or self.accepted_cycle):
            found.append("a draft length without acceptance; give rates per position or a cycle of counts")
        if not all(0 <= rate <= 1 for rate in self.accept):
            found.append(f"acceptance rates {list(self.accept)}; each is a share between 0 and 1")
        if list(self.accept) != sorted(self.accept, reverse=True):
            found.append(f"acceptance rates {list(self.accept)} rise; a later token is accepted at most as often")
        if len(self.accept) > self.draft_length:
            found.append(f"{len(self.accept)} acceptance rates for a draft length of {self.draft_length}")
        if any(not 0 <= count <= self.draft_length for count in self.accepted_cycle):
            found.append(f"a cycle {list(self.accepted_cycle)} beyond a draft length of {self.draft_length}")
        if not 0 <= self.no_draft_share <= 1:
            found.append(f"a share of steps without a draft of {self.no_draft_share}; it lies between 0 and 1")
        return found

    def _problems_of_sizes(self) -> list[str]:
        found = []
        for name in ("ttft_s", "step_s", "loading_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                found.append(f"{name} of {getattr(self, name)}; it is a time in seconds, 0 or more")
        for name in ("tokens_per_chunk", "max_model_len", "engines"):
            if getattr(self, name) < 1:
                found.append(f"{name} of {getattr(self, name)}; it is 1 or more")
        if self.output_tokens is not None and self.output_tokens < 1:
            found.append(f"output_tokens of {self.output_tokens}; it is 1 or more")
        if self.reasoning_tokens < 0:
            found.append(f"reasoning_tokens of {self.reasoning_tokens}; it is 0 or more")
        if self.per_request not in {"none", "summary", "detailed"}:
            found.append(f"per-request statistics {self.per_request!r}; they are none, summary or detailed")
        if not 0 <= self.port <= 65535:
            found.append(f"port {self.port}; it lies between 0 and 65535")
        return found


def unknown_lie(name: str) -> str:
    """Return what to say of a lie that there is not."""
    from difflib import get_close_matches

    near = get_close_matches(name, LIES, n=1)
    return f"no lie {name!r}; " + (f"did you mean {near[0]!r}?" if near else "docs/mock.md lists them")
