"""The reference engine behind the protocol: starting, resolved settings, failures, arms that do not mix, ties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from draftmark.backends.base import ArmUnavailable, BackendError, TurnFailed
from draftmark.backends.reference import ReferenceSpec
from draftmark.backends.reference.ties import likeliest_two
from draftmark.results.columns import CellColumns
from draftmark.results.metrics.identities import broken_identities
from draftmark.results.records import Arm, TurnRecord

if TYPE_CHECKING:
    from pathlib import Path

NONE = Arm(drafter="none", draft_length=0)
NGRAM = Arm(drafter="ngram", draft_length=4, options={"min_match": 2, "max_match": 5})
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]


def test_resolved_settings_are_read_back_and_plain(start: Any, target: str) -> None:
    told = start(target, NONE, NGRAM).resolved(NGRAM)
    expected = {
        "device": "cpu",
        "dtype": "float32",
        "batch": 1,
        "gpus": 0,
        "context_limit": 256,
        "layers": 4,
        "vocabulary": 40,
        "eos_ids": [0],
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "drafter": "ngram",
        "draft_length": 4,
        "min_match": 2,
        "max_match": 5,
    }
    assert expected.items() <= told.items()
    assert {type(value) for value in told.values()} <= {str, int, float, bool, list, type(None)}


def test_arms_differ_from_the_baseline_in_the_drafter_alone(start: Any, target: str) -> None:
    backend = start(target, NONE, NGRAM)
    none, ngram = backend.resolved(NONE), backend.resolved(NGRAM)
    assert {name for name in none if none[name] != ngram[name]} == {"drafter", "draft_length"}


def test_bfloat16_and_threads_take_effect_and_threads_are_given_back(target: str) -> None:
    before = torch.get_num_threads()
    backend = ReferenceSpec(dtype="bfloat16", threads=before + 1).create(target)
    backend.start([NONE])
    told = backend.resolved(NONE)
    backend.stop()
    backend.stop()
    assert (told["dtype"], told["threads"]) == ("bfloat16", before + 1)
    assert torch.get_num_threads() == before


def test_the_control_is_the_baseline_again(start: Any, ask: Any, target: str) -> None:
    control = Arm(drafter="none", draft_length=0, control=True)
    backend = start(target, NONE, control)
    first, second = (ask(backend, arm, PROMPT, max_tokens=30, ignore_eos=True) for arm in (NONE, control))
    assert first.output_ids == second.output_ids


def test_one_answer_changes_nothing_of_the_next(start: Any, ask: Any, target: str, other: str) -> None:
    """Each arm answers A, then B, then A again: the same tokens in the same steps."""
    arms = [NONE, NGRAM, Arm(drafter="draft-model", draft_length=3, options={"model": other})]
    backend = start(target, *arms)
    for arm in arms:
        first = ask(backend, arm, PROMPT, max_tokens=40, ignore_eos=True)
        ask(backend, arm, PROMPT[::-1] * 5, max_tokens=50, ignore_eos=True)
        again = ask(backend, arm, PROMPT, max_tokens=40, ignore_eos=True)
        assert again.output_ids == first.output_ids
        assert (again.steps.drafted, again.steps.accepted) == (first.steps.drafted, first.steps.accepted)


@pytest.fixture
def models(target: str, other: str) -> tuple[str, str]:
    """Target and draft model."""
    return target, other


@pytest.mark.parametrize("prompt", [[7], PROMPT])
@pytest.mark.parametrize("draft_length", [1, 4, 40])
def test_every_drafter_gives_the_baselines_answer(
    prompt: list[int], draft_length: int, start: Any, ask: Any, models: tuple[str, str]
) -> None:
    """A prompt of one token, a D beyond the answer's length, and what lies between; every identity holds."""
    drafting = [
        Arm(drafter="ngram", draft_length=draft_length),
        Arm(drafter="draft-model", draft_length=draft_length, options={"model": models[1]}),
    ]
    backend = start(models[0], NONE, *drafting)
    plain = ask(backend, NONE, prompt, max_tokens=33, ignore_eos=True)
    for arm in drafting:
        seen = ask(backend, arm, prompt, max_tokens=33, ignore_eos=True)
        assert seen.output_ids == plain.output_ids
        turn = TurnRecord(cell_id="c", question_id="q", prompt_hash="h", **seen.model_dump())
        columns = CellColumns.from_turns([turn])
        assert broken_identities(columns, drafter=arm.drafter, draft_length=draft_length) == []


def test_an_answer_ends_at_the_models_own_context_limit(start: Any, ask: Any, target: str, other: str) -> None:
    arm = Arm(drafter="draft-model", draft_length=5, options={"model": other})
    backend = start(target, NONE, arm)
    prompt = (PROMPT * 40)[:240]
    for one in (NONE, arm):
        seen = ask(backend, one, prompt, max_tokens=99, ignore_eos=True)
        assert (seen.finish_reason, seen.output_tokens) == ("context", 16)


def test_text_is_decoded_without_special_tokens(start: Any, ask: Any, target: str) -> None:
    backend = start(target, NONE)
    seen = ask(backend, NONE, PROMPT, max_tokens=5, ignore_eos=True)
    assert seen.output_text == " ".join(f"w{token}" for token in seen.output_ids if token)


def test_a_turn_that_fails_leaves_the_engine_alive(start: Any, ask: Any, target: str) -> None:
    backend = start(target, NONE)
    with pytest.raises(TurnFailed, match="context limit is 256"):
        ask(backend, NONE, [1] * 256)
    assert ask(backend, NONE, PROMPT, max_tokens=2).output_tokens == 2


def test_a_fault_inside_torch_fails_the_turn_alone(
    start: Any, ask: Any, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = start(target, NONE)
    with monkeypatch.context() as patch:
        patch.setattr(backend._target.model.module, "forward", _out_of_memory)
        with pytest.raises(TurnFailed, match="out of memory") as failure:
            ask(backend, NONE, PROMPT)
    assert failure.value.kind == "engine-error"
    assert ask(backend, NONE, PROMPT, max_tokens=2).output_tokens == 2


def _out_of_memory(*_: Any, **__: Any) -> None:
    raise torch.OutOfMemoryError("out of memory")


def test_an_arm_that_was_not_started_is_named(start: Any, ask: Any, target: str) -> None:
    with pytest.raises(BackendError, match="'ngram D=4' was not started"):
        ask(start(target, NONE), NGRAM, PROMPT)


def test_a_folder_that_holds_no_model_is_refused(start: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(BackendError, match="does not load as a causal language model"):
        start(str(tmp_path), NONE)


def test_an_unavailable_arm_is_refused_at_the_start(start: Any, target: str) -> None:
    with pytest.raises(ArmUnavailable, match="no drafter 'eagle3'"):
        start(target, Arm(drafter="eagle3", draft_length=3))


def test_tie_evidence_names_the_two_likeliest_and_their_margin(start: Any, target: str) -> None:
    backend = start(target, NGRAM)
    reader = backend._target
    logits = reader.model.module(torch.tensor([PROMPT])).logits[0, -1].detach()
    first, second = logits.topk(2).indices.tolist()
    told = backend.tie_evidence(NGRAM, PROMPT, (second, first))
    assert told.top_two == (first, second)
    assert told.margin == pytest.approx(float(logits[first] - logits[second]), abs=1e-4)
    assert 0 <= told.numeric_difference < 1e-4


def test_among_exactly_equal_logits_the_tokens_in_question_are_thelikeliest_two() -> None:
    logits = torch.tensor([1.0, 4.0, 4.0, 0.0, 4.0])
    assert likeliest_two(logits, (4, 2)) == (4, 2)
    assert likeliest_two(logits, (2, 0)) == (2, 1)
    assert likeliest_two(logits, (3, 0)) == (1, 2)


@pytest.mark.parametrize("length", [1, 2, 60, 254, 255])
def test_the_numeric_difference_is_small_wherever_the_prefix_ends(length: int, start: Any, target: str) -> None:
    backend = start(target, NGRAM)
    prefix = (PROMPT * 40)[:length]
    told = backend.tie_evidence(NGRAM, prefix, (1, 2))
    assert 0 <= told.numeric_difference < 1e-3
    assert backend._target.length <= 256


def test_the_baseline_differs_from_itself_by_nothing(start: Any, target: str) -> None:
    assert start(target, NONE).tie_evidence(NONE, PROMPT, (1, 2)).numeric_difference == 0.0


def test_the_numeric_difference_looks_at_every_place_in_the_block(
    start: Any, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third row of a block of five is made wrong by 0.5: only the place at offset 2 can show it."""
    backend = start(target, NGRAM)
    reader = backend._target
    honest = reader.extend

    def skewed(tokens: torch.Tensor, keep: int) -> torch.Tensor:
        logits = honest(tokens, keep).clone()
        if keep == 5:
            logits[2, 0] += 0.5
        return logits

    monkeypatch.setattr(reader, "extend", skewed)
    assert backend.tie_evidence(NGRAM, PROMPT, (1, 2)).numeric_difference == pytest.approx(0.5, abs=1e-3)
