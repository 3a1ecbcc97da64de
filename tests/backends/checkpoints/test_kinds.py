"""Which drafter a checkpoint is: by the names that vLLM loads, and by its tensors where it bears another's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.backends.checkpoints import DraftCheckpoint

SIZES = {"hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 500}
TARGET = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"} | SIZES | {"num_hidden_layers": 12}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("eagle3", ["LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3Qwen3ForCausalLM", "PEagleDraftModel"]),
        ("eagle3", ["PeagleQwen3ForCausalLM", "Eagle3DeepseekV2ForCausalLM", "Eagle3Qwen2_5vlForCausalLM"]),
        ("eagle", ["EagleLlamaForCausalLM", "EagleMistralLarge3ForCausalLM", "EagleDeepSeekMTPModel", "EAGLEModel"]),
        ("dflash", ["DFlashDraftModel", "DFlash2DraftModel", "LiLiCorrDraftModel", "DFlashLagunaForCausalLM"]),
        ("dflash", ["MuseGlimmerAssistantModel", "DFlashMuseGlimmerAssistantModel"]),
        ("dspark", ["Qwen3DSparkModel", "DSparkDraftModel", "Gemma4DSparkModel", "K3DSparkModel"]),
        ("medusa", ["MedusaModel"]),
        ("mtp", ["MiMoMTPModel", "DeepSeekMTPModel", "Qwen3NextMTP", "Exaone4_5_MTP", "MiniMaxM3MTP", "ErnieMTPModel"]),
        (
            "language-model",
            ["LlamaForCausalLM", "GPT2LMHeadModel", "Gemma3ForConditionalGeneration", "QWenLMHeadModel"],
        ),
    ],
)
def test_every_architecture_that_vllm_loads_has_its_kind(
    read: Callable[..., DraftCheckpoint], kind: str, names: list[str]
) -> None:
    found = {name: read({"architectures": [name]} | SIZES, name=name).kind for name in names}
    assert found == dict.fromkeys(names, kind)


@pytest.mark.parametrize(
    ("model_type", "kind"),
    [("medusa", "medusa"), ("eagle", "eagle"), ("qwen3_next_mtp", "mtp"), ("gemma4_assistant", "mtp")],
)
def test_the_model_type_tells_where_no_architecture_does(
    read: Callable[..., DraftCheckpoint], model_type: str, kind: str
) -> None:
    assert read({"model_type": model_type} | SIZES).kind == kind


def test_an_eagle_configuration_tells_its_own_method(read: Callable[..., DraftCheckpoint]) -> None:
    config = {"model_type": "eagle", "method": "eagle3", "model": TARGET}
    assert read(config).kind == "eagle3"


@pytest.mark.parametrize(
    ("tensors", "kind"),
    [
        ({"fc.weight": ("BF16", 64, 128), "layers.0.self_attn.q_proj.weight": ("BF16", 64, 64)}, "eagle"),
        ({"fc.weight": ("BF16", 64, 192), "d2t": ("I64", 100)}, "eagle3"),
        ({"model.fc.weight": ("BF16", 64, 192)}, "eagle3"),
        ({"fc.weight": ("BF16", 64, 128), "midlayer.hidden_norm.weight": ("BF16", 64)}, "eagle3"),
        ({"model.embed_tokens.weight": ("BF16", 500, 64)}, "language-model"),
        ({"transformer.h.0.mlp.c_fc.weight": ("BF16", 64, 256)}, "language-model"),
    ],
)
def test_a_head_that_bears_its_targets_architecture_is_known_by_its_tensors(
    read: Callable[..., DraftCheckpoint], tensors: dict[str, Any], kind: str
) -> None:
    assert read(TARGET | {"num_hidden_layers": 1}, tensors).kind == kind


def test_a_configuration_without_names_is_known_by_its_sections(read: Callable[..., DraftCheckpoint]) -> None:
    assert read(SIZES | {"dflash_config": {"mask_token_id": 1}}, name="a").kind == "dflash"
    assert read(SIZES | {"eagle_config": {"use_aux_hidden_state": True}}, name="b").kind == "eagle3"
    assert read(TARGET | {"draft_vocab_size": 100}, name="d").kind == "eagle3"
    assert read({"medusa_num_heads": 3, "medusa_num_layers": 1}, name="c").kind == "medusa"


@pytest.mark.parametrize(
    "inside", [{"projector_type": "dspark", "markov_rank": 16}, {"markov_rank": 16}, {"projector_type": "dspark"}]
)
def test_dspark_is_told_from_dflash_where_both_bear_one_architecture(
    read: Callable[..., DraftCheckpoint], inside: dict[str, Any]
) -> None:
    config = {"architectures": ["DFlashDraftModel"], "dflash_config": inside} | SIZES
    found = read(config)
    assert found.kind == "dspark"
    assert "Qwen3DSparkModel" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("name", "layers", "kind"),
    [
        ("EAGLE-LLaMA3-Instruct-8B", 1, "eagle"),
        ("My-EAGLE3-head", 1, "eagle3"),
        ("medusa-vicuna", 1, "medusa"),
        ("eagle-eyed-llama", 12, "language-model"),
        ("llama", 1, "language-model"),
    ],
)
def test_pickled_heads_are_known_by_their_name_and_say_so(
    write: Callable[..., Path], name: str, layers: int, kind: str
) -> None:
    from draftmark.backends.checkpoints import read_checkpoint

    folder = write(TARGET | {"num_hidden_layers": layers}, name=name)
    (folder / "pytorch_model.bin").write_bytes(b"never opened")
    found = read_checkpoint(folder)
    assert found.kind == kind
    assert "never opened" in found.notes[0]
    assert any("by its name" in note for note in found.notes) == kind.startswith("eagle")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"architectures": ["BertForSequenceClassification"]} | SIZES, "BertForSequenceClassification"),
        ({"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True} | SIZES, "causal"),
        ({"architectures": ["MLPSpeculatorPreTrainedModel"]}, "MLP speculator"),
        ({"speculators_model_type": "telepathy"}, "'telepathy' is not known; known are eagle, eagle3"),
        ({}, "neither a drafter"),
        ({"_class_name": "FluxPipeline"}, "neither a drafter"),
    ],
)
def test_anything_else_is_refused_with_what_it_is(
    read: Callable[..., DraftCheckpoint], config: dict[str, Any], said: str
) -> None:
    with pytest.raises(BackendError, match=said):
        read(config)


def test_a_language_model_within_a_model_of_another_name_is_one(read: Callable[..., DraftCheckpoint]) -> None:
    found = read({"architectures": ["NemotronH_Nano_VL_V2"], "llm_config": SIZES, "vision_config": {"hidden_size": 9}})
    assert (found.kind, found.hidden_size) == ("language-model", 64)


def test_a_language_model_that_brings_mtp_layers_can_draft_for_itself(read: Callable[..., DraftCheckpoint]) -> None:
    config = TARGET | {"num_nextn_predict_layers": 1}
    inside = {"model.layers.11.mlp.up_proj.weight": ("BF16", 4, 4), "model.layers.12.eh_proj.weight": ("BF16", 4, 8)}
    found = read(config, inside, name="whole")
    assert (found.kind, found.carries, found.draft_length, found.notes) == ("language-model", "mtp", 1, ())
    named = read(config, {"model.mtp_layers.0.input_proj.weight": ("BF16", 4, 8)}, name="mimo")
    assert named.carries == "mtp"
    within = read({"architectures": ["Qwen3_5ForConditionalGeneration"], "text_config": {"mtp_num_hidden_layers": 2}})
    assert (within.carries, within.draft_length) == ("mtp", 2)


def test_stated_mtp_layers_that_are_not_in_the_files_are_noticed(read: Callable[..., DraftCheckpoint]) -> None:
    found = read(TARGET | {"num_nextn_predict_layers": 3}, {"model.layers.11.mlp.up_proj.weight": ("BF16", 4, 4)})
    assert found.carries is None
    assert "states 3 MTP layers, and the files hold none" in found.notes[0]


def test_a_target_that_brings_a_dspark_drafter_says_so(read: Callable[..., DraftCheckpoint]) -> None:
    config = TARGET | {"architectures": ["DeepseekV41ForCausalLM"], "dspark_block_size": 5}
    found = read(config)
    assert (found.kind, found.carries, found.draft_length, found.block_size) == ("language-model", "dspark", 5, 5)
