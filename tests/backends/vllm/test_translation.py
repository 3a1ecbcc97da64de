"""Arms in vLLM's terms, and what a running engine says it has against what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError
from draftmark.backends.registry import DRAFTERS
from draftmark.backends.vllm.translation import effective_problem, place_of, speculative_config
from draftmark.results.records import Arm

if TYPE_CHECKING:
    from pathlib import Path

D = 3
NONE = Arm(drafter="none", draft_length=0)
HUB = "owner/head"


def arm_of(kind: str, **options: Any) -> Arm:
    """The arm that a plan's entry becomes, every default filled in."""
    spec = DRAFTERS.resolve(kind).model_validate({"kind": kind, "draft_length": [D], **options})
    (arm,) = spec.arms()
    return arm


@pytest.mark.parametrize(
    ("kind", "options", "config"),
    [
        ("ngram", {}, {"method": "ngram", "prompt_lookup_min": 1, "prompt_lookup_max": 3}),
        (
            "ngram",
            {"min_match": 2, "max_match": 5, "on": "gpu"},
            {"method": "ngram_gpu", "prompt_lookup_min": 2, "prompt_lookup_max": 5},
        ),
        (
            "suffix",
            {"max_depth": 24, "cached_requests": 10, "max_spec_factor": 2.0, "min_token_probability": 0.2},
            {
                "method": "suffix",
                "suffix_decoding_max_tree_depth": 24,
                "suffix_decoding_max_cached_requests": 10,
                "suffix_decoding_max_spec_factor": 2.0,
                "suffix_decoding_min_token_prob": 0.2,
            },
        ),
        ("draft-model", {"model": HUB}, {"method": "draft_model", "model": HUB}),
        (
            "draft-model",
            {"model": HUB, "parallel": True},
            {"method": "draft_model", "model": HUB, "parallel_drafting": True},
        ),
        ("eagle", {"model": HUB}, {"method": "eagle", "model": HUB}),
        ("eagle3", {"model": HUB}, {"method": "eagle3", "model": HUB}),
        ("eagle3", {"model": HUB, "parallel": True}, {"method": "eagle3", "model": HUB, "parallel_drafting": True}),
        ("medusa", {"model": HUB}, {"method": "medusa", "model": HUB}),
        ("dflash", {"model": HUB}, {"method": "dflash", "model": HUB}),
        ("dspark", {}, {"method": "dspark"}),
        ("dspark", {"model": HUB}, {"method": "dspark", "model": HUB}),
        ("mtp", {}, {"method": "mtp"}),
        ("mtp", {"model": HUB}, {"method": "mtp", "model": HUB}),
        ("custom", {"class_path": "mine.Proposer"}, {"method": "custom_class", "model": "mine.Proposer"}),
        (
            "synthetic",
            {"over": {"kind": "draft-model", "model": HUB}, "acceptance_length": 2.5},
            {
                "method": "draft_model",
                "model": HUB,
                "rejection_sample_method": "synthetic",
                "synthetic_acceptance_length": 2.5,
            },
        ),
        (
            "synthetic",
            {"over": {"kind": "eagle3", "model": HUB}, "acceptance_rates": [0.8, 0.5, 0.1]},
            {
                "method": "eagle3",
                "model": HUB,
                "rejection_sample_method": "synthetic",
                "synthetic_acceptance_rates": [0.8, 0.5, 0.1],
            },
        ),
    ],
)
def test_a_drafter_in_vllms_terms(kind: str, options: dict[str, Any], config: dict[str, Any]) -> None:
    assert speculative_config(arm_of(kind, **options)) == {"num_speculative_tokens": D, **config}


def test_every_drafter_has_a_translation() -> None:
    for kind in set(DRAFTERS.names()) - {"as-served"}:  # which is what a server has already
        try:
            speculative_config(Arm(drafter=kind, draft_length=D))
        except BackendError as fault:  # most need options
            assert "vLLM has no drafter" not in str(fault), kind


def test_no_drafter_is_no_configuration() -> None:
    assert speculative_config(NONE) is None
    assert speculative_config(NONE.model_copy(update={"control": True})) is None


def test_a_schedule_by_batch_size_goes_along() -> None:
    schedule = [{"first": 1, "last": 4, "draft_length": 3}, {"first": 5, "last": 64, "draft_length": 0}]
    config = speculative_config(arm_of("ngram", draft_length_by_batch=schedule))
    assert config is not None
    assert config["num_speculative_tokens"] == D
    assert config["num_speculative_tokens_per_batch_size"] == [[1, 4, 3], [5, 64, 0]]


class TestRefusals:
    def test_a_drafter_it_does_not_have(self) -> None:
        with pytest.raises(BackendError, match=r"vLLM has no drafter 'mimic'; it has custom, dflash, .* suffix, synth"):
            speculative_config(Arm(drafter="mimic", draft_length=D))

    def test_dropped_layers(self) -> None:
        with pytest.raises(BackendError, match="cannot leave out layers"):
            speculative_config(arm_of("draft-model", model=HUB, drop_layers=[3]))

    def test_options_that_do_not_fit_the_drafter(self) -> None:
        with pytest.raises(BackendError, match=r"drafter 'ngram D=3' cannot be used as asked: .*min_match 4"):
            speculative_config(Arm(drafter="ngram", draft_length=D, options={"min_match": 4, "max_match": 2}))

    def test_a_checkpoint_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(BackendError, match="there is no such file or folder"):
            speculative_config(arm_of("eagle3", model=str(tmp_path / "nothing")))

    def test_synthetic_acceptance_over_what_is_wrong(self) -> None:
        with pytest.raises(BackendError, match="vLLM has no drafter 'mimic'"):
            speculative_config(arm_of("synthetic", over={"kind": "mimic"}, acceptance_length=2))


class TestPlaces:
    def test_a_folder_is_its_path_and_a_hub_name_stays(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{}", encoding="utf-8")
        assert place_of(str(tmp_path)) == str(tmp_path)
        assert place_of(HUB) == HUB

    def test_a_gguf_file_is_refused_by_name(self, tmp_path: Path) -> None:
        file = tmp_path / "small.gguf"
        file.write_bytes(b"GGUF" + bytes(64))
        with pytest.raises(BackendError, match=r"small.gguf"):
            place_of(str(file))


class TestWhatRuns:
    def test_as_asked(self) -> None:
        assert effective_problem(NONE, None, None) is None
        assert effective_problem(arm_of("draft-model", model=HUB), "draft_model", D) is None
        assert effective_problem(arm_of("ngram", on="gpu"), "ngram_gpu", D) is None
        synthetic = arm_of("synthetic", over={"kind": "eagle3", "model": HUB}, acceptance_length=2)
        assert effective_problem(synthetic, "eagle3", D) is None

    def test_another_method(self) -> None:
        """vLLM looks into the name of a checkpoint, and may take a draft model for a head."""
        assert effective_problem(arm_of("draft-model", model=HUB), "eagle3", D) == (
            "the engine runs the method 'eagle3' where 'draft_model' was asked for"
        )

    def test_no_method_at_all(self) -> None:
        assert effective_problem(arm_of("ngram"), None, None) == (
            "the engine runs the method 'none' where 'ngram' was asked for"
        )

    def test_another_draft_length(self) -> None:
        assert effective_problem(arm_of("ngram"), "ngram", 2) == (
            "the engine drafts 2 tokens a step where D = 3 was asked for"
        )

    def test_speculation_where_there_should_be_none(self) -> None:
        assert effective_problem(NONE, "ngram", 3) == "speculation was to be off, but the engine runs 'ngram'"
