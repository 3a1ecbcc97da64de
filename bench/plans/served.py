"""The plan of a server that is running already: from the command line, and what the server says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.bench.plans.document import PlanError, Problem
from draftmark.bench.plans.enough import ROUNDS
from draftmark.results.paths import is_local_path, path_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.http.spec import OpenaiSpec
    from draftmark.suites.prompt import SuiteSpec
    from draftmark.suites.rendering import Renderer

NAME = "the command line"
LONGEST_NAME = 200
"""Characters of a model's name."""


@dataclass(frozen=True)
class Asked:
    """What the command line says; null where the server or a default has to tell."""

    url: str
    suites: Sequence[SuiteSpec]
    concurrency: Sequence[int]
    model: str | None = None
    draft_length: int | None = None
    max_tokens: int | None = None
    api_key_env: str | None = None
    target: str | None = None
    thinking: str | None = None
    stall_timeout: float | None = None
    """Longest wait for the next byte of an answer, seconds."""


def server_plan(asked: Asked) -> dict[str, Any]:
    """Return the plan as data, with the server's model and D as it tells them.

    Raises:
        PlanError: the URL or a name is wrong, or the server lists no single model, or one whose name cannot be kept.
        BackendError: nothing answers there, or it wants a key.
    """
    backend: dict[str, Any] = {"kind": "openai", "base_url": asked.url, "model": asked.model or "unknown"}
    if asked.api_key_env is not None:
        backend["api_key_env"] = asked.api_key_env
    if asked.stall_timeout is not None:
        backend["stall_timeout_s"] = asked.stall_timeout
    facts, told = _look(backend)
    model = asked.model or facts.get("served_model")
    if not isinstance(model, str):
        raise PlanError(NAME, [Problem((), "the server lists no single model; name one with --model")])
    if len(model) > LONGEST_NAME:
        text = (
            f"the server at {asked.url} calls its model by a name of {len(model):,} characters, and at most "
            f"{LONGEST_NAME} can be kept; start it with a shorter one"
        )
        raise PlanError(NAME, [Problem((), text)])
    length = asked.draft_length if asked.draft_length is not None else (told or 0)
    suites = [suite.model_dump(mode="json", exclude_none=True) for suite in asked.suites]
    renderer = None if asked.target is None else _renderer(asked.target)
    prompts = min(len(spec.load(renderer).prompts) for spec in asked.suites)
    wanted = ROUNDS * max(asked.concurrency) if max(asked.concurrency) > 1 else 1
    plan: dict[str, Any] = {
        "name": path_ends([model])[model] if is_local_path(model) else model,
        "backends": [{**backend, "model": model, "dialect": facts["dialect"]}],
        "drafters": [{"kind": "as-served", "draft_length": length}],
        "baseline": False,
        "suites": suites,
        "load": {"kind": "closed", "concurrency": list(asked.concurrency)},
        "repeats": max(1, -(-wanted // max(prompts, 1))),
    }
    if asked.target is not None:
        plan["target"] = asked.target
    if asked.thinking is not None:
        plan["thinking"] = asked.thinking
    if asked.max_tokens is not None:
        plan["sampling"] = {"max_tokens": asked.max_tokens}
    return plan


def _renderer(target: str) -> Renderer:
    from draftmark.backends.models import locate
    from draftmark.suites.rendering import Renderer

    path, options = locate(target).pretrained()
    return Renderer.load(path, **options)


def _look(backend: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    """Ask the server what it is; return its facts and its D where it tells."""
    from draftmark.backends.http.backend import HttpBackend

    spec = _spec(backend)
    looking = HttpBackend(spec.settings())
    return looking.look(), looking.draft_length()


def _spec(backend: dict[str, Any]) -> OpenaiSpec:
    from pydantic import ValidationError

    from draftmark.backends.http.spec import OpenaiSpec
    from draftmark.bench.plans.wording import keys_of, problems_of

    try:
        return OpenaiSpec.model_validate(backend)
    except ValidationError as fault:
        raise PlanError(NAME, problems_of(fault, (), {(): keys_of(OpenaiSpec)})) from fault
