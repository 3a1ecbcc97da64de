"""Whether a checkpoint agrees with itself and with a target: one sentence for each disagreement, with both numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.checkpoints import problems_with, read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.backends.checkpoints import DraftCheckpoint

Sizes = dict[str, Any]

SMOLLM2 = {"architectures": ["LlamaForCausalLM"], "hidden_size": 576, "num_hidden_layers": 30, "vocab_size": 49152}
EAGLE3 = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 500}
DFLASH = EAGLE3 | {
    "architectures": ["DFlashDraftModel"],
    "block_size": 8,
    "dflash_config": {"mask_token_id": 4, "target_layer_ids": [1, 9]},
}
TARGET = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 12, "vocab_size": 500}
WEIGHTS = {
    "fc.weight": ("BF16", 64, 192),
    "d2t": ("I64", 100),
    "t2d": ("BOOL", 500),
    "lm_head.weight": ("BF16", 100, 64),
}


@pytest.fixture
def judged(read: Callable[..., DraftCheckpoint]) -> Callable[..., list[str]]:
    """Give the problems of a head with a target; of the target only config.json is there."""

    def judge(head: Sizes, target: Sizes | None = None, tensors: dict[str, Any] | None = None) -> list[str]:
        checkpoint = read(head, {"norm.weight": ("BF16", 64)} if tensors is None else tensors)
        return problems_with(checkpoint, None if target is None else read(target, name="target"))

    return judge


def test_a_real_head_fits_the_target_it_was_trained_for(
    trained_head: Path, read: Callable[..., DraftCheckpoint]
) -> None:
    assert problems_with(read_checkpoint(trained_head), read(SMOLLM2)) == []


def test_a_real_head_does_not_fit_another_target(trained_head: Path, read: Callable[..., DraftCheckpoint]) -> None:
    other = read(SMOLLM2 | {"hidden_size": 960, "vocab_size": 49153})
    assert problems_with(read_checkpoint(trained_head), other) == [
        "it reads hidden states 576 wide, and the target's are 960 wide",
        "its vocabulary has 49152 tokens, and the target's has 49153",
        "its t2d covers 49152 tokens, and the target's vocabulary has 49153",
    ]


def test_a_head_that_agrees_with_itself_and_its_target_has_no_problems(judged: Callable[..., list[str]]) -> None:
    assert judged(EAGLE3 | {"draft_vocab_size": 100}, TARGET, WEIGHTS) == []


def test_layers_that_the_target_does_not_have_are_named(judged: Callable[..., list[str]]) -> None:
    last = EAGLE3 | {"eagle_aux_hidden_state_layer_ids": [2, 6, 12]}
    assert judged(last, TARGET) == []


def test_a_layer_beyond_the_last_is_a_problem(judged: Callable[..., list[str]]) -> None:
    beyond = EAGLE3 | {"eagle_aux_hidden_state_layer_ids": [2, 6, 13]}
    assert judged(beyond, TARGET) == ["it reads the hidden state after layer 13, and the target has 12 layers"]


def test_a_layer_named_from_0_is_the_hidden_state_after_one_more(judged: Callable[..., list[str]]) -> None:
    head = DFLASH | {"dflash_config": {"mask_token_id": 4, "target_layer_ids": [1, 12]}, "num_target_layers": 36}
    assert judged(head, TARGET) == [
        "it was made for a target of 36 layers, and this one has 12",
        "it reads the hidden state after layer 13, and the target has 12 layers",
    ]


@pytest.mark.parametrize(
    ("layers", "chosen"), [(2, "2, 1 and -1"), (4, "2, 2 and 1"), (5, "2, 2 and 2"), (6, "2, 3 and 3")]
)
def test_a_target_too_shallow_for_the_layers_that_vllm_chooses(
    judged: Callable[..., list[str]], layers: int, chosen: str
) -> None:
    (problem,) = judged(EAGLE3, TARGET | {"num_hidden_layers": layers})
    assert f"this target's {layers} layers" in problem
    assert problem.endswith(f"would take {chosen}")


def test_a_target_just_deep_enough_is_none(judged: Callable[..., list[str]]) -> None:
    assert judged(EAGLE3, TARGET | {"num_hidden_layers": 7}) == []


def test_a_head_is_no_target(judged: Callable[..., list[str]]) -> None:
    assert judged(EAGLE3, EAGLE3) == ["the target is itself a drafter (eagle3); name the model that it drafts for"]


def test_a_draft_model_must_share_the_vocabulary_and_nothing_else(judged: Callable[..., list[str]]) -> None:
    small = TARGET | {"hidden_size": 16, "num_hidden_layers": 2}
    assert judged(small, TARGET) == []


def test_a_draft_model_of_another_vocabulary_is_a_problem(judged: Callable[..., list[str]]) -> None:
    assert judged(TARGET | {"vocab_size": 512}, TARGET) == [
        "its vocabulary has 512 tokens, and the target's has 500",
    ]


def test_embeddings_that_are_to_be_the_targets_must_be_as_wide(judged: Callable[..., list[str]]) -> None:
    narrow = EAGLE3 | {"hidden_size": 32, "target_hidden_size": 64}
    assert judged(narrow, TARGET, {"fc.weight": ("BF16", 32, 192)}) == [
        "it brings no embeddings of its own 32 numbers, and the target's have 64"
    ]


def test_embeddings_of_its_own_may_be_narrower(judged: Callable[..., list[str]]) -> None:
    narrow = EAGLE3 | {"hidden_size": 32, "target_hidden_size": 64}
    tensors = {"fc.weight": ("BF16", 32, 192), "embed_tokens.weight": ("BF16", 500, 32)}
    assert judged(narrow, TARGET, tensors) == []


@pytest.mark.parametrize(
    ("change", "tensors", "said"),
    [
        ({}, {"lm_head.weight": ("BF16", 99, 64)}, "100 tokens by config.json, and lm_head.weight has 99 rows"),
        ({}, {"d2t": ("I64", 101)}, "100 tokens by config.json, and d2t maps 101"),
        (
            {},
            {"fc.weight": ("BF16", 64, 256)},
            "fc.weight takes in 256 numbers, and 3 hidden states of 64 each make 192",
        ),
        (
            {},
            {"embed_tokens.weight": ("BF16", 512, 64)},
            "500 tokens by config.json, and embed_tokens.weight has 512 rows",
        ),
        (
            {"draft_vocab_size": 501},
            {"d2t": ("I64", 501), "lm_head.weight": ("BF16", 501, 64)},
            "501 tokens, and the whole",
        ),
        ({"num_aux_hidden_states": 4}, {}, "takes in 192 numbers, and 4 hidden states of 64 each make 256"),
    ],
)
def test_a_configuration_that_its_tensors_contradict(
    judged: Callable[..., list[str]], change: Sizes, tensors: dict[str, Any], said: str
) -> None:
    (problem,) = judged(EAGLE3 | {"draft_vocab_size": 100} | change, TARGET, WEIGHTS | tensors)
    assert said in problem


def test_shapes_of_packed_weights_are_not_compared(judged: Callable[..., list[str]]) -> None:
    assert judged(EAGLE3 | {"draft_vocab_size": 100}, TARGET, WEIGHTS | {"fc.weight": ("U8", 64, 96)}) == []


def test_an_eagle_head_takes_in_an_embedding_and_a_hidden_state(judged: Callable[..., list[str]]) -> None:
    eagle = EAGLE3 | {"architectures": ["EagleLlamaForCausalLM"]}
    assert judged(eagle, TARGET, {"fc.weight": ("BF16", 64, 130)}) == [
        "fc.weight takes in 130 numbers, and an embedding and a hidden state of 64 each make 128"
    ]


def test_a_part_of_the_vocabulary_needs_its_map(judged: Callable[..., list[str]]) -> None:
    without = {name: tensor for name, tensor in WEIGHTS.items() if name != "d2t"}
    assert judged(EAGLE3 | {"draft_vocab_size": 100}, TARGET, without) == [
        "it proposes 100 of 500 tokens, and no tensor d2t says which ones"
    ]


def test_a_block_drafter_needs_its_layers_and_its_mask_token(judged: Callable[..., list[str]]) -> None:
    assert judged(DFLASH | {"dflash_config": {}}) == [
        "its config.json names no layers of the target that it reads (target_layer_ids)",
        "it fills several places in one pass, and its config.json names no token for them (mask_token_id)",
    ]


def test_token_0_is_a_mask_token_too(judged: Callable[..., list[str]]) -> None:
    assert judged(DFLASH | {"dflash_config": {"mask_token_id": 0, "target_layer_ids": [0, 9]}}, TARGET) == []


def test_a_mask_token_outside_the_vocabulary(judged: Callable[..., list[str]]) -> None:
    head = DFLASH | {"dflash_config": {"mask_token_id": 500, "target_layer_ids": [1]}}
    assert judged(head) == ["its mask token is number 500, and its vocabulary ends at 499"]


def test_a_parallel_eagle3_head_needs_stand_ins_for_hidden_states(judged: Callable[..., list[str]]) -> None:
    (problem,) = judged(EAGLE3 | {"ptd_token_id": 4}, TARGET)
    assert "mask_hidden" in problem


def test_files_that_an_index_names_must_be_there(read: Callable[..., DraftCheckpoint]) -> None:
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "../../etc/passwd"}}
    found = read(EAGLE3, **{"model.safetensors.index": index})
    assert problems_with(found) == [
        "its index names 2 files that are not there, '../../etc/passwd' first; get them too",
    ]


def test_a_description_without_weights_is_no_checkpoint(read: Callable[..., DraftCheckpoint]) -> None:
    assert "no weights" in problems_with(read(EAGLE3))[0]


def test_what_is_not_told_is_not_compared(judged: Callable[..., list[str]]) -> None:
    assert judged({"architectures": ["MedusaModel"]}, {"architectures": ["LlamaForCausalLM"]}) == []


def test_a_language_model_may_hold_its_weights_in_torchs_own_files(read: Callable[..., DraftCheckpoint]) -> None:
    model = read(SMOLLM2)
    assert "no weights" in problems_with(model)[0]
    (model.folder / "pytorch_model.bin").touch()
    assert problems_with(model) == []
