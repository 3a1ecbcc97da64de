"""What the entries of a plan for servers that Draftmark starts have in common."""

from __future__ import annotations

import os
import shutil
import sysconfig
from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, PositiveFloat

from draftmark.backends.base import Asks, Backend, BackendError
from draftmark.backends.drafters import DrafterSpec, read_back
from draftmark.backends.http.spec import AskedOverHttp
from draftmark.backends.models import locate
from draftmark.backends.servers.arguments import Arguments, given_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from draftmark.backends.drafters import Eagle3Spec, SyntheticSpec
    from draftmark.results.records import Arm


PLAN_DRAFTERS = "the plan's `drafters`"
"""What a plan uses instead of a server's own flags for drafting."""
LOOPBACK = {
    "--host": "Draftmark, which listens on the loopback interface alone",
    "--port": "Draftmark, which finds a free one",
}
"""Of `ServerSpec.taken`: where every server listens."""


@dataclass(frozen=True)
class Launch:
    """How the server of one arm is started and asked."""

    before: tuple[str, ...]
    """Program and model: the words before host and port."""
    arguments: Arguments
    model: str
    """The name by which requests ask for it."""
    file_flag: str | None = None
    """Flag of the file that holds `arguments.file`; null for a server without one."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Keys that every request needs."""

    def command(self, port: object, file: object = None) -> list[str]:
        """Return program and arguments for a port."""
        words = [*self.before, "--host", "127.0.0.1", "--port", str(port)]
        if self.file_flag is not None:
            words += [self.file_flag, str(file)]
        return words + self.arguments.words()


class ServerSpec(AskedOverHttp):
    """`{kind: ..., options: {...}, args: [...], env: {...}}`: settings that every server takes."""

    dialect: ClassVar[str]
    """How the server is spoken to."""
    health: ClassVar[str] = "/health"
    """Path that answers 200 once the server is ready."""
    programs: ClassVar[tuple[str, ...]]
    """What is run where `command` is not given; the first word is looked for."""
    install: ClassVar[str]
    """How to get it, for whoever lacks it."""
    taken: ClassVar[dict[str, str]]
    """Flags and variables that Draftmark sets, and what a plan should use instead."""
    context_option: ClassVar[str]
    """The name in `options` of the most tokens that prompt and answer may have."""
    quiet: ClassVar[dict[str, str]] = {}
    """Variables that keep the server from asking the network or drawing progress bars, unless they are set."""

    command: list[str] | None = Field(default=None, min_length=1)
    """Program to run instead of the one that is installed here, such as `[/opt/venv/bin/vllm, serve]`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The server's own settings by name, passed on untouched to every arm: `{max_model_len: 4096}`."""
    args: list[str] = Field(default_factory=list)
    """The same as words of its command line, for what `options` cannot say; they come last."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables besides those that Draftmark itself has; keys belong into its own environment."""
    prefix_caching: bool = False
    """Whether a prompt may be answered for by an earlier one that begins like it."""
    start_timeout_s: PositiveFloat = Field(default=1800.0, exclude=True)
    """Longest wait for a server to become healthy, seconds."""

    def context_limit(self, target: str) -> int | None:
        """Return what the plan's `options` set, else what the target's config.json says."""
        from draftmark.backends.model_files import context_limit

        given = self.options.get(self.context_option)
        return given if isinstance(given, int) and given > 0 else context_limit(target)

    @abstractmethod
    def drafting(self, arm: Arm) -> Arguments:
        """Return what the server needs for an arm's drafter; raises `BackendError` where it has none such."""

    @abstractmethod
    def launch(self, arm: Arm, target: str) -> Launch:
        """Return how the server of an arm is started; raises `BackendError` where it cannot be."""

    def logged_counters(self, log: str) -> dict[str, float]:
        """Return counters that the server writes into its log alone, from all that it has logged since it started."""
        del log
        return {}

    def arm_problem(self, arm: Arm) -> str | None:
        """Say why the server cannot run this arm here: it is not installed, or lacks the drafter or an option."""
        problem = given_problem(self.args, self.options, self.env, self.taken)
        try:
            if problem is None:
                self.program()
                self.drafting(arm)
        except BackendError as fault:
            return str(fault)
        return problem

    def request_problem(self, asks: Asks) -> str | None:
        """Say that turns with a form would go as messages, past a template of the plan's own."""
        from draftmark.backends.http.dialects import dialect_of
        from draftmark.backends.http.spec import template_problem

        known = dialect_of(self.dialect)
        return template_problem(asks, ids_alone=known.takes_ids, beside_ids=known.completions_take_format)

    def asked_in_messages(self) -> bool:
        """Say so of servers that take no ids."""
        from draftmark.backends.http.dialects import dialect_of

        return not dialect_of(self.dialect).takes_ids

    def create(self, target: str) -> Backend:
        """Build the backend for a target; nothing is started yet."""
        from draftmark.backends.servers.backend import LaunchedBackend

        return LaunchedBackend(target, self)

    def program(self) -> tuple[str, ...]:
        """Return the words that start it; raises `BackendError` where it is not installed."""
        words = self.programs if self.command is None else tuple(self.command)
        found = shutil.which(words[0], path=os.pathsep.join([_scripts(), os.environ.get("PATH", os.defpath)]))
        if found is None and self.command is None:
            raise BackendError(f"{words[0]} is not installed here; {self.install}, or name its program in `command`")
        if found is None:
            raise BackendError(f"command: there is no program {words[0]!r} here; give its whole path")
        return (found, *words[1:])

    def installed_here(self) -> bool:
        """Whether the program is the one beside this Python, whose package can be looked at."""
        return self.command is None and Path(self.program()[0]).parent == Path(_scripts())


def _scripts() -> str:
    return sysconfig.get_path("scripts")


def drafter_of(arm: Arm, engine: str, has: Iterable[str]) -> DrafterSpec:
    """Read an arm back into its drafter's entry; raises `BackendError` for one, or a schedule, that an engine lacks.

    Args:
        arm: Any arm but `none`.
        engine: Its name.
        has: The kinds of drafters that it can be started with.
    """
    from draftmark.backends.registry import DRAFTERS

    if arm.drafter not in has:
        listed = ", ".join(has)
        raise BackendError(f"{engine} has no drafter {arm.drafter!r} that Draftmark can start; it has {listed}")
    spec = read_back(arm, DRAFTERS.resolve(arm.drafter))
    if getattr(spec, "draft_length_by_batch", None) is not None:
        raise BackendError(f"{engine} takes no schedule of D by batch size from Draftmark; leave it out")
    return spec


def over_arm(arm: Arm) -> Arm:
    """Return the arm whose cost a synthetic one pays."""
    from draftmark.results.records import Arm as ArmRecord

    over = arm.options["over"]
    options = {name: value for name, value in over.items() if name != "kind"}
    return ArmRecord(drafter=over["kind"], draft_length=arm.draft_length, options=options)


def fixed_length(spec: SyntheticSpec, engine: str) -> float:
    """Return the acceptance length that a synthetic drafter fixes; raises `BackendError` where it fixes rates."""
    if spec.acceptance_length is None:
        raise BackendError(f"{engine} can fix the acceptance length, not rates per position; use acceptance_length")
    return spec.acceptance_length


def refuse_parallel(spec: Eagle3Spec, engine: str) -> None:
    """Raise `BackendError` for an EAGLE-3 head that drafts all tokens at once."""
    if spec.parallel:
        raise BackendError(f"{engine} drafts one token after the other with eagle3; leave out parallel")


def folder_or_name(name: str, engine: str) -> str:
    """Return what an engine for safetensors takes for a model as a plan names it: a folder, or the hub name."""
    found = locate(name)
    if found.gguf_file is not None:
        raise BackendError(f"model {name!r} is a GGUF file, which {engine} does not take; name a safetensors folder")
    return found.name if found.folder is None else str(found.folder)


def asks_the_hub(target: str, arm: Arm) -> bool:
    """Whether the target or the drafter's checkpoint is a hub name; local models never ask the hub."""
    options = arm.options.get("over", arm.options)
    names = [target, *([options["model"]] if isinstance(options.get("model"), str) else [])]
    return any(locate(name).folder is None for name in names)
