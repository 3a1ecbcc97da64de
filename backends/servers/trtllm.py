"""`trtllm-serve` of TensorRT-LLM, PyTorch backend; not tried on the real engine.

Sources: `docs/source/features/speculative-decoding.md` (drafters, the file of `--config`; EAGLE 1 and 2 do not run),
`llmapi/llm_args.py` (names of `decoding_type`; `Draft_Target` there is `DraftTarget` in the documentation),
`_torch/speculative/interface.py` (the variable for fixed acceptance counts accepted drafts, so one less than the
acceptance length).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from draftmark.backends import drafters
from draftmark.backends.base import BackendError
from draftmark.backends.servers.arguments import Arguments, given_problem
from draftmark.backends.servers.spec import (
    LOOPBACK,
    PLAN_DRAFTERS,
    Launch,
    ServerSpec,
    drafter_of,
    fixed_length,
    folder_or_name,
    over_arm,
    refuse_parallel,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from draftmark.results.records import Arm

_NAME = "TensorRT-LLM"
_FORCED = "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"


class TrtllmServerSpec(ServerSpec):
    """`{kind: trtllm-server, options: {max_seq_len: 4096}}`; `options` go into the file of `--config`."""

    dialect: ClassVar[str] = "trtllm"
    context_option: ClassVar[str] = "max_seq_len"
    programs: ClassVar[tuple[str, ...]] = ("trtllm-serve",)
    install: ClassVar[str] = "see https://nvidia.github.io/TensorRT-LLM for how to install TensorRT-LLM"
    taken: ClassVar[dict[str, str]] = {
        **LOOPBACK,
        "--config": "the backend's `options`",
        "--extra-llm-api-options": "the backend's `options`",
        "--grpc": "Draftmark, which asks over HTTP",
        "--speculative-config": PLAN_DRAFTERS,
        "--model": "the plan's `target`",
        "--enable-iter-perf-stats": "Draftmark, which reads them",
        "--return-perf-metrics": "Draftmark, which reads them",
        _FORCED: PLAN_DRAFTERS,
    }

    kind: Literal["trtllm-server"] = "trtllm-server"

    def arm_problem(self, arm: Arm) -> str | None:
        """As of every server."""
        cache = self.options.get("kv_cache_config")
        if isinstance(cache, dict) and "enable_block_reuse" in cache:
            return "options.kv_cache_config.enable_block_reuse comes from the backend's `prefix_caching`; remove it"
        problem = given_problem(self.args, {}, {}, self.taken)
        return problem or super().arm_problem(arm)

    def drafting(self, arm: Arm) -> Arguments:
        """Return `speculative_config` for the file; nothing for `none`."""
        if arm.drafter == "none":
            return Arguments()
        spec = drafter_of(arm, _NAME, [*_TRANSLATIONS, "synthetic"])
        if isinstance(spec, drafters.SyntheticSpec):
            return self.drafting(over_arm(arm)) + _synthetic(spec)
        return _TRANSLATIONS[arm.drafter](spec, arm)

    def launch(self, arm: Arm, target: str) -> Launch:
        """Return `trtllm-serve MODEL --config FILE` and what the file holds."""
        cache = {**self.options.get("kv_cache_config", {}), "enable_block_reuse": self.prefix_caching}
        needed = {"enable_iter_perf_stats": True, "return_perf_metrics": True}
        drafting = self.drafting(arm)
        file = {**drafting.file, **self.options, **needed, "kv_cache_config": cache}
        arguments = Arguments((tuple(self.args),), drafting.environment, file)
        model = folder_or_name(target, _NAME)
        return Launch((*self.program(), model), arguments, model, file_flag="--config")


def _with(decoding_type: str, arm: Arm, config: Mapping[str, Any], **beside: Any) -> Arguments:
    chain = {"decoding_type": decoding_type, "max_draft_len": arm.draft_length}
    return Arguments(file={"speculative_config": {**chain, **config}, **beside})


def _synthetic(spec: drafters.SyntheticSpec) -> Arguments:
    return Arguments(environment={_FORCED: f"{fixed_length(spec, _NAME) - 1:g}"})


def _ngram(spec: drafters.NgramSpec, arm: Arm) -> Arguments:
    if spec.min_match != 1 or spec.on != "cpu":
        raise BackendError(f"{_NAME} looks up matches from max_match down to one token; set min_match to 1")
    config = {"max_matching_ngram_size": spec.max_match, "is_public_pool": False}
    return _with("NGram", arm, config, disable_overlap_scheduler=True)


def _draft_model(spec: drafters.DraftModelSpec, arm: Arm) -> Arguments:
    if spec.drop_layers:
        raise BackendError(f"{_NAME} cannot leave out layers of a draft model (drop_layers)")
    if spec.parallel:
        return _with("PARD", arm, _model(spec.model))
    return _with("Draft_Target", arm, _model(spec.model), disable_overlap_scheduler=True)


def _eagle3(spec: drafters.Eagle3Spec, arm: Arm) -> Arguments:
    refuse_parallel(spec, _NAME)
    return _with("Eagle3", arm, _model(spec.model))


def _mtp(spec: drafters.MtpSpec, arm: Arm) -> Arguments:
    if spec.model is not None:
        raise BackendError(f"{_NAME} takes the target's own layers for mtp; leave out model")
    return _with("MTP", arm, {})


def _model(name: str) -> dict[str, str]:
    return {"speculative_model": folder_or_name(name, _NAME)}


_TRANSLATIONS: dict[str, Callable[[Any, Arm], Arguments]] = {
    "ngram": _ngram,
    "draft-model": _draft_model,
    "eagle3": _eagle3,
    "mtp": _mtp,
    "dflash": lambda spec, arm: _with("DFlash", arm, _model(spec.model)),
}
