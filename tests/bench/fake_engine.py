"""An engine whose truth is known: what it answers, and how long every part takes, is written down here.

Token ids are character codes. An answer is `max_tokens` letters that follow from the prompt. The clock is a number that
the engine itself moves: prefill takes 1 s, a step of the baseline 0.5 s, a drafting step 0.75 s of which 0.25 s is
drafting. Every draft is accepted, so an arm with draft length D delivers D + 1 tokens a step. Words in the last message
make it misbehave: FAIL, CRASH, PARTIAL, DIVERGE (drafting arms put `!` at index 2), UNSTORABLE, EMPTY.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from draftmark.backends.base import BackendError, BackendSpec, EngineLost, TieEvidence, TurnFailed
from draftmark.results.records import Observation, StepColumns, TurnFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.base import TurnRequest
    from draftmark.results.records import Arm

PREFILL_S, STEP_S, DRAFTING_STEP_S, DRAFT_S = 1.0, 0.5, 0.75, 0.25


class Clock:
    """Seconds that pass only when told to; starts far from zero so that unshifted stamps are seen."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()
REQUESTS: list[tuple[Arm, TurnRequest]] = []
"""What was asked, in order; tests empty it."""


class FakeSpec(BackendSpec):
    kind: Literal["fake"] = "fake"
    lacks: list[str] = Field(default_factory=list)
    """Drafters it cannot run."""
    real_step_s: float | None = None
    """Sleep this long per step on the real clock, for tests that kill or interrupt a process."""
    threads: int = 2
    starts: bool = True

    def arm_problem(self, arm: Arm) -> str | None:
        return f"the fake engine has no {arm.drafter}" if arm.drafter in self.lacks else None

    def create(self, target: str) -> FakeBackend:
        return FakeBackend(self)


class ApartSpec(FakeSpec):
    """Each arm is an engine of its own, which answers up to four turns at once."""

    one_engine_per_arm: ClassVar[bool] = True
    most_concurrency: ClassVar[int] = 4

    kind: Literal["apart"] = "apart"  # type: ignore[assignment]
    dies: dict[str, int] = Field(default_factory=dict)
    """Drafter to the number of measured turns after which its engine is gone."""
    broken: list[str] = Field(default_factory=list)
    """Drafters whose engine does not start."""

    def create(self, target: str) -> ApartBackend:
        return ApartBackend(self)


STARTS: list[str] = []
"""Labels of arms whose engines were started, in order; tests empty it."""


class FakeBackend:
    def __init__(self, spec: FakeSpec) -> None:
        self._spec = spec
        self.clock = time.perf_counter if spec.real_step_s is not None else CLOCK

    def start(self, arms: Sequence[Arm]) -> None:
        if not self._spec.starts:
            raise RuntimeError("the fake engine does not start")
        assert len({arm.model_dump_json() for arm in arms}) == len(arms)

    def resolved(self, arm: Arm) -> dict[str, Any]:
        return {"threads": self._spec.threads, "drafter": arm.drafter, "shape": (1, 2)}

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        REQUESTS.append((arm, request))
        asked = text(request.prompt_ids).rsplit("user:", 1)[-1]
        if "FAIL" in asked:
            raise TurnFailed("the prompt says FAIL", kind="asked-to")
        if "CRASH" in asked:
            raise ZeroDivisionError("the prompt says CRASH")
        sent_s = self.clock()
        if "PARTIAL" in asked:
            failure = TurnFailure(kind="context-limit", message="half an answer")
            return Observation(status="failed", failure=failure, sent_s=sent_s, output_tokens=3)
        if "EMPTY" in asked:
            return Observation(sent_s=sent_s, done_s=sent_s, output_ids=[], output_text="", output_tokens=0)
        return self._answer(arm, request, asked, sent_s)

    def _answer(self, arm: Arm, request: TurnRequest, asked: str, sent_s: float) -> Observation:
        ids = answer(request.prompt_ids, request.sampling.max_tokens)
        if "DIVERGE" in asked and arm.draft_length:
            ids[2] = ord("!")
        self._pass(PREFILL_S)
        chunk_s, chunk_tokens = [self.clock()], [1]
        left, delivered = len(ids) - 1, []
        while left:
            self._pass(DRAFTING_STEP_S if arm.draft_length else STEP_S)
            delivered.append(min(left, arm.draft_length + 1))
            left -= delivered[-1]
            chunk_s.append(self.clock())
            chunk_tokens.append(delivered[-1])
        steps, step_s = len(delivered), DRAFTING_STEP_S if arm.draft_length else STEP_S
        return Observation(
            finish_reason="length",
            prompt_tokens=len(request.prompt_ids),
            output_tokens=len(ids),
            output_ids=ids,
            output_text=text(ids),
            token_source="ids",
            sent_s=sent_s,
            first_token_s=chunk_s[0],
            last_token_s=chunk_s[-1],
            done_s=chunk_s[-1],
            chunk_s=chunk_s,
            chunk_tokens=list(chunk_tokens),
            prefill_s=PREFILL_S,
            steps=StepColumns(
                drafted=[arm.draft_length] * steps,
                accepted=[arm.draft_length] * steps,
                delivered=delivered,
                draft_s=[DRAFT_S if arm.draft_length else 0.0] * steps,
                verify_s=[STEP_S] * steps,
                step_s=[step_s] * steps,
            ),
            details={"thing": object()} if "UNSTORABLE" in asked else {},
        )

    def _pass(self, seconds: float) -> None:
        if self._spec.real_step_s is None:
            CLOCK.now += seconds
        else:
            time.sleep(self._spec.real_step_s)

    def tie_evidence(self, arm: Arm, prefix_ids: Sequence[int], tokens: tuple[int, int]) -> TieEvidence | None:
        prompt = text(prefix_ids)
        if "NO-LOGITS" in prompt:
            return None
        if "NO-CHECK" in prompt:
            raise RuntimeError("no memory left")
        margin = 0.001 if "TIE" in prompt else 5.0
        return TieEvidence(top_two=tokens, margin=margin, numeric_difference=0.01)

    async def client_facts(self) -> dict[str, Any] | None:
        return None

    def counters(self) -> dict[str, float] | None:
        return None

    def stop(self) -> None:
        pass


class ApartBackend(FakeBackend):
    def __init__(self, spec: ApartSpec) -> None:
        super().__init__(spec)
        self._apart = spec
        self.in_flight = self.most_in_flight = self.answered = self.tokens = 0
        self._arm: Arm | None = None

    def start(self, arms: Sequence[Arm]) -> None:
        (self._arm,) = arms
        if self._arm.drafter in self._apart.broken:
            raise BackendError(f"no engine for {self._arm.drafter}")
        STARTS.append(self._arm.label)

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        assert arm == self._arm
        if self._apart.dies.get(arm.drafter) == self.answered:
            raise EngineLost("the engine was killed (SIGKILL); its last words: goodbye")
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        for _ in range(3):  # let the others come
            await asyncio.sleep(0)
        seen = await super().generate(arm, request)
        self.in_flight -= 1
        self.answered += "user:Warm-up" not in text(request.prompt_ids)
        self.tokens += seen.output_tokens or 0
        return seen.model_copy(update={"details": {"in_flight": self.most_in_flight}})

    def counters(self) -> dict[str, float] | None:
        assert self.in_flight == 0
        return {"tokens": float(self.tokens)}


class FakeRenderer:
    """Character codes, with roles spelt out."""

    def prompt_ids(self, messages: Sequence[dict[str, Any]], tools: object = None) -> list[int]:
        return [ord(c) for message in messages for c in f"{message['role']}:{message['content']}\n"]

    def decode(self, ids: Sequence[int]) -> str:
        return text(ids)


def text(ids: Sequence[int]) -> str:
    return "".join(map(chr, ids))


def answer(prompt_ids: Sequence[int], tokens: int) -> list[int]:
    """The baseline's answer: letters that differ from prompt to prompt."""
    return [97 + (sum(prompt_ids) + 7 * index) % 26 for index in range(tokens)]
