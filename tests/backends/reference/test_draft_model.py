"""A model that drafts: its cache follows the accepted tokens, and a target drafting for itself is always right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from draftmark.backends.base import BackendError
from draftmark.backends.reference.choosing import Greedy
from draftmark.backends.reference.drafters.draft_model import DraftModelDrafter
from draftmark.backends.reference.model import ModelShelf, without_layers
from draftmark.results.records import Arm

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = [3, 1, 4, 1, 5]


def arm(model: str, draft_length: int = 3, **options: Any) -> Arm:
    return Arm(drafter="draft-model", draft_length=draft_length, options={"model": model, **options})


def test_one_token_is_read_after_a_rejection_and_two_after_full_acceptance(stand_ins: Any) -> None:
    """The draft follows 1 2 3 4 5 6 7 8; its first block is accepted whole, of the second one token only."""
    model = stand_ins.Model()
    reader = stand_ins.follow(PROMPT, [1, 2, 3, 4, 5, 6, 7, 8], model)
    drafter = DraftModelDrafter(reader, model.vocabulary, {})
    drafter.begin(PROMPT)
    context = [*PROMPT, 1]
    assert drafter.propose(context, 2, Greedy()).tokens.tolist() == [2, 3]
    drafter.rollback(len(context) + 2)
    context += [2, 3, 4]
    assert drafter.propose(context, 2, Greedy()).tokens.tolist() == [5, 6]
    drafter.rollback(len(context) + 1)
    assert reader.held == [*context, 5]
    context += [5, 6]
    assert drafter.propose(context, 2, Greedy()).tokens.tolist() == [7, 8]
    assert reader.blocks == [PROMPT, [1], [2], [3, 4], [5], [6], [7]]


def test_its_own_context_limit_shortens_drafts_and_then_ends_them(stand_ins: Any) -> None:
    """Limit 8: of 6 tokens and their drafts it can read 8, so three drafts fit; of 8 tokens one; of 9 none."""
    model = stand_ins.Model(context_limit=8)
    reader = stand_ins.follow(PROMPT, [1, 2, 3, 4, 5, 6, 7, 8], model)
    drafter = DraftModelDrafter(reader, model.vocabulary, {})
    drafter.begin(PROMPT)
    lengths = []
    for end in (1, 3, 4):
        context = [*PROMPT, *range(1, end + 1)]
        lengths.append(len(drafter.propose(context, 5, Greedy()).tokens))
        drafter.rollback(len(context))
        assert reader.length <= 8
    assert lengths == [3, 1, 0]


def test_a_prompt_beyond_its_context_leaves_it_silent(stand_ins: Any) -> None:
    model = stand_ins.Model(context_limit=4)
    reader = stand_ins.follow(PROMPT, [1, 2], model)
    drafter = DraftModelDrafter(reader, model.vocabulary, {})
    drafter.begin(PROMPT)
    assert drafter.propose([*PROMPT, 1], 3, Greedy()).tokens.tolist() == []
    assert reader.blocks == []


@pytest.mark.parametrize("draft_length", [1, 3, 7])
def test_a_target_that_drafts_for_itself_accepts_every_token(
    draft_length: int, start: Any, ask: Any, target: str
) -> None:
    none, same = Arm(drafter="none", draft_length=0), arm(target, draft_length)
    backend = start(target, none, same)
    plain = ask(backend, none, PROMPT, max_tokens=60, ignore_eos=True)
    seen = ask(backend, same, PROMPT, max_tokens=60, ignore_eos=True)
    assert seen.output_ids == plain.output_ids
    assert seen.steps.accepted == seen.steps.drafted == [draft_length] * len(seen.steps.drafted)
    assert set(seen.steps.delivered[:-1]) == {draft_length + 1}
    assert sum(seen.steps.delivered) == 59


def test_the_same_model_is_loaded_once(start: Any, target: str) -> None:
    backend = start(target, arm(target))
    shelf = ModelShelf("cpu", "float32")
    assert shelf.get(target) is shelf.get(target)
    assert backend.resolved(arm(target))["draft_parameters"] == backend.resolved(arm(target))["parameters"]


def test_dropped_layers_share_the_weights_and_leave_the_original_whole(target: str) -> None:
    full = ModelShelf("cpu", "float32").get(target)
    before = full.module(torch.tensor([PROMPT])).logits
    short = without_layers(full, [0, 2])
    assert (full.layers, short.layers) == (4, 2)
    assert {id(weight) for weight in short.module.parameters()} < {id(weight) for weight in full.module.parameters()}
    torch.testing.assert_close(full.module(torch.tensor([PROMPT])).logits, before, atol=0, rtol=0)


def test_dropping_layers_is_the_model_built_without_them(target: str) -> None:
    """Copy layers 1 and 3 of four into a fresh model of two."""
    full = ModelShelf("cpu", "float32").get(target)
    config = full.module.config.__class__(**{**full.module.config.to_dict(), "num_hidden_layers": 2})
    fresh = full.module.__class__(config).eval()
    weights = full.module.state_dict()
    renamed = {
        name.replace("layers.1.", "layers.0.").replace("layers.3.", "layers.1."): value
        for name, value in weights.items()
        if "layers.0." not in name and "layers.2." not in name
    }
    fresh.load_state_dict(renamed)
    ids = torch.tensor([PROMPT])
    torch.testing.assert_close(without_layers(full, [0, 2]).module(ids).logits, fresh(ids).logits)


def test_a_shortened_target_drafts_without_changing_the_answer(start: Any, ask: Any, target: str) -> None:
    none, short = Arm(drafter="none", draft_length=0), arm(target, drop_layers=[1, 2])
    backend = start(target, none, short)
    plain, seen = (ask(backend, one, PROMPT, max_tokens=40, ignore_eos=True) for one in (none, short))
    assert seen.output_ids == plain.output_ids
    assert sum(seen.steps.accepted) < sum(seen.steps.drafted)
    assert backend.resolved(short)["draft_layers"] == 2
    assert backend.resolved(short)["drop_layers"] == [1, 2]


@pytest.mark.parametrize(("dropped", "told"), [([4], "there is no layer 4"), ([0, 1, 2, 3], "no layer would be left")])
def test_layers_that_cannot_be_dropped(dropped: list[int], told: str, start: Any, target: str) -> None:
    with pytest.raises(BackendError, match=rf"{told}; the model has layers 0 to 3"):
        start(target, arm(target, drop_layers=dropped))


def test_a_padded_embedding_is_no_difference(start: Any, ask: Any, target: str, other: str) -> None:
    none, drafting = Arm(drafter="none", draft_length=0), arm(other)
    backend = start(target, none, drafting)
    assert backend.resolved(drafting)["draft_vocabulary"] == 64
    plain, seen = (ask(backend, one, PROMPT, max_tokens=40, ignore_eos=True) for one in (none, drafting))
    assert seen.output_ids == plain.output_ids


def test_a_foreign_vocabulary_is_refused_with_the_first_token_that_differs(
    start: Any, target: str, models_folder: Path, save_llama: Any
) -> None:
    words = ["<eos>", *(f"w{index}" for index in range(1, 40))]
    words[7], words[9] = words[9], words[7]
    foreign = save_llama(models_folder / "foreign", words)
    with pytest.raises(BackendError, match=r"id 7 is 'w7' \(id 9 in the draft\).*and 'w9' \(id 9 in the target\)"):
        start(target, arm(foreign))
