"""`llama-server` of llama.cpp; flags are looked up in its own `--help`, since they have moved between builds.

Sources: the help of build 11434 (`--spec-type`, `--spec-draft-*`, `--spec-ngram-simple-size-n/-m`, `--spec-synth-*`),
`docs/speculative.md` of early 2026 for the older names (`--draft-max`, `--spec-ngram-size-n/-m`). Tried with build
11434 on a CPU for `none` and `ngram`; draft models and fixed acceptance were not.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import PositiveInt

from draftmark.backends import drafters
from draftmark.backends.base import BackendError
from draftmark.backends.http.dialects.llamacpp import drafting_s
from draftmark.backends.models import locate
from draftmark.backends.servers.arguments import Arguments, from_options, unless_given
from draftmark.backends.servers.spec import LOOPBACK, PLAN_DRAFTERS, Launch, ServerSpec, drafter_of, over_arm
from draftmark.results.counter_names import DRAFTING_S

if TYPE_CHECKING:
    from draftmark.results.records import Arm

_NAME = "llama.cpp"
_HAS = ("ngram", "draft-model", "eagle3", "mtp", "dflash", "dspark", "synthetic")
"""As far as a build goes."""
_FLAG = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
_HELP_TIMEOUT_S = 60.0


class LlamacppServerSpec(ServerSpec):
    """`{kind: llamacpp-server, parallel: 8, options: {ctx_size: 32768}}`; the target is a GGUF file."""

    dialect: ClassVar[str] = "llamacpp"
    context_option: ClassVar[str] = "ctx_size"
    programs: ClassVar[tuple[str, ...]] = ("llama-server",)
    install: ClassVar[str] = "see https://github.com/ggml-org/llama.cpp for builds"
    taken: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("-m", "--model", "-hf", "-hfr", "--hf-repo", "-a", "--alias"), "the plan's `target`"),
        **LOOPBACK,
        "--metrics": "Draftmark, which reads them",
        **dict.fromkeys(("-np", "--parallel"), "the backend's `parallel`"),
        **dict.fromkeys(("--cache-prompt", "--no-cache-prompt"), "the backend's `prefix_caching`"),
        **dict.fromkeys(
            (
                "--spec-type",
                "--spec-default",
                *("-md", "--model-draft", "--spec-draft-model", "-hfd", "-hfrd", "--hf-repo-draft", "--spec-draft-hf"),
                *("--spec-draft-n-max", "--draft", "--draft-n", "--draft-max"),
                *("--spec-ngram-simple-size-n", "--spec-ngram-simple-size-m"),
                *("--spec-ngram-size-n", "--spec-ngram-size-m"),
                *("--spec-synth-len", "--spec-synth-rates"),
            ),
            PLAN_DRAFTERS,
        ),
    }

    kind: Literal["llamacpp-server"] = "llamacpp-server"
    parallel: PositiveInt | None = None
    """Turns that the server works on at once; null for its own default. More than that wait."""

    def drafting(self, arm: Arm) -> Arguments:
        """Return `--spec-*` in the words of this build; nothing for `none`."""
        if arm.drafter == "none":
            return Arguments()
        spec = drafter_of(arm, _NAME, _HAS)
        build = self._help()
        if isinstance(spec, drafters.SyntheticSpec):
            return self.drafting(over_arm(arm)) + _synthetic(spec, build)
        if isinstance(spec, drafters.NgramSpec):
            return _ngram(spec, arm.draft_length, build)
        if getattr(spec, "parallel", False) or getattr(spec, "drop_layers", False):
            raise BackendError(f"{_NAME} can neither leave out layers of a draft model nor draft in parallel")
        kind = "draft-simple" if arm.drafter == "draft-model" else f"draft-{arm.drafter}"
        there = kind in build
        if not there and arm.drafter != "draft-model":  # which older builds know by its file alone
            raise BackendError(f"this build of {_NAME} has no --spec-type {kind}; use a newer one")
        return self._with_model(kind if there else None, getattr(spec, "model", None), arm.draft_length, build)

    def _with_model(self, kind: str | None, model: str | None, length: int, build: str) -> Arguments:
        flags = () if kind is None else (("--spec-type", kind),)
        draft = () if model is None else (("--model-draft", _gguf(model)),)
        least = _one_of(build, "--spec-draft-p-min", "--draft-p-min")
        certain = unless_given([(least, "0")], self.args, self.options)  # every step drafts D, however unsure it is
        return Arguments((*flags, *draft, (_longest(build), str(length)), *certain))

    def launch(self, arm: Arm, target: str) -> Launch:
        """Return `llama-server -m FILE` and its flags."""
        found = locate(target)
        model = ("--hf-repo", target) if found.folder is None else ("--model", _gguf(target))
        slots = () if self.parallel is None else (("--parallel", str(self.parallel)),)
        given = (*from_options(self.options), tuple(self.args))
        arguments = Arguments((("--alias", target), ("--metrics",), *slots, *self._telling()))
        arguments += self.drafting(arm) + Arguments(given)
        body = {} if self.prefix_caching else {"cache_prompt": False}
        return Launch((*self.program(), *model), arguments, target, extra_body=body)

    def logged_counters(self, log: str) -> dict[str, float]:
        """Return the drafting time."""
        found = drafting_s(log)
        return {} if found is None else {DRAFTING_S: found}

    def _telling(self) -> tuple[tuple[str, ...], ...]:
        """Return the verbosity at which a build logs its drafting time; it then logs more per answer, none per step."""
        if "--log-verbosity" not in _FLAG.findall(self._help()):
            return ()
        return unless_given([("--log-verbosity", "4")], self.args, self.options)

    def _help(self) -> str:
        return _help_of(self.program(), tuple(sorted(self.env.items())))


@lru_cache(maxsize=8)
def _help_of(program: tuple[str, ...], env: tuple[tuple[str, str], ...]) -> str:
    """Return what a build says of its flags; raises `BackendError` where it does not run."""
    try:
        said = subprocess.run(
            [*program, "--help"],
            capture_output=True,
            timeout=_HELP_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **dict(env)},
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise BackendError(f"{program[0]} --help does not run: {fault}") from fault
    text = (said.stdout + said.stderr).decode("utf-8", "replace")
    if "--model" not in _FLAG.findall(text):
        raise BackendError(f"{program[0]} --help does not list the flags of llama-server; see whether it runs")
    return text


def _one_of(build: str, *flags: str) -> str:
    """Return the first of these flags that a build has."""
    there = set(_FLAG.findall(build))
    for flag in flags:
        if flag in there:
            return flag
    raise BackendError(f"this build of {_NAME} has none of {', '.join(flags)}; use one that drafts")


def _longest(build: str) -> str:
    return _one_of(build, "--spec-draft-n-max", "--draft-max")


def _ngram(spec: drafters.NgramSpec, length: int, build: str) -> Arguments:
    if spec.min_match != spec.max_match or spec.on != "cpu":
        raise BackendError(
            f"{_NAME} looks up matches of one length alone; set min_match and max_match both to {spec.max_match}"
        )
    if "ngram-simple" not in build:
        raise BackendError(f"this build of {_NAME} has no --spec-type ngram-simple; use a newer one")
    matched = _one_of(build, "--spec-ngram-simple-size-n", "--spec-ngram-size-n")
    copied = _one_of(build, "--spec-ngram-simple-size-m", "--spec-ngram-size-m")
    return Arguments(
        (
            ("--spec-type", "ngram-simple"),
            (matched, str(spec.max_match)),
            (copied, str(length)),
            (_longest(build), str(length)),
        )
    )


def _synthetic(spec: drafters.SyntheticSpec, build: str) -> Arguments:
    if spec.acceptance_length is not None:
        return Arguments(((_one_of(build, "--spec-synth-len"), f"{spec.acceptance_length:g}"),))
    rates = ",".join(f"{rate:g}" for rate in spec.acceptance_rates or ())
    return Arguments(((_one_of(build, "--spec-synth-rates"), rates),))


def _gguf(name: str) -> str:
    """Return the path of a GGUF file as a plan names it."""
    found = locate(name)
    if found.folder is None or found.gguf_file is None:
        raise BackendError(f"{_NAME} takes GGUF files, and model {name!r} is none; name a .gguf file")
    return str(found.folder / found.gguf_file)
