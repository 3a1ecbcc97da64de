"""What the run was and what its numbers mean: machine, models, suites, settings, plan and definitions, as texts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from draftmark.results.metrics import Metric
    from draftmark.results.records import Environment, ModelIdentity, RunManifest, SuiteIdentity
    from draftmark.results.summary import RunSummary

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Block:
    """A titled list of labelled texts."""

    title: str
    pairs: Pairs


def headline_facts(summary: RunSummary) -> list[str]:
    """Say in a few words each what was run: target, backends, when, for how long, and whether it is finished."""
    manifest = summary.manifest
    backends = dict.fromkeys(cell.backend for cell in summary.cells)
    facts = [manifest.target.name, *(f"{backend} engine" for backend in backends)]
    if manifest.sessions:
        environment = manifest.sessions[-1].environment
        facts.append(", ".join(dict.fromkeys(environment.gpus)) or environment.cpu or environment.platform)
        facts.append(moment(manifest.sessions[0].started_at))
    if isinstance(said := manifest.plan.get("thinking"), str):
        facts.append(f"thinking {said}")
    if options := manifest.plan.get("template_options"):
        facts.append(f"template_options {json.dumps(options, ensure_ascii=False)}")
    if manifest.plan.get("request_sampling") == "recorded":
        facts.append("request_sampling: recorded")
    if summary.elapsed_s is not None:
        facts.append(duration(summary.elapsed_s))
    if manifest.status != "complete":
        facts.append(f"status: {manifest.status}")
    return facts


def moment(stamp: str) -> str:
    """Write an ISO 8601 stamp as a date and time of day in UTC; one that is no such stamp stays as it is."""
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if when.tzinfo else stamp


def duration(seconds: float) -> str:
    """Write a duration as hours, minutes and seconds, leading zeros left out."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def blocks(summary: RunSummary) -> list[Block]:
    """Return the environment part of the page: the run and its settings, each session, models and suites."""
    manifest = summary.manifest
    found = [Block("Run", _run(manifest))]
    if asked := (*_asked(manifest), *_template(manifest), *_thinking(manifest)):
        found.append(Block("How turns were asked", asked))
    for index, session in enumerate(manifest.sessions):
        title = "Machine and software" if len(manifest.sessions) == 1 else f"Session {index + 1}"
        ended = session.ended_at or "not recorded"
        took = "not measured" if session.elapsed_s is None else duration(session.elapsed_s)
        times = (("started", session.started_at), ("ended", ended), ("took", took))
        warm = (("warm-up turns per arm", str(session.warmup_turns)),)
        found.append(Block(title, times + warm + _environment(session.environment)))
    found += [Block("Target", _model(manifest.target))]
    found += [Block("Draft model", _model(model)) for model in manifest.models]
    found += [Block(f"Suite {suite.name}", _suite(suite)) for suite in manifest.suites]
    return found


_SPOKEN = {"max_tokens": "max_tokens (per answer)", "temperature": "temperature (0 is greedy)"}


def _asked(manifest: RunManifest) -> Pairs:
    """Return sampling and load: one value where all cells share it, else every value that occurs."""
    values: dict[str, list[str]] = {}
    for record in manifest.cells:
        sampling = record.key.sampling.model_dump(mode="json")
        load = record.key.load.model_dump(mode="json", exclude_none=True)
        if record.key.request_sampling is not None:
            sampling["sampling of requests"] = record.key.request_sampling
        told = {**sampling, **{f"load: {name}": value for name, value in load.items()}}
        for name, value in told.items():
            values.setdefault(_SPOKEN.get(name, name.replace("_", " ")), []).append(_plain(value))
    return tuple((name, ", ".join(dict.fromkeys(found))) for name, found in values.items())


def _template(manifest: RunManifest) -> Pairs:
    """Return what the chat template was told, and the date that it wrote."""
    told = ", ".join(f"{name} {_plain(value)}" for name, value in manifest.plan.get("template_options", {}).items())
    date = manifest.template_date
    return (
        *((("options of the chat template", told),) if told else ()),
        *((("date in prompts", f"{date}, whatever the day of the run"),) if date is not None else ()),
    )


def _thinking(manifest: RunManifest) -> Pairs:
    """Return how the target thought, and what later turns held of it; nothing where nothing makes it think."""
    if manifest.thinking is None:
        return ()
    earlier = str(manifest.plan.get("earlier_reasoning", "stripped"))
    return (("thinking", manifest.thinking), ("reasoning of earlier answers", earlier))


def _plain(value: object) -> str:
    if value == []:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _run(manifest: RunManifest) -> Pairs:
    return (
        ("run", manifest.run_id),
        ("status", manifest.status),
        ("plan hash", manifest.plan_hash),
        ("record version", str(manifest.schema_version)),
    )


def _environment(environment: Environment) -> Pairs:
    memory = environment.memory_bytes
    pairs = [
        ("Draftmark", environment.draftmark),
        ("commit", environment.commit or "none: not a checkout"),
        ("Python", environment.python),
        ("platform", environment.platform),
        ("processor", environment.cpu or "unknown"),
        ("cores", str(environment.cores)),
        ("memory", "unknown" if memory is None else f"{memory / 2**30:.1f} GiB"),
        ("GPUs", ", ".join(environment.gpus) or "none"),
    ]
    return tuple(pairs) + tuple(environment.packages.items()) + tuple(environment.variables.items())


def _model(model: ModelIdentity) -> Pairs:
    pairs = [("name", model.name)]
    if model.revision:
        pairs.append(("revision", model.revision))
    if model.parameters is not None:
        pairs.append(("parameters", f"{model.parameters:,}"))
    if model.vocabulary is not None:
        pairs.append(("vocabulary", f"{model.vocabulary:,}"))
    return tuple(pairs) + tuple((name, f"sha256 {digest}") for name, digest in model.files.items())


def _suite(suite: SuiteIdentity) -> Pairs:
    return (
        ("prompts", f"{suite.prompts:,} conversations, {suite.turns:,} turns"),
        ("selection", suite.selection),
        ("licence", suite.licence or "not stated"),
        ("source", suite.source or "not stated"),
        ("sha256", suite.hash),
        *([("caution", suite.caution.text)] if suite.caution is not None else []),
    )


@dataclass(frozen=True)
class Definition:
    """One entry of the definitions: metrics that differ in name alone (bins of one number) share it."""

    names: tuple[str, ...]
    unit: str
    better: str | None
    about: str
    formula: str


def definitions(metrics: Iterable[Metric]) -> list[Definition]:
    """Return the definitions in the order of the metrics, one for all that read the same."""
    names: dict[tuple[str, str | None, str, str], list[str]] = {}
    for metric in metrics:
        names.setdefault((metric.unit, metric.better, metric.about, metric.formula), []).append(metric.name)
    return [Definition(tuple(alike), *told) for told, alike in names.items()]


def plan_text(manifest: RunManifest) -> str:
    """Return the plan as JSON, which is YAML as well: saved to a file, `draftmark run` takes it."""
    return json.dumps(manifest.plan, indent=2, ensure_ascii=False)
