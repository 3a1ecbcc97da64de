"""`sglang.launch_server`; not tried on the real engine.

Flags follow SGLang 0.5.23: `srt/arg_groups/fields/spec.py` (names and meanings), `srt/arg_groups/speculative_hook.py`
(what each algorithm makes of them), `srt/environ.py` and `srt/speculative/spec_utils.py` (simulated acceptance, whose
length counts the verified token), `docs/advanced_features/speculative_decoding.md` (which algorithm is which drafter).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from draftmark.backends import drafters
from draftmark.backends.base import BackendError
from draftmark.backends.servers.arguments import Arguments, from_options, given_problem, unless_given
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
    from collections.abc import Callable

    from draftmark.results.records import Arm

_NAME = "SGLang"


class SglangServerSpec(ServerSpec):
    """`{kind: sglang-server, options: {context_length: 4096, mem_fraction_static: 0.8}}`."""

    dialect: ClassVar[str] = "sglang"
    context_option: ClassVar[str] = "context_length"
    programs: ClassVar[tuple[str, ...]] = (sys.executable, "-m", "sglang.launch_server")
    install: ClassVar[str] = "run: pip install sglang"
    taken: ClassVar[dict[str, str]] = {
        "--model": "the plan's `target`",
        "--model-path": "the plan's `target`",
        **LOOPBACK,
        "--served-model-name": "the plan's `target`",
        "--speculative-algorithm": PLAN_DRAFTERS,
        "--speculative-algo": PLAN_DRAFTERS,
        "--speculative-draft-model": PLAN_DRAFTERS,
        "--speculative-draft-model-path": PLAN_DRAFTERS,
        "--speculative-num-steps": PLAN_DRAFTERS,
        "--speculative-eagle-topk": PLAN_DRAFTERS,
        "--speculative-num-draft-tokens": PLAN_DRAFTERS,
        "--speculative-dflash-block-size": PLAN_DRAFTERS,
        "--speculative-dspark-block-size": PLAN_DRAFTERS,
        "--speculative-ngram-max-bfs-breadth": PLAN_DRAFTERS,
        "--speculative-adaptive": "nothing: D is what an arm says, and does not adapt",
        "--disable-radix-cache": "the backend's `prefix_caching`",
        "--enable-metrics": "Draftmark, which reads them",
        "SGLANG_SIMULATE_ACC_LEN": PLAN_DRAFTERS,
        "SGLANG_SIMULATE_ACC_METHOD": PLAN_DRAFTERS,
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": PLAN_DRAFTERS,
    }

    kind: Literal["sglang-server"] = "sglang-server"

    def arm_problem(self, arm: Arm) -> str | None:
        """As of every server; the package is looked for without importing it."""
        problem = given_problem(self.args, self.options, self.env, self.taken)
        negated = next((name for name, value in self.options.items() if value is False), None)
        if problem is None and negated is not None:
            return f"options.{negated}: SGLang's flags are on or absent; leave it out, or use args"
        if problem is None and self.command is None:
            import importlib.util

            if importlib.util.find_spec("sglang") is None:
                return f"SGLang is not installed here; {self.install}, or name its program in `command`"
        return problem or super().arm_problem(arm)

    def drafting(self, arm: Arm) -> Arguments:
        """Return `--speculative-*` for a chain of D drafts; the number of draft tokens counts the verified one too."""
        if arm.drafter == "none":
            return Arguments()
        spec = drafter_of(arm, _NAME, [*_TRANSLATIONS, "synthetic"])
        if isinstance(spec, drafters.SyntheticSpec):
            return self.drafting(over_arm(arm)) + _synthetic(spec)
        return _TRANSLATIONS[arm.drafter](spec, arm.draft_length)

    def launch(self, arm: Arm, target: str) -> Launch:
        """Return `python -m sglang.launch_server --model-path MODEL` and its flags."""
        own = unless_given([("--sampling-defaults", "openai")], self.args, self.options)
        caching = () if self.prefix_caching else (("--disable-radix-cache",),)
        given = (*from_options(self.options), tuple(self.args))
        arguments = Arguments((("--served-model-name", target), ("--enable-metrics",), *caching, *own))
        arguments += self.drafting(arm) + Arguments(given)
        return Launch((*self.program(), "--model-path", folder_or_name(target, _NAME)), arguments, target)


def _synthetic(spec: drafters.SyntheticSpec) -> Arguments:
    return Arguments(
        environment={
            "SGLANG_SIMULATE_ACC_LEN": f"{fixed_length(spec, _NAME):g}",
            "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
            "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
        }
    )


def _with(algorithm: str, model: str | None, *flags: tuple[str, ...]) -> Arguments:
    draft = () if model is None else (("--speculative-draft-model-path", folder_or_name(model, _NAME)),)
    return Arguments((("--speculative-algorithm", algorithm), *draft, *flags))


def _chain(algorithm: str, model: str | None, length: int) -> Arguments:
    """One draft after the other, without branches; the number of draft tokens counts the verified one too."""
    return _with(
        algorithm,
        model,
        ("--speculative-num-steps", str(length)),
        ("--speculative-eagle-topk", "1"),
        ("--speculative-num-draft-tokens", str(length + 1)),
    )


def _ngram(spec: drafters.NgramSpec, length: int) -> Arguments:
    """A chain out of SGLang's trie, which has no lengths of match and is shared by all requests."""
    unlike = drafters.NgramSpec(draft_length=[length])
    if (spec.min_match, spec.max_match, spec.on) != (unlike.min_match, unlike.max_match, unlike.on):
        raise BackendError(f"{_NAME}'s n-gram drafter has no min_match, max_match or place; leave them out")
    return _with(
        "NGRAM",
        None,
        ("--speculative-num-steps", str(length)),
        ("--speculative-num-draft-tokens", str(length + 1)),
        ("--speculative-ngram-max-bfs-breadth", "1"),
    )


def _draft_model(spec: drafters.DraftModelSpec, length: int) -> Arguments:
    if spec.drop_layers or spec.parallel:
        raise BackendError(f"{_NAME} can neither leave out layers of a draft model nor draft in parallel")
    return _chain("STANDALONE", spec.model, length)


def _eagle3(spec: drafters.Eagle3Spec, length: int) -> Arguments:
    refuse_parallel(spec, _NAME)
    return _chain("EAGLE3", spec.model, length)


def _dflash(spec: drafters.DflashSpec, length: int) -> Arguments:
    return _with("DFLASH", spec.model, ("--speculative-num-draft-tokens", str(length + 1)))


def _dspark(spec: drafters.DsparkSpec, length: int) -> Arguments:
    return _with("DSPARK", spec.model, ("--speculative-dspark-block-size", str(length)))


_TRANSLATIONS: dict[str, Callable[[Any, int], Arguments]] = {
    "ngram": _ngram,
    "draft-model": _draft_model,
    "eagle": lambda spec, length: _chain("EAGLE", spec.model, length),
    "eagle3": _eagle3,
    "mtp": lambda spec, length: _chain("NEXTN", spec.model, length),
    "dflash": _dflash,
    "dspark": _dspark,
}
