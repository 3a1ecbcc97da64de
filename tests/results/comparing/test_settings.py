"""What may differ between runs and what may not, each by the name of its field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.comparing.settings import cell_changes, run_changes
from draftmark.results.records import Arm, CellRecord, ModelIdentity, RunManifest, Sampling, Session
from draftmark.results.records.loads import ClosedLoad

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.comparing import SettingChange

NGRAM = Arm(drafter="ngram", draft_length=3)


def named(changes: list[SettingChange]) -> dict[str, bool]:
    """Field to whether it forbids a comparison."""
    return {change.field: change.forbids for change in changes}


class TestOfCells:
    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"sampling": Sampling(temperature=0.8)}, "sampling.temperature"),
            ({"sampling": Sampling(max_tokens=128)}, "sampling.max_tokens"),
            ({"sampling": Sampling(ignore_eos=True)}, "sampling.ignore_eos"),
            ({"suite_hash": "6" * 64}, "suite_hash"),
            ({"request_sampling": "recorded"}, "request_sampling"),
            ({"load": ClosedLoad(concurrency=8)}, "load.concurrency"),
            ({"engine": {"threads": 4}}, "engine.threads"),
            ({"engine": {"options": {"max_num_seqs": 8}}}, "engine.options.max_num_seqs"),
            ({"resolved": {"gpus": 2, "clock": 1}}, "resolved.gpus"),
        ],
    )
    def test_what_changes_the_work_forbids_a_comparison_and_is_named(
        self, make_cell: Callable[..., CellRecord], changes: dict[str, Any], field: str
    ) -> None:
        before = make_cell("a", NGRAM, resolved={"gpus": 1, "clock": 1})
        after = make_cell("a", NGRAM, **{"resolved": {"gpus": 1, "clock": 1}, **changes})
        assert named(cell_changes(before, after)) == {field: True}

    def test_equal_cells_differ_in_nothing(self, make_cell: Callable[..., CellRecord]) -> None:
        assert cell_changes(make_cell("a", NGRAM), make_cell("b", NGRAM)) == []

    def test_a_seed_matters_only_where_tokens_are_drawn(self, make_cell: Callable[..., CellRecord]) -> None:
        greedy = [make_cell("a", NGRAM, sampling=Sampling(seed=seed)) for seed in (0, 1)]
        drawn = [make_cell("a", NGRAM, sampling=Sampling(seed=seed, temperature=1)) for seed in (0, 1)]
        assert named(cell_changes(*greedy)) == {"sampling.seed": False}
        assert named(cell_changes(*drawn)) == {"sampling.seed": True}

    def test_an_address_and_what_the_engine_resolved_are_told_only(self, make_cell: Callable[..., CellRecord]) -> None:
        before = make_cell("a", NGRAM, engine={"base_url": "http://a"}, resolved={"scheduler.async": True})
        after = make_cell("a", NGRAM, engine={"base_url": "http://b"}, resolved={"scheduler.async": False})
        assert named(cell_changes(before, after)) == {"engine.base_url": False, "resolved.scheduler.async": False}

    @pytest.mark.parametrize(
        ("cached", "forbids"),
        [
            ((0.0, 0.93), {"prefix_cache_hit_share": True}),
            ((0.93, 0.0), {"prefix_cache_hit_share": True}),
            ((None, 0.93), {"prefix_cache_hit_share": True}),
            ((0.40, 0.44), {}),
            ((None, 0.0), {}),
            ((None, None), {}),
        ],
    )
    def test_another_state_of_the_prefix_cache_forbids_a_comparison(
        self,
        make_cell: Callable[..., CellRecord],
        cached: tuple[float | None, float | None],
        forbids: dict[str, bool],
    ) -> None:
        assert named(cell_changes(make_cell("a"), make_cell("a"), cached=cached)) == forbids


class TestOfRuns:
    def changed(self, manifest: RunManifest, **environment: Any) -> RunManifest:
        (session,) = manifest.sessions
        other = Session(started_at=session.started_at, environment=session.environment.model_copy(update=environment))
        return manifest.model_copy(update={"sessions": [other]})

    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({"gpus": ["GPU-B, 80 GiB, 1.0"]}, {"environment.gpus": True}),
            ({"gpus": ["GPU-A, 80 GiB, 1.0"] * 2}, {"environment.gpus": True}),
            ({"gpus": ["GPU-A, 80 GiB, 2.0"]}, {"environment.drivers": False}),
            ({"cpu": "four cores"}, {"environment.cpu": True}),
            ({"cores": 4}, {"environment.cores": True}),
            ({"variables": {"OMP_NUM_THREADS": "1"}}, {"environment.variables.OMP_NUM_THREADS": True}),
            ({"variables": {"PYTHONHASHSEED": "1"}}, {"environment.variables.PYTHONHASHSEED": False}),
            ({"packages": {"vllm": "0.33"}}, {"environment.packages.vllm": False}),
            ({"commit": "abc"}, {"environment.commit": False}),
        ],
    )
    def test_the_machine_forbids_and_versions_are_told(
        self, make_manifest: Callable[..., RunManifest], environment: dict[str, Any], expected: dict[str, bool]
    ) -> None:
        before = self.changed(make_manifest(), gpus=["GPU-A, 80 GiB, 1.0"])
        (session,) = before.sessions
        assert named(run_changes(before, self.changed(before, **environment))) == expected
        assert run_changes(before, before) == []
        assert session.environment.gpus == ["GPU-A, 80 GiB, 1.0"]

    def test_other_weights_of_the_target_forbid_and_another_name_of_the_same_does_not(
        self, make_manifest: Callable[..., RunManifest]
    ) -> None:
        before = make_manifest()
        other = make_manifest(target=ModelIdentity(name="tiny", files={"model.safetensors": "c" * 64}))
        renamed = make_manifest(target=ModelIdentity(name="/models/tiny", files={"model.safetensors": "b" * 64}))
        assert named(run_changes(before, other)) == {"target.files": True}
        assert run_changes(before, renamed) == []

    def test_a_template_of_ones_own_is_compared_by_what_it_says_wherever_it_lies(
        self, make_manifest: Callable[..., RunManifest]
    ) -> None:
        here, there, other = (
            make_manifest(plan={"chat_template": path}, chat_template_hash=digit * 64)
            for path, digit in (("a.jinja", "1"), ("b/a.jinja", "1"), ("a.jinja", "2"))
        )
        targets = make_manifest(plan={"chat_template": "model"})
        assert run_changes(here, there) == []
        assert named(run_changes(here, other)) == {"plan.chat_template": True}
        assert named(run_changes(here, targets)) == {"plan.chat_template": True}

    def test_a_new_drafter_is_what_a_comparison_may_be_made_for(
        self, make_manifest: Callable[..., RunManifest]
    ) -> None:
        runs = [
            make_manifest(models=[ModelIdentity(name="head", files={"model.safetensors": digit * 64})])
            for digit in "de"
        ]
        assert named(run_changes(*runs)) == {"models.head.files": False}

    def test_a_run_continued_on_another_machine_is_of_no_one_machine(
        self, make_manifest: Callable[..., RunManifest]
    ) -> None:
        one = make_manifest()
        both = one.model_copy(update={"sessions": [*one.sessions, *self.changed(one, cpu="four cores").sessions]})
        assert named(run_changes(one, both)) == {"environment.cpu": True}


ON = {"thinking": "on (enable_thinking)", "plan": {"thinking": "on"}}
OFF = {"thinking": "off (enable_thinking)", "plan": {"thinking": "off"}}
SERVED = {"thinking": "as the server does it"}


@pytest.mark.parametrize(
    ("before", "after", "forbids"),
    [(ON, OFF, True), (SERVED, OFF, True), ({}, OFF, True), ({}, SERVED, False), (SERVED, SERVED, None)],
)
def test_runs_that_think_otherwise_are_not_compared(
    make_manifest: Callable[..., Any], before: dict[str, Any], after: dict[str, Any], *, forbids: bool | None
) -> None:
    found = [
        one for one in run_changes(make_manifest(**before), make_manifest(**after)) if one.field == "plan.thinking"
    ]
    assert [one.forbids for one in found] == ([] if forbids is None else [forbids])


def test_runs_whose_later_turns_hold_other_thinking_are_not_compared(make_manifest: Callable[..., Any]) -> None:
    changes = run_changes(make_manifest(), make_manifest(plan={"earlier_reasoning": "kept"}))
    (found,) = [one for one in changes if one.field == "plan.earlier_reasoning"]
    assert (found.before, found.after, found.forbids) == ("stripped", "kept", True)


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ({"budget": 512, "style": {"terse": True}}, {"budget": 0, "style": {"terse": True}}, ["budget"]),
        ({"budget": 512}, {}, ["budget"]),
        ({"a": True}, {"a": 1}, ["a"]),
        ({"a": {"b.c": 1}}, {"a": {"b": {"c": 1}}}, ["a"]),
        ({"a": None}, {}, ["a"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}, []),
    ],
)
def test_runs_whose_template_was_told_otherwise_are_not_compared(
    make_manifest: Callable[..., Any], before: dict[str, Any], after: dict[str, Any], names: list[str]
) -> None:
    changes = run_changes(
        make_manifest(plan={"template_options": before}), make_manifest(plan={"template_options": after})
    )
    found = [one for one in changes if one.field.startswith("plan.template_options.")]
    assert [one.field.removeprefix("plan.template_options.") for one in found] == names
    assert all(one.forbids for one in found)
    assert [(one.before, one.after) for one in found] == [(before.get(name), after.get(name)) for name in names]
