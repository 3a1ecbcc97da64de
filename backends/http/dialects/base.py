"""What a dialect is: what a server takes and tells beyond the OpenAI API, and how that becomes Draftmark's records.

Every conversion is exact or gives null with the reason. What an engine can give is data, with where that is documented.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from draftmark.backends.http.prometheus import read_series, summed
from draftmark.backends.http.shapes import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.answer import Answer
    from draftmark.results.records import ReportedCounts, StepColumns

Topic: TypeAlias = Literal[
    "steps per request",
    "counts per request",
    "counts by window",
    "drafting time",
    "output ids",
    "prompt ids",
    "ids as prompt",
    "cached prompt tokens",
]
MODELS = "/v1/models"
EFFORT = "reasoning_effort"
"""The API's own word for how long to think."""
_EFFORTS = frozenset({"low", "medium", "high"})
"""What it is everywhere; other words are a template's own, and servers read more into some of them."""


@dataclass(frozen=True)
class Gift:
    """Something that a server can give, whether or not Draftmark reads it, and on what ground that is said."""

    topic: Topic
    how: str
    """Which field, and what the server must be started with for it."""
    source: str
    """Documentation page, source file or recorded response."""
    tried: bool = False
    """Whether it was seen with the real engine."""


@dataclass(frozen=True)
class Acceptance:
    """What one answer tells of drafting."""

    steps: StepColumns | None = None
    steps_inferred: bool = False
    """As in `Observation`: which steps had no draft is inferred, or the order of the steps is unknown."""
    reported: ReportedCounts | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """Plain JSON values worth keeping, by the engine's own names."""
    reasons: tuple[str, ...] = ()
    """Why something is null that another server or setting would give."""
    steps_in_order: bool = True
    """As in `Observation`."""


class Dialect:
    """The OpenAI API and nothing else; engines add to it."""

    name: ClassVar[str] = "openai"
    gives: ClassVar[tuple[Gift, ...]] = ()
    takes_ids: ClassVar[bool] = False
    """`/v1/completions` takes token ids as the prompt."""
    completions_take_format: ClassVar[bool] = False
    """`/v1/completions` takes `response_format`, as chat does everywhere."""
    takes_template_options: ClassVar[bool] = False
    """`/v1/chat/completions` takes `chat_template_kwargs`, and `reasoning_content` of earlier answers."""
    counters_path: ClassVar[str | None] = None
    """Where its counters are."""
    more_counters_paths: ClassVar[tuple[str, ...]] = ()
    """Further places that hold a part of the counters."""
    drained_paths: ClassVar[tuple[str, ...]] = ()
    """Of those, the ones that forget what they told: what they give is since the last time they were asked."""
    counter_names: ClassVar[Mapping[str, str]] = {}
    """The server's names, less `_total`, to the names of `Backend.counters`."""
    info_paths: ClassVar[tuple[str, ...]] = (MODELS,)
    flush_path: ClassVar[str | None] = None
    """A POST to it empties the cache of prompts."""

    @property
    def counters_paths(self) -> tuple[str, ...]:
        """All places that hold counters; none where the server has none."""
        return () if self.counters_path is None else (self.counters_path, *self.more_counters_paths)

    def body(self, body: Mapping[str, Any], *, drafts: bool) -> dict[str, Any]:
        """Return a request's body with what this server must be asked for; keys that are there stay.

        Args:
            body: Of `/v1/completions` or `/v1/chat/completions`.
            drafts: The arm speculates.
        """
        del drafts
        return with_usage(body)

    def template_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options of the chat template as keys of a request; how long to think has a key in the API itself."""
        effort = {name: value for name, value in options.items() if name == EFFORT and value in _EFFORTS}
        rest = {name: value for name, value in options.items() if name not in effort}
        return effort | ({"chat_template_kwargs": rest} if rest else {})

    def thinking_problem(self, options: Mapping[str, Any], *, kept: bool) -> str | None:
        """Say why a server that is asked in messages cannot be told to think, or sent earlier thinking."""
        if self.takes_template_options:
            return None
        more = self.template_options(options).get("chat_template_kwargs")
        if more:
            return (
                f"the OpenAI API takes nothing for a chat template ({', '.join(more)}) but how long to think: write "
                "thinking: low, medium or high, or dialect: and the engine that this server is"
            )
        return (
            "the OpenAI API takes no thinking of earlier answers: write earlier_reasoning: stripped" if kept else None
        )

    def acceptance(self, answer: Answer, *, drafts: bool, resolved: Mapping[str, Any] | None = None) -> Acceptance:
        """Return what an answer tells of drafting.

        Args:
            answer: As read; one that failed tells nothing.
            drafts: The arm speculates.
            resolved: What `resolved` returned of this server, where an engine's counts mean nothing without it.
        """
        del answer, resolved
        return Acceptance(reasons=("the OpenAI API tells nothing of drafting",) if drafts else ())

    def series(self, body: bytes, path: str | None = None) -> dict[str, float]:
        """Return the counters in what a counters' path gave, one number per series as `prometheus.read_series` does.

        Raises:
            MetricsUnreadable: it is something else.
        """
        del path
        return read_series(body.decode("utf-8", "replace"), self.counter_names)

    def counters(self, body: bytes, path: str | None = None) -> dict[str, float] | None:
        """Return the counters of one path by the names of `Backend.counters`; null where the server has none."""
        if self.counters_path is None:
            return None
        return self.named(summed(self.series(body, path)))

    def named(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Return sums over series with those put together that the server counts apart."""
        return dict(sums)

    def resolved(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the server tells of itself as flat names to plain JSON values.

        Args:
            info: Decoded JSON by path, for the `info_paths` that answered.
        """
        return served(info)


def with_usage(body: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Return a body that asks a stream for its token counts, with further stream options."""
    if not body.get("stream"):
        return dict(body)
    return {**body, "stream_options": {"include_usage": True, **options, **(body.get("stream_options") or {})}}


def served(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model of a server that lists one, and its context limit where that is told."""
    listed = info.get(MODELS)
    models = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(models, list) or len(models) != 1 or not isinstance(models[0], dict):
        return {}
    model = models[0]
    found = {"served_model": model.get("id"), "context_limit": model.get("max_model_len")}
    return {name: value for name, value in found.items() if isinstance(value, str | int)}


def chosen(facts: object, names: Mapping[str, str]) -> dict[str, Any]:
    """Return some facts of a server under Draftmark's names: plain values that are there and not null."""
    if not isinstance(facts, dict):
        return {}
    return {
        ours: facts[theirs] for theirs, ours in names.items() if isinstance(facts.get(theirs), str | int | float | bool)
    }


def whole(holder: object, *keys: str) -> int | None:
    """Return the first of some keys that holds a count."""
    if not isinstance(holder, dict):
        return None
    return next((found for key in keys if (found := count_of(holder.get(key))) is not None), None)


def wholes(holder: object, *keys: str) -> list[int] | None:
    """Return the first of some keys that holds a list of counts."""
    if not isinstance(holder, dict):
        return None
    for key in keys:
        value = holder.get(key)
        if isinstance(value, list):
            counts = [found for one in value if (found := count_of(one)) is not None]
            if len(counts) == len(value):
                return counts
    return None
