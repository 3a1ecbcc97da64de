"""What the probe inside vLLM's worker sees of each step, with runners of both shapes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from draftmark.backends.vllm import worker_extension
from draftmark.backends.vllm.timers import HostTimer
from draftmark.backends.vllm.worker_extension import Probe, StepProbe

SCHEDULING_S, FORWARD_S, SAMPLING_S, DRAFTING_S = 1.0, 10.0, 2.0, 4.0
"""As the made-up runners take."""
VERIFYING_S = FORWARD_S + SAMPLING_S


def taken(probe: Probe, request: str = "a") -> dict[str, Any]:
    rows = probe.take(request)
    assert rows is not None
    return rows


class TestCounts:
    def test_a_request_from_prompt_to_end(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(v1, fake.planned({"a-1": 4}, {"a-1": [3, 1, 4]}), {"a-1": [3, 1, 5]})
        fake.run(v1, fake.planned({"a-1": 1}), {"a-1": [2]})

        rows = taken(probe)
        assert rows["drafted"] == [0, 3, 0]
        assert rows["placeholders"] == [0, 0, 0]
        assert rows["generated"] == [1, 3, 1]
        assert rows["batch"] == [1, 1, 1]
        assert rows["prefill_tokens"] == [5, 0, 0]
        assert (probe.hook, probe.problem, probe.steps) == ("propose_draft_token_ids", None, 3)

    def test_requests_that_share_a_step_see_each_others_prompts(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(v1, fake.planned({"a-1": 3, "b-1": 40}, {"a-1": [3, 1]}, new=["b-1"]), {"a-1": [3, 1, 7], "b-1": [8]})
        fake.run(v1, fake.planned({"a-1": 2, "b-1": 3}, {"a-1": [1], "b-1": [5, 5]}), {"a-1": [2], "b-1": [5, 6]})

        a, b = taken(probe), taken(probe, "b")
        assert (a["batch"], a["prefill_tokens"]) == ([1, 2, 2], [5, 40, 0])
        assert (b["batch"], b["prefill_tokens"]) == ([2, 2], [40, 0])
        assert (a["drafted"], b["drafted"]) == ([0, 2, 1], [0, 2])
        assert (a["generated"], b["generated"]) == ([1, 3, 1], [1, 2])

    def test_a_prompt_read_in_parts_is_prompt_to_its_last_token(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 8}, new=["a-1"]), {"a-1": []})
        fake.run(v1, fake.planned({"a-1": 8}, reading=["a-1"]), {"a-1": []})
        fake.run(v1, fake.planned({"a-1": 1}, reading=["a-1"]), {"a-1": [4]})
        fake.run(v1, fake.planned({"a-1": 1}), {"a-1": [4]})

        rows = taken(probe)
        assert rows["prefill_tokens"] == [8, 8, 1, 0]
        assert rows["generated"] == [0, 0, 1, 1]

    def test_padding_beside_a_prompt_that_the_prefix_cache_answered_is_no_draft(
        self, fake: Any, clock: Any, v1: Any
    ) -> None:
        """One token of it is left to be read, and vLLM pads it to the shape of a decode step."""
        v1.use_async_scheduling = True
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"b-1": 4}, {"b-1": [-1, -1, -1]}), {"b-1": [6, 6]})
        fake.run(
            v1, fake.planned({"a-1": 4, "b-1": 4}, {n: [-1] * 3 for n in ("a-1", "b-1")}, new=["a-1"]), {"a-1": [4]}
        )

        rows = taken(probe)
        assert (rows["drafted"], rows["placeholders"], rows["prefill_tokens"]) == ([0], [3], [1])

    def test_a_preempted_request_reads_its_own_answer_again(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(v1, fake.planned({"a-1": 1}), {"a-1": [9]})
        fake.run(v1, fake.planned({"a-1": 4}, resumed=["a-1"]), {"a-1": []})
        fake.run(v1, fake.planned({"a-1": 3}), {"a-1": [9]})  # the rest of its 7 tokens; the last is the step's own
        fake.run(v1, fake.planned({"a-1": 1}), {"a-1": [9]})

        rows = taken(probe)
        assert rows["prefill_tokens"] == [5, 0, 3, 2, 0]
        assert rows["generated"] == [1, 1, 0, 1, 1]


class TestPlaceholders:
    def test_where_drafts_are_known_minus_one_is_none(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(v1, fake.planned({"a-1": 6}, {"a-1": [11, 12, -1, -1, -1]}), {"a-1": [11, 12, 13]})
        fake.run(v1, fake.planned({"a-1": 6}, {"a-1": [-1] * 5}), {"a-1": [14]})

        rows = taken(probe)
        assert (rows["drafted"], rows["placeholders"]) == ([0, 2, 0], [0, 3, 5])

    def test_an_asynchronous_scheduler_plans_drafts_as_minus_one(self, fake: Any, clock: Any) -> None:
        runner = fake.RunnerV1(clock, ahead=True)
        probe = Probe(runner, clock)
        fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(runner, fake.planned({"a-1": 4}, {"a-1": [-1] * 3}), {"a-1": [1, 2]})

        rows = taken(probe)
        assert (rows["drafted"], rows["placeholders"]) == ([0, 3], [0, 0])

    def test_zeros_after_a_step_without_drafting_are_none(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        v1.fits = False
        fake.run(v1, fake.planned({"a-1": 4}, {"a-1": [3, 1, 4]}), {"a-1": [3, 5]})
        v1.fits = True
        fake.run(v1, fake.planned({"a-1": 4}, {"a-1": [0, 0, 0]}), {"a-1": [0, 7]})
        fake.run(v1, fake.planned({"a-1": 4}, {"a-1": [2, 2, 2]}), {"a-1": [2, 7]})

        rows = taken(probe)
        assert (rows["drafted"], rows["placeholders"]) == ([0, 3, 0, 3], [0, 0, 3, 0])

    def test_what_the_runner_trims_on_its_own_copy_was_not_drafted(self, fake: Any, clock: Any) -> None:
        runner = fake.RunnerV1(clock, ahead=True)
        probe = Probe(runner, clock)
        fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        runner.trimmed = fake.planned({"a-1": 2}, {"a-1": [-1]})
        fake.run(runner, fake.planned({"a-1": 4}, {"a-1": [-1] * 3}), {"a-1": [1]})

        rows = taken(probe)
        assert (rows["drafted"], rows["prefill_tokens"]) == ([0, 1], [5, 0])


class TestTimes:
    def test_a_step_is_verification_then_drafting_after_scheduling(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(v1, fake.planned({"a-1": 1}), {"a-1": [9]})

        rows = taken(probe)
        assert rows["verify_s"] == [VERIFYING_S] * 2
        assert rows["draft_s"] == [DRAFTING_S] * 2
        first = VERIFYING_S + DRAFTING_S  # nothing ran before it
        assert rows["step_s"] == [first, SCHEDULING_S + first]

    def test_steps_follow_one_another_without_a_gap(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        prefilled = clock.mark()
        for _ in range(5):
            clock.work(3)  # the engine's own affairs
            fake.run(v1, fake.planned({"a-1": 1}), {"a-1": [9]})

        assert sum(taken(probe)["step_s"][1:]) == clock.seconds(prefilled, clock.mark())

    def test_a_pause_belongs_to_no_step(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(v1, fake.planned({}), {})
        clock.work(1_000)
        fake.run(v1, fake.planned({"b-1": 5}, new=["b-1"]), {"b-1": [9]})

        assert taken(probe, "b")["step_s"] == [VERIFYING_S + DRAFTING_S]

    def test_what_one_step_took_is_asked_once_however_many_share_it(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        names = [f"r{n}-1" for n in range(8)]
        fake.run(v1, fake.planned(dict.fromkeys(names, 5), new=names), {name: [9] for name in names})
        found = [taken(probe, f"r{n}") for n in range(8)]

        assert [rows["draft_s"] for rows in found] == [[DRAFTING_S]] * 8
        assert clock.asked == 3  # whole, drafting, from start to end

    def test_the_host_clock_tells_its_own_differences(self) -> None:
        timer = HostTimer()
        first = timer.mark()
        assert timer.seconds(first, first + 1.5) == 1.5


class TestRunnerV2:
    def test_tokens_are_noted_when_the_engine_has_waited_for_them(self, fake: Any, clock: Any) -> None:
        runner = fake.RunnerV2(clock)
        probe = Probe(runner, clock)
        results = [
            fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]}),
            fake.run(runner, fake.planned({"a-1": 4}, {"a-1": [-1] * 3}), {"a-1": [1, 2]}),
        ]
        assert [result.get_output().sampled_token_ids for result in results] == [[[9]], [[1, 2]]]

        rows = taken(probe)
        assert probe.hook == "speculator.propose"
        assert (rows["drafted"], rows["generated"]) == ([0, 3], [1, 2])
        assert rows["draft_s"] == [DRAFTING_S] * 2
        assert rows["verify_s"] == [VERIFYING_S] * 2

    def test_a_result_that_nobody_has_waited_for_is_not_there(self, fake: Any, clock: Any) -> None:
        runner = fake.RunnerV2(clock)
        probe = Probe(runner, clock)
        fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        assert probe.take("a") is None

    def test_steps_run_ahead_of_an_answer_that_was_handed_out_are_dropped(self, fake: Any, clock: Any) -> None:
        runner = fake.RunnerV2(clock)
        probe = Probe(runner, clock)
        fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]}).get_output()
        ahead = fake.run(runner, fake.planned({"a-1": 4}, {"a-1": [-1] * 3}), {"a-1": [1]})
        assert taken(probe)["generated"] == [1]
        ahead.get_output()
        assert probe.take("a") is None

    def test_rehearsals_are_no_steps(self, fake: Any, clock: Any) -> None:
        runner = fake.RunnerV2(clock)
        probe = Probe(runner, clock)
        fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]}).get_output()
        runner.rehearse()
        fake.run(runner, fake.planned({"a-1": 1}), {"a-1": [9]}).get_output()

        rows = taken(probe)
        assert rows["draft_s"] == [DRAFTING_S] * 2
        assert probe.steps == 2
        assert probe.take("dummy") is None

    def test_without_a_drafter_all_is_verification(self, fake: Any, clock: Any) -> None:
        runner = fake.RunnerV2(clock, drafts=False)
        probe = Probe(runner, clock)
        fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]}).get_output()

        rows = taken(probe)
        assert (probe.hook, probe.problem) == (None, None)
        assert (rows["verify_s"], rows["draft_s"]) == ([VERIFYING_S], [0.0])


class TestUnknownRunner:
    def test_steps_are_counted_and_timed_whole_but_not_split(self, fake: Any, clock: Any) -> None:
        runner = fake.Bare(clock)
        probe = Probe(runner, clock)
        fake.run(runner, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(runner, fake.planned({"a-1": 3}, {"a-1": [7, 7]}), {"a-1": [7, 8]})

        rows = taken(probe)
        assert "fake_runners.Bare has neither propose_draft_token_ids nor speculator.propose" in str(probe.problem)
        assert (rows["drafted"], rows["generated"]) == ([0, 2], [1, 2])
        assert (rows["verify_s"], rows["draft_s"]) == (None, None)
        assert rows["step_s"] == [FORWARD_S, SCHEDULING_S + FORWARD_S]

    def test_a_plan_that_tells_less_is_taken_as_it_is(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, SimpleNamespace(num_scheduled_tokens={"a-1": 5}), {"a-1": [9]})
        assert taken(probe)["prefill_tokens"] == [4]

    def test_an_engine_that_fails_in_a_step_goes_on_with_the_next(self, fake: Any, clock: Any, v1: Any) -> None:
        whole, faults = v1.execute_model, [RuntimeError("no memory")]

        def failing_once(*given: Any) -> Any:
            if faults:
                raise faults.pop()
            return whole(*given)

        v1.execute_model = failing_once
        probe = Probe(v1, clock)
        with pytest.raises(RuntimeError, match="no memory"):
            fake.run(v1, fake.planned({"a-1": 5}, new=["a-1"]), {"a-1": [9]})
        fake.run(v1, fake.planned({"b-1": 5}, new=["b-1"]), {"b-1": [9]})
        assert probe.take("a") is None
        assert taken(probe, "b")["generated"] == [1]


class TestNames:
    def test_letters_that_vllm_adds_are_left_out_and_likeness_is_not_enough(
        self, fake: Any, clock: Any, v1: Any
    ) -> None:
        probe = Probe(v1, clock)
        fake.run(
            v1,
            fake.planned({"draftmark1-ab12": 5, "draftmark11-ab12": 6}),
            {"draftmark1-ab12": [1], "draftmark11-ab12": []},
        )
        assert taken(probe, "draftmark1")["generated"] == [1]
        assert taken(probe, "draftmark11")["generated"] == [0]

    def test_a_name_may_be_kept_as_it_is(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"draftmark1": 5}), {"draftmark1": [1]})
        assert taken(probe, "draftmark1")["generated"] == [1]

    def test_an_answer_is_handed_out_once(self, fake: Any, clock: Any, v1: Any) -> None:
        probe = Probe(v1, clock)
        fake.run(v1, fake.planned({"a-1": 5}), {"a-1": [1]})
        taken(probe)
        assert probe.take("a") is None
        assert probe.take("never seen") is None

    def test_requests_that_nobody_asks_for_are_forgotten_oldest_first(
        self, fake: Any, clock: Any, v1: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(worker_extension, "MOST_REQUESTS", 3)
        probe = Probe(v1, clock)
        for number in range(5):
            fake.run(v1, fake.planned({f"r{number}-1": 5}), {f"r{number}-1": [1]})
        assert [probe.take(f"r{number}") is None for number in range(5)] == [True, True, False, False, False]


def test_the_worker_gains_three_methods(fake: Any, clock: Any, v1: Any) -> None:
    class Worker(StepProbe):
        model_runner = v1
        device = "cpu"

    worker = Worker()
    found = worker.draftmark_install()
    fake.run(v1, fake.planned({"a-1": 5}), {"a-1": [1]})

    assert found == {
        "runner": "fake_runners.RunnerV1",
        "hook": "propose_draft_token_ids",
        "problem": None,
        "timer": "host clock",
    }
    rows, nothing = worker.draftmark_take(["a", "b"])
    assert rows is not None
    assert rows["generated"] == [1]
    assert nothing is None
    assert worker.draftmark_cost()["steps"] == 1
    assert worker.draftmark_cost()["own_s"] > 0
