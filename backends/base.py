"""The protocol that every engine meets, and what a request to it is.

A backend holds one target and one or more arms and answers one turn at a time with an `Observation`. Its quirks stay in
its own folder; a caller never asks which backend it is, only what it can do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from draftmark.results.errors import DraftmarkError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from draftmark.results.records import Arm, Observation, Sampling


class BackendError(DraftmarkError):
    """An engine, model or drafter that cannot be used as asked (exit 2)."""


class ArmUnavailable(BackendError):
    """This arm cannot run here: a package is missing, or the engine has no such drafter. The text says which."""


class TurnFailed(BackendError):
    """One turn failed and the engine lives on; recorded, counted apart. `kind` is a stable word for the record.

    Tokens that came before the failure are not kept; an engine that wants them kept returns a failed `Observation`.
    """

    def __init__(self, message: str, *, kind: str = "engine-error") -> None:
        super().__init__(message)
        self.kind = kind


class EngineLost(BackendError):
    """The engine itself is gone: it crashed, was killed, or hangs. The text ends with its last words.

    The turns in flight were not answered and say nothing of speculation; they are asked again when the run resumes.
    """


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One model call.

    `prompt_ids` is the whole prompt in the target's tokens, conversation so far included, rendered once by the
    target's own template; null where the target's tokenizer is not at hand, for backends that can do without.
    `messages` is the same conversation as messages, and `tools` the functions that it may call, both as the OpenAI API
    has them; the ids hold the tools already. `response_format` is the form that the answer must have; null for text.
    `seed` is this turn's own seed. `at_once` is how many turns the load keeps in flight.
    `template_options` are for a server that renders messages by itself; the ids were rendered with them.
    """

    prompt_ids: tuple[int, ...] | None
    sampling: Sampling
    seed: int
    at_once: int = 1
    messages: tuple[dict[str, Any], ...] = ()
    tools: tuple[dict[str, Any], ...] | None = None
    response_format: dict[str, Any] | None = None
    template_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[int, ...]:
        """The prompt's ids; raises `TurnFailed` where there are none."""
        if self.prompt_ids is None:
            raise TurnFailed("this engine takes token ids, and the prompt was not rendered to any", kind="prompt")
        return self.prompt_ids


@dataclass(frozen=True, slots=True)
class Asks:
    """What a plan's turns ask of a backend beyond text; known before it starts."""

    prompts_with_form: tuple[str, ...] = ()
    """Names of the prompts whose answers must have a form."""
    own_template: bool = False
    """Prompts are rendered by a template of the plan's own, which a server asked in messages would not use."""

    @property
    def response_format(self) -> bool:
        """Some answers must have a form."""
        return bool(self.prompts_with_form)


@dataclass(frozen=True, slots=True)
class TieEvidence:
    """What the target says of a place where two outputs part, at temperature 0.

    `top_two` are the target's two likeliest tokens after the prefix, `margin` the difference of the logits of the two
    tokens in question in a one-token forward pass, `numeric_difference` the largest difference of any logit between
    one-token and (D+1)-token passes on that prefix. An engine that cannot be made to run just these passes says in
    `passes` which ones it compared.
    """

    top_two: tuple[int, int]
    margin: float
    numeric_difference: float
    passes: str | None = None


class Backend(Protocol):
    """One running engine.

    `start` loads the target and readies every arm, raising `ArmUnavailable` through `arm_problem` rather than by
    surprise later. `generate` must never raise for the fault of one turn other than `TurnFailed`. Arms must not
    influence each other: nothing cached by one answer may speed up the next unless the arm's options say so.
    """

    def start(self, arms: Sequence[Arm]) -> None:
        """Load the target and ready the arms; raise `BackendError` with what to do."""
        ...

    def resolved(self, arm: Arm) -> dict[str, Any]:
        """Return the arm's effective settings as flat names to plain JSON values, read back from the engine."""
        ...

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        """Answer one turn; stamps are `time.perf_counter()` seconds (the runner shifts them to the session's zero).

        Called for several turns at once where the backend's spec allows more than one in flight. Raises `TurnFailed`
        for the fault of this turn, `EngineLost` where there is no engine any more.
        """
        ...

    async def client_facts(self) -> dict[str, Any] | None:
        """Return what the client noticed of itself since this was last asked: its own lateness, seconds of CPU.

        Called before and after each cell; null where no client of ours stands between the stamps and the engine.
        """
        ...

    def counters(self) -> dict[str, float] | None:
        """Return the engine's own counters since it started; null where it has none.

        Called before and after each cell, with nothing in flight. What is counted by all goes by these names:
        `output_tokens`, `drafting_steps`, `drafted_tokens`, `accepted_tokens`, `accepted_tokens[k]` (drafts accepted up
        to position k), `prompt_tokens`, `cached_prompt_tokens`; the rest by the engine's own.
        """
        ...

    def tie_evidence(self, arm: Arm, prefix_ids: Sequence[int], tokens: tuple[int, int]) -> TieEvidence | None:
        """Measure how close two tokens are after a prefix; null where the engine gives no logits.

        `prefix_ids` holds prompt and common output. Called after the measured turns only.
        """
        ...

    def stop(self) -> None:
        """Release the engine; safe to call twice."""
        ...


@runtime_checkable
class KeepsLogs(Protocol):
    """A backend whose engines write logs of their own."""

    def keep_logs_in(self, folder: Path) -> None:
        """Say where to keep them, before `start`; the folder need not exist."""
        ...


@runtime_checkable
class RendersMessages(Protocol):
    """A backend whose engine may be sent messages, which it renders by itself."""

    def thinking_problem(self, options: Mapping[str, Any], *, kept: bool, ids: bool) -> str | None:
        """Say, once started, why its template cannot be handed options, or the thinking of earlier answers.

        Args:
            options: For the template.
            kept: Earlier answers are sent with their thinking.
            ids: Prompts are at hand as token ids.
        """
        ...


class BackendSpec(BaseModel):
    """A `backends:` entry of a plan. Subclasses add the engine's settings and say how to build it.

    Building imports the engine; declaring it must stay free of heavy imports.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    one_engine_per_arm: ClassVar[bool] = False
    """Each arm is an engine of its own, since speculation is a setting of the whole engine. Else one process holds all
    arms, and they take turns prompt by prompt."""
    most_concurrency: ClassVar[int] = 1
    """Most turns that may be in flight at once."""
    queues_requests: ClassVar[bool] = False
    """It may be asked more turns than are to be in flight, and begins each as soon as one has ended: the time in which
    records are written and the next prompt is made ready then leaves no gap."""

    needs_ids: ClassVar[bool] = True
    """It takes prompts as token ids alone, so that a plan must name a target whose tokenizer is at hand."""

    kind: str

    def served_model(self) -> str | None:
        """Return the model's name on a server, by which a plan without a target calls what answers."""
        return None

    def arms_problem(self, arms: Sequence[Arm]) -> str | None:
        """Say why these arms cannot all be measured with this one entry; null if they can."""
        del arms
        return None

    def arm_problem(self, arm: Arm) -> str | None:
        """Say why this backend cannot run the arm on this machine, in a sentence with what to do; null if it can."""
        raise NotImplementedError

    def request_problem(self, asks: Asks) -> str | None:
        """Say why this backend cannot be asked such turns, with what to do; null if it can."""
        del asks
        return None

    def asked_in_messages(self) -> bool:
        """Say whether every turn goes as messages, known before the engine starts: no turn needs ids then."""
        return False

    def thinking_problem(self, options: Mapping[str, Any], *, kept: bool, ids: bool) -> str | None:
        """Say what `RendersMessages` does as far as it is known before the engine starts."""
        del options, kept, ids
        return None

    def context_limit(self, target: str) -> int | None:
        """Return how many tokens prompt and answer may have together, where that is known before the engine starts."""
        del target
        return None

    def create(self, target: str) -> Backend:
        """Import the engine and build the backend for a target as the plan names it; nothing is loaded yet."""
        raise NotImplementedError

    def engine_settings(self) -> dict[str, Any]:
        """Return the settings that belong into the cell key: everything but `kind`, defaults filled in."""
        return self.model_dump(mode="json", exclude={"kind"})
