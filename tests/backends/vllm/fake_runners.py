"""Model runners that look to the probe as vLLM's two do, on a clock that only their work moves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEDULING_S, FORWARD_S, SAMPLING_S, DRAFTING_S = 1.0, 10.0, 2.0, 4.0


class Clock:
    """A timer whose time stands still but for `work`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked = 0

    def work(self, seconds: float) -> None:
        self.now += seconds

    def mark(self) -> float:
        return self.now

    def seconds(self, first: float, second: float) -> float:
        self.asked += 1
        return second - first


def planned(
    scheduled: dict[str, int],
    drafts: dict[str, list[int]] | None = None,
    *,
    new: Sequence[str] = (),
    reading: Sequence[str] = (),
    resumed: Sequence[str] = (),
) -> Any:
    """A scheduler's output: tokens per request, drafts among these, and who is new, still reads its prompt, or resumes.

    All others have generated something before.
    """
    cached = [name for name in scheduled if name not in new]
    return SimpleNamespace(
        num_scheduled_tokens=scheduled,
        scheduled_spec_decode_tokens=drafts or {},
        scheduled_new_reqs=[SimpleNamespace(req_id=name) for name in new],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=cached,
            num_output_tokens=[0 if name in reading else 7 for name in cached],
            resumed_req_ids=set(resumed),
        ),
    )


class RunnerV1:
    """Drafts within `sample_tokens` by `propose_draft_token_ids`, unless its input does not fit the drafter."""

    def __init__(self, clock: Clock, *, ahead: bool = False) -> None:
        self.clock = clock
        self.use_async_scheduling = ahead
        self.speculative_config: object = "ngram"
        self.fits = True
        self.trimmed: Any = None
        """What it runs in place of what was planned, as with the n-gram drafter on a GPU."""
        self.execute_model_state: Any = None
        self.given: dict[str, list[int]] = {}

    def execute_model(self, scheduler_output: Any, intermediate_tensors: Any = None) -> Any:
        if not scheduler_output.num_scheduled_tokens:
            return SimpleNamespace(req_ids=[], sampled_token_ids=[])
        self.clock.work(FORWARD_S)
        self.execute_model_state = SimpleNamespace(scheduler_output=self.trimmed or scheduler_output)
        return None

    def sample_tokens(self, grammar_output: Any) -> Any:
        self.execute_model_state = None
        self.clock.work(SAMPLING_S)
        if self.fits and self.speculative_config is not None:
            self.propose_draft_token_ids()
        return SimpleNamespace(req_ids=list(self.given), sampled_token_ids=list(self.given.values()))

    def propose_draft_token_ids(self) -> None:
        self.clock.work(DRAFTING_S)


class Speculator:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def propose(self, input_batch: Any, *, dummy_run: bool = False) -> None:
        self.clock.work(DRAFTING_S)


class Later:
    """A result whose tokens are there once the engine asks for them."""

    def __init__(self, given: dict[str, list[int]]) -> None:
        self.given = given

    def get_output(self) -> Any:
        return SimpleNamespace(req_ids=list(self.given), sampled_token_ids=list(self.given.values()))


class RunnerV2:
    """Drafts within `sample_tokens` by `speculator.propose`; results come later; has rehearsals of its own."""

    def __init__(self, clock: Clock, *, drafts: bool = True) -> None:
        self.clock = clock
        self.speculative_config = "eagle3" if drafts else None
        self.speculator = Speculator(clock) if drafts else None
        self.given: dict[str, list[int]] = {}

    def execute_model(self, scheduler_output: Any, intermediate_tensors: Any = None, dummy_run: bool = False) -> Any:
        if not scheduler_output.num_scheduled_tokens:
            return SimpleNamespace(req_ids=[], sampled_token_ids=[])
        self.clock.work(FORWARD_S)
        return None

    def sample_tokens(self, grammar_output: Any) -> Later:
        self.clock.work(SAMPLING_S)
        if self.speculator is not None:
            self.speculator.propose("batch")
        return Later(self.given)

    def rehearse(self) -> None:
        self.execute_model(planned({"dummy": 64}), dummy_run=True)
        if self.speculator is not None:
            self.speculator.propose("batch", dummy_run=True)


class Bare:
    """Has neither hook, and samples within `execute_model`, as runners may one day."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.given: dict[str, list[int]] = {}

    def execute_model(self, scheduler_output: Any) -> Any:
        self.clock.work(FORWARD_S)
        return SimpleNamespace(req_ids=list(self.given), sampled_token_ids=list(self.given.values()))


def run(runner: Any, plan: Any, given: dict[str, list[int]]) -> Any:
    """Let a runner do one step that gives these tokens, as the engine's loop does; return its result."""
    runner.clock.work(SCHEDULING_S)
    runner.given = given
    result = runner.execute_model(plan)
    return runner.sample_tokens(None) if result is None else result
