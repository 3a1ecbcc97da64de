"""The plan file says what to run: its schema, reading it, and every check that needs neither a model nor a suite.

A plan is YAML. Entries of `backends`, `drafters` and `suites` are chosen by their `kind`; unknown keys, duplicate keys
and values of another type are refused, all of them in one message.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
)

from draftmark.backends.base import BackendSpec
from draftmark.backends.drafters import DrafterSpec
from draftmark.backends.registry import BACKENDS, DRAFTERS
from draftmark.bench.plans.document import Document, Place, PlanError, Problem, read_document
from draftmark.bench.plans.load import LOADS, ClosedPlan, LoadPlan, with_its_kind
from draftmark.bench.plans.template_options import TemplateOptions
from draftmark.bench.plans.variables import unknown_variables
from draftmark.bench.plans.wording import described, keys_of, problems_of
from draftmark.results.errors import DraftmarkError
from draftmark.results.records import Sampling
from draftmark.results.records.loads import Objectives
from draftmark.results.roles import is_baseline
from draftmark.suites.prompt import SuiteSpec
from draftmark.suites.registry import SUITES
from draftmark.suites.thinking import Mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from draftmark.results.kinds import KindTable


class PlanSettings(BaseModel):
    """The keys of a plan that hold no kind-tagged entries."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, max_length=200)]
    """What the run is called; part of its folder's name."""
    target: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The model that answers: an alias, a folder, a GGUF file or a hub name. May be left out for servers that are asked
    in messages."""
    sampling: Sampling = Sampling()
    objectives: Objectives | None = None
    """Times that turns must not exceed, for goodput."""
    repeats: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Times every conversation is had with every arm."""
    launches: Annotated[int, Field(ge=1, le=100)] = 1
    """Times every engine is started anew for all of that; two or more tell what another launch would give."""
    warmup: Annotated[int, Field(ge=0, le=1_000)] = 1
    """Turns per arm before anything is measured, each time the engine starts; with prompts of their own."""
    baseline: bool = True
    """False allows a plan without the drafter `none`; nothing can be compared then."""
    chat_template: Annotated[str, Field(min_length=1, max_length=500)] = "model"
    """`model` for the target's own template, `none` for the prompts as raw text, or a file with a template to use."""
    template_options: TemplateOptions = Field(default_factory=dict)
    """What the chat template is told besides, by the names that it reads: `{date_string: 1 January 2025}`."""
    thinking: Mode | None = None
    """Whether the target thinks before it answers, and how much; must be said where its template has a switch."""
    earlier_reasoning: Literal["stripped", "kept"] = "stripped"
    """What later turns of a conversation hold of the thinking before the arm's own answers."""
    request_sampling: Literal["plan", "recorded"] = "plan"
    """Whether recorded requests are sampled by the plan, which is comparable, or each as it was."""


class Plan(PlanSettings):
    """What to run: the product of backends, arms, suites and loads."""

    backends: Annotated[tuple[SerializeAsAny[BackendSpec], ...], Field(min_length=1)]
    drafters: Annotated[tuple[SerializeAsAny[DrafterSpec], ...], Field(min_length=1)]
    suites: Annotated[tuple[SerializeAsAny[SuiteSpec], ...], Field(min_length=1)]
    load: SerializeAsAny[LoadPlan] = ClosedPlan()

    @property
    def target_name(self) -> str:
        """The target, or where the plan names none, what the server calls its model."""
        served = (spec.served_model() for spec in self.backends)
        return self.target or next((name for name in served if name is not None), "unnamed")

    def as_data(self) -> dict[str, Any]:
        """Return the plan as plain JSON values, defaults filled in; keys that came later are left out at theirs."""
        data = self.model_dump(mode="json")
        return {key: value for key, value in data.items() if key not in _CAME_LATER or value != _CAME_LATER[key]}

    @property
    def hash(self) -> str:
        """sha256 of the plan's canonical JSON, defaults filled in."""
        text = json.dumps(self.as_data(), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


_CAME_LATER: dict[str, Any] = {
    "request_sampling": "plan",
    "template_options": {},
    "thinking": None,
    "earlier_reasoning": "stripped",
}
"""Keys to their defaults, with which the hashes of older plans hold."""

_TABLES: dict[str, KindTable[Any]] = {"backends": BACKENDS, "drafters": DRAFTERS, "suites": SUITES}


def load_plan(path: Path, environment: Mapping[str, str] | None = None) -> Plan:
    """Read and check a plan file.

    Raises `PlanError` naming every problem with file, line and key: of the YAML, of the schema, of what the entries
    say together, and of misspelt DRAFTMARK_ variables in `environment` (default: this process's own).
    """
    document = read_document(path)
    variables = unknown_variables(os.environ if environment is None else environment)
    return _plan(document, str(path), [Problem((), sentence) for sentence in variables])


def plan_from(value: dict[str, Any], name: str) -> Plan:
    """Check a plan that is data already; `name` stands for the file's in what is wrong with it, raised as there."""
    return _plan(Document(value=value), name, [])


def refuse(path: Path, problems: Iterable[Problem]) -> None:
    """Raise `PlanError` if there are problems that were found after the plan was read, with the lines of its file."""
    found = list(problems)
    if found:
        document = read_document(path)
        raise PlanError(str(path), [_located(problem, document) for problem in found])


def _plan(document: Document, name: str, others: list[Problem]) -> Plan:
    reading = _Reading(document)
    plan = reading.plan()
    problems = [*document.problems, *reading.problems, *others]
    if problems or plan is None:
        raise PlanError(name, sorted((_located(p, document) for p in problems), key=lambda p: p.line or 0))
    return plan


def _located(problem: Problem, document: Document) -> Problem:
    line = problem.line
    if line is None and problem.place:
        line = document.line(problem.place)
    return Problem(problem.place, problem.text, line)


class _Reading:
    """One pass over a document's value that gathers problems instead of stopping at the first."""

    def __init__(self, document: Document) -> None:
        self.value = document.value
        self.damaged = {problem.place for problem in document.problems}
        self.unreadable = document.value is None and bool(document.problems)
        self.problems: list[Problem] = []
        self.known: dict[Place, list[str]] = {
            (): keys_of(Plan),
            ("load",): keys_of(ClosedPlan),
            ("sampling",): keys_of(Sampling),
            ("objectives",): keys_of(Objectives),
        }

    def plan(self) -> Plan | None:
        """Return the plan, or null with `problems` filled."""
        if self.unreadable:
            return None
        if self.value is None:
            self.problems.append(Problem((), "the plan is empty; see examples/demo.yaml for one to start from"))
            return None
        if not isinstance(self.value, dict):
            self.problems.append(Problem((), f"a plan is a mapping of keys to values, not {described(self.value)}"))
            return None
        entries = {key: self._entries(key, table) for key, table in _TABLES.items()}
        load = self._load()
        settings = self._settings()
        if load is not None and settings is not None:
            self.problems += load.problems([spec for _, spec in entries["backends"]], settings.repeats)
        self._check_target(entries["backends"], settings)
        self._check_arms(entries["drafters"], settings)
        for key in ("backends", "suites"):
            self._check_twice(key, [(index, "", spec.model_dump(mode="json")) for index, spec in entries[key]])
        if self.problems or self.damaged or settings is None or load is None:
            return None
        lists = {key: tuple(spec for _, spec in found) for key, found in entries.items()}
        told = {name: getattr(settings, name) for name in PlanSettings.model_fields}
        return Plan.model_validate({**told, **lists, "load": load})

    def _settings(self) -> PlanSettings | None:
        rest = {key: value for key, value in self.value.items() if key not in _TABLES and key != "load"}
        settings: PlanSettings | None = self._validated(PlanSettings, rest, ())
        return settings

    def _load(self) -> LoadPlan | None:
        place: Place = ("load",)
        value = self.value.get("load", {})
        if self._damaged(place) or self._damaged((*place, "kind")):
            return None
        if not isinstance(value, dict):
            text = f"must be a mapping of keys to values, not {described(value)}"
            self.problems.append(Problem(place, text))
            return None
        kind = value.get("kind", next(iter(LOADS)))
        model = LOADS.get(kind) if isinstance(kind, str) else None
        if model is None:
            *some, last = map(repr, LOADS)
            text = f"must be {', '.join(some)} or {last}, not {described(kind)}"
            self.problems.append(Problem((*place, "kind"), text))
            return None
        self.known[place] = keys_of(model)
        load: LoadPlan | None = self._validated(model, value, place)
        self.problems = [with_its_kind(problem, model) for problem in self.problems]
        return load

    def _check_target(self, backends: list[tuple[int, BackendSpec]], settings: PlanSettings | None) -> None:
        if settings is None or settings.target is not None:
            return
        if "target" in self.value:  # written, and empty
            self.problems.append(Problem(("target",), "must be text, not nothing; name the model that answers"))
        for index, spec in backends:
            if spec.needs_ids:
                text = f"the backend {spec.kind} needs a target; add target: and the model that answers"
                self.problems.append(Problem(("backends", index), text))
        if len({spec.served_model() for _, spec in backends}) > 1:
            text = "is missing, and the backends name different models; add target: and the model that answers"
            self.problems.append(Problem(("target",), text))

    def _entries(self, key: str, table: KindTable[Any]) -> list[tuple[int, Any]]:
        """Return (index, spec) of every entry that is right."""
        if key not in self.value:
            self.problems.append(Problem((key,), f"is missing; list at least one, such as [{{kind: {_kind(table)}}}]"))
            return []
        if (key,) in self.damaged:
            return []
        listed = self.value[key]
        if not isinstance(listed, list) or not listed:
            what = "must not be empty" if listed == [] else f"must be a list, not {described(listed)}"
            self.problems.append(Problem((key,), f"{what}; write [{{kind: {_kind(table)}}}]"))
            return []
        found = [(index, self._entry((key, index), entry, table)) for index, entry in enumerate(listed)]
        return [(index, spec) for index, spec in found if spec is not None]

    def _entry(self, place: Place, entry: Any, table: KindTable[Any]) -> Any:
        if place in self.damaged:
            return None
        if not isinstance(entry, dict):
            example = entry if isinstance(entry, str) and entry in table.names() else _kind(table)
            self.problems.append(
                Problem(place, f"must be a mapping such as {{kind: {example}}}, not {described(entry)}")
            )
            return None
        kind = entry.get("kind")
        if not isinstance(kind, str):
            if (*place, "kind") not in self.damaged:
                what = f"must be text, not {described(kind)}" if "kind" in entry else "is missing"
                self.problems.append(Problem((*place, "kind"), f"{what}; known: {', '.join(table.names())}"))
            return None
        try:
            model = table.resolve(kind)
        except DraftmarkError as fault:
            self.problems.append(Problem((*place, "kind"), str(fault)))
            return None
        self.known[place] = keys_of(model)
        return self._validated(model, entry, place)

    def _validated(self, model: type[BaseModel], value: dict[str, Any], place: Place) -> Any:
        """Validate as JSON: strict, but a list may stand for a tuple and a whole number for a float."""
        try:
            return model.model_validate_json(json.dumps(value))
        except ValidationError as fault:
            found = problems_of(fault, place, self.known)
        except ValueError as fault:
            found = [Problem(place, f"cannot be read: {fault}")]
        self.problems += [problem for problem in found if not self._damaged(problem.place)]
        return None

    def _damaged(self, place: Place) -> bool:
        """Say whether the file itself is wrong at a place, so that what follows from that is not told as well."""
        return any(place[: len(damaged)] == damaged for damaged in self.damaged)

    def _check_arms(self, drafters: list[tuple[int, DrafterSpec]], settings: PlanSettings | None) -> None:
        arms = [(index, arm) for index, spec in drafters for arm in spec.arms()]
        self._check_twice("drafters", [(index, arm.label, arm.model_dump(mode="json")) for index, arm in arms])
        complete = isinstance(self.value.get("drafters"), list) and len(drafters) == len(self.value["drafters"])
        if settings is None or not complete or not drafters:
            return
        has_baseline = any(is_baseline(arm) for _, arm in arms)
        if settings.baseline and not has_baseline:
            self.problems.append(
                Problem(
                    ("drafters",),
                    "has no {kind: none}, so there is nothing to compare with; add it, or set baseline: false",
                )
            )
        if has_baseline and not settings.baseline:
            self.problems.append(
                Problem(("baseline",), "is false, but drafters holds {kind: none}; take one of them away")
            )

    def _check_twice(self, key: str, items: list[tuple[int, str, dict[str, Any]]]) -> None:
        first: dict[str, int] = {}
        for index, label, data in items:
            text = json.dumps(data, sort_keys=True)
            if text in first:
                what = f"asks for {label} again, as" if label else "is the same as"
                self.problems.append(Problem((key, index), f"{what} {key}[{first[text]}]; remove one"))
            first.setdefault(text, index)


def _kind(table: KindTable[Any]) -> str:
    return next(iter(table.names()), "...")
