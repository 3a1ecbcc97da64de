"""The reference engine on a real model, SmolLM2-135M-Instruct in float32: what the metric contract promises of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import torch

from draftmark.backends.base import BackendError, TurnRequest
from draftmark.backends.models import locate
from draftmark.backends.reference import ReferenceSpec
from draftmark.results.columns import CellColumns
from draftmark.results.divergences import first_divergence, judge_divergence
from draftmark.results.metrics.identities import broken_identities
from draftmark.results.records import Arm, Observation, Sampling, TurnRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.engines

MODEL = "smollm2-135m"
NONE = Arm(drafter="none", draft_length=0)
SAME = Arm(drafter="draft-model", draft_length=3, options={"model": MODEL})
SHORT = Arm(drafter="draft-model", draft_length=3, options={"model": MODEL, "drop_layers": [3, 12, 14, 17, 25, 26]})
NGRAM = Arm(drafter="ngram", draft_length=8)
SUFFIX = Arm(drafter="suffix", draft_length=8)
ARMS = [arm for arm in (NONE, SAME, SHORT, NGRAM, SUFFIX) if ReferenceSpec().arm_problem(arm) is None]
DRAFTING = [arm for arm in ARMS if arm != NONE]

QUESTIONS = [
    "Repeat this list, but write plums for apples: apples, pears, apples, cherries, apples, pears, apples, quinces.",
    "Write a Python function that returns the n-th Fibonacci number.",
    "Why is the sky blue? Answer in one sentence.",
]


@pytest.fixture(scope="module")
def backend() -> Iterator[Any]:
    try:
        locate(MODEL)
    except BackendError as fault:
        pytest.fail(f"these tests need the demo model: {fault}")
    running = ReferenceSpec().create(MODEL)
    running.start(ARMS)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def answer(backend: Any) -> Callable[[Arm, str], Observation]:
    """Answer a question greedily in at most 40 tokens; each arm answers each question once."""
    seen: dict[tuple[str, str], Observation] = {}

    def ask(arm: Arm, question: str) -> Observation:
        key = (arm.model_dump_json(), question)
        if key not in seen:
            request = TurnRequest(prompt_ids(backend, question), Sampling(max_tokens=40), 0)
            seen[key] = asyncio.run(backend.generate(arm, request))
        return seen[key]

    return ask


def prompt_ids(backend: Any, question: str) -> tuple[int, ...]:
    tokenizer = backend._target.model.tokenizer
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], add_generation_prompt=True, tokenize=False
    )
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_baseline_gives_the_tokens_of_transformers_generate(question: str, backend: Any, answer: Any) -> None:
    prompt = prompt_ids(backend, question)
    told = backend._target.model.module.generate(torch.tensor([prompt]), max_new_tokens=40, do_sample=False)
    assert answer(NONE, question).output_ids == told[0, len(prompt) :].tolist()


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_target_drafting_for_itself_is_accepted_whole(question: str, backend: Any, answer: Any) -> None:
    """Every uncut step that drafted all of D accepts all of it, or the rejection is a numeric tie."""
    seen = answer(SAME, question)
    steps, output, prompt = seen.steps, seen.output_ids, prompt_ids(backend, question)
    assert steps.drafted == [3] * len(steps.drafted)
    place = 1
    for accepted, delivered in zip(steps.accepted, steps.delivered, strict=True):
        if accepted < 3 and delivered == accepted + 1:
            end = place + accepted
            evidence = backend.tie_evidence(SAME, [*prompt, *output[:end]], (output[end], output[end]))
            margin = backend.tie_evidence(SAME, [*prompt, *output[:end]], evidence.top_two).margin
            assert output[end] in evidence.top_two
            assert margin <= evidence.numeric_difference
        place += delivered


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("arm", DRAFTING, ids=lambda arm: f"{arm.label}{' short' if arm == SHORT else ''}")
def test_every_arm_gives_the_baselines_tokens(arm: Arm, question: str, backend: Any, answer: Any) -> None:
    """Or leaves them at a numeric tie."""
    plain, seen = answer(NONE, question), answer(arm, question)
    point = first_divergence(plain.output_ids, seen.output_ids)
    if point is None:
        return
    prefix = [*prompt_ids(backend, question), *plain.output_ids[: point.position]]
    evidence = backend.tie_evidence(arm, prefix, (point.baseline_id, point.arm_id))
    verdict, reason = judge_divergence(
        point,
        margin=evidence.margin,
        numeric_difference=evidence.numeric_difference,
        top_two=evidence.top_two,
    )
    assert verdict == "numeric-tie", reason


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: f"{arm.label}{' short' if arm == SHORT else ''}")
def test_the_identities_hold_on_every_turn(arm: Arm, answer: Any) -> None:
    turns = [
        TurnRecord(cell_id="c", question_id=question, prompt_hash="h", **answer(arm, question).model_dump())
        for question in QUESTIONS
    ]
    columns = CellColumns.from_turns(turns)
    assert broken_identities(columns, drafter=arm.drafter, draft_length=arm.draft_length) == []


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: f"{arm.label}{' short' if arm == SHORT else ''}")
def test_a_steps_parts_never_exceed_the_step_and_steps_make_up_the_decoding(arm: Arm, answer: Any) -> None:
    seen = answer(arm, QUESTIONS[0])
    steps = seen.steps
    for draft_s, verify_s, step_s in zip(steps.draft_s, steps.verify_s, steps.step_s, strict=True):
        assert draft_s + verify_s <= step_s
    assert sum(steps.step_s) == pytest.approx(seen.last_token_s - seen.first_token_s)
    assert seen.sent_s + seen.prefill_s <= seen.first_token_s


def test_dropped_layers_are_mostly_right_and_the_full_model_always(answer: Any) -> None:
    short, same = answer(SHORT, QUESTIONS[1]).steps, answer(SAME, QUESTIONS[1]).steps
    assert 0 < sum(short.accepted) < sum(short.drafted)
    assert sum(same.accepted) >= sum(same.drafted) - 3


def test_a_stop_string_ends_a_real_answer(backend: Any, answer: Any) -> None:
    """The first sentence of the plain answer's text, cut in the middle of a word."""
    text = answer(NONE, QUESTIONS[2]).output_text
    stop = text[len(text) // 2 : len(text) // 2 + 5]
    request = TurnRequest(prompt_ids(backend, QUESTIONS[2]), Sampling(max_tokens=40, stop=(stop,)), 0)
    for arm in (NONE, SAME):
        seen = asyncio.run(backend.generate(arm, request))
        assert seen.finish_reason == "stop"
        assert stop in seen.output_text
        shorter = backend._target.model.decode(seen.output_ids[:-1])
        assert stop not in shorter


def test_bfloat16_answers_and_drafts_well_for_itself() -> None:
    backend = ReferenceSpec(dtype="bfloat16").create(MODEL)
    try:
        backend.start([SAME])
        request = TurnRequest(prompt_ids(backend, QUESTIONS[1]), Sampling(max_tokens=17, ignore_eos=True), 0)
        seen = asyncio.run(backend.generate(SAME, request))
        assert backend.resolved(SAME)["dtype"] == "bfloat16"
        assert seen.output_tokens == 17
        assert sum(seen.steps.accepted) > 0.8 * sum(seen.steps.drafted)
    finally:
        backend.stop()
