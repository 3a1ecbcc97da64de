"""What differs between two runs besides what was measured, and which differences forbid a comparison.

Forbidden is what changes the work or the machine: other weights of the target, sampling, prompts, load, hardware,
device memory or threads, the engine's own settings, and how much of the prompts a prefix cache answered. Told beside
the numbers is what a comparison is made for: versions, commits, drafters' weights, what the engine resolved by itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from draftmark.results.comparing.changes import SettingChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from draftmark.results.records import CellRecord, Environment, ModelIdentity, RunManifest

SAME_CACHE = 0.05
"""Difference in the share of cached prompt tokens up to which caches are called equal."""
HARMLESS_VARIABLES = frozenset({"PYTHONHASHSEED", "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES"})
"""Environment variables that may differ: they do not change how fast an engine is."""
HARMLESS_ENGINE = frozenset(
    {"base_url", "url", "host", "port", "model", "api_key_env", "headers", "verify_tls", "command", "client_processes"}
)
"""Settings of an engine that say where it is, not how it runs; everything else it was given matters."""
RESOLVED_THAT_MATTER = frozenset(
    {
        "gpus",
        "device",
        "device_name",
        "dtype",
        "threads",
        "kv_cache_dtype",
        "quantization",
        "model.dtype",
        "model.quantization",
        "model.max_model_len",
        "cache.cache_dtype",
        "cache.enable_prefix_caching",
        "parallel.tensor_parallel_size",
        "parallel.pipeline_parallel_size",
        "parallel.data_parallel_size",
        "device.device_type",
    }
)
"""What the engine resolved by itself and still forbids a comparison; the rest of it is told."""
_HARDWARE = ("cpu", "cores", "gpus")


def run_changes(before: RunManifest, after: RunManifest) -> list[SettingChange]:
    """Return what differs between whole runs, what forbids a comparison first."""
    found = [*_machine(before, after), *_target(before.target, after.target), *_draft_models(before, after)]
    found += [*_template(before, after), *_thinking(before, after), *_plan(before.plan, after.plan)]
    return sorted(found, key=lambda change: not change.forbids)


def cell_changes(
    before: CellRecord, after: CellRecord, *, cached: tuple[float | None, float | None] = (None, None)
) -> list[SettingChange]:
    """Return what differs between two cells of one name, what forbids a comparison first.

    Args:
        before: The baseline's cell.
        after: The candidate's.
        cached: Share of the prompt tokens that a prefix cache answered, of either; null where nothing counts it.
    """
    one, other = before.key, after.key
    found = [
        SettingChange(field=name, before=was, after=now, forbids=True)
        for name in ("backend", "suite", "suite_hash", "request_sampling")
        if (was := getattr(one, name)) != (now := getattr(other, name))
    ]
    plain = one.request_sampling is None and other.request_sampling is None
    greedy = plain and one.sampling.temperature == other.sampling.temperature == 0
    found += _differing(
        "sampling", _flat(one.sampling), _flat(other.sampling), lambda name: not (greedy and name == "seed")
    )
    found += _differing("load", _flat(one.load), _flat(other.load), lambda name: True)
    found += _differing("arm", _flat(one.arm), _flat(other.arm), lambda name: False)
    found += _differing("engine", one.engine, other.engine, lambda name: name.split(".")[0] not in HARMLESS_ENGINE)
    if before.resolved and after.resolved:
        found += _differing("resolved", before.resolved, after.resolved, lambda name: name in RESOLVED_THAT_MATTER)
    found += _cache(*cached)
    return sorted(found, key=lambda change: not change.forbids)


def _cache(before: float | None, after: float | None) -> Iterator[SettingChange]:
    if before is None and after is None:
        return
    if before is None or after is None:
        if (before or after or 0.0) > SAME_CACHE:
            yield SettingChange(field="prefix_cache_hit_share", before=before, after=after, forbids=True)
    elif abs(before - after) > SAME_CACHE:
        yield SettingChange(
            field="prefix_cache_hit_share", before=round(before, 4), after=round(after, 4), forbids=True
        )


def _machine(before: RunManifest, after: RunManifest) -> Iterator[SettingChange]:
    """Compare the machines of all sessions; a run that was continued elsewhere is of no one machine."""
    for name in _HARDWARE:
        was, now = _of_sessions(before, name), _of_sessions(after, name)
        if was != now:
            yield SettingChange(field=f"environment.{name}", before=_single(was), after=_single(now), forbids=True)
    for name in ("drivers", "platform", "python", "draftmark", "commit"):
        was, now = _of_sessions(before, name), _of_sessions(after, name)
        if was != now:
            yield SettingChange(field=f"environment.{name}", before=_single(was), after=_single(now), forbids=False)
    yield from _environment_changes("packages", before, after, lambda name: False)
    yield from _environment_changes("variables", before, after, lambda name: name not in HARMLESS_VARIABLES)


def _environment_changes(
    name: str, before: RunManifest, after: RunManifest, forbids: Callable[[str], bool]
) -> Iterator[SettingChange]:
    """Compare named facts; those of a run whose sessions differ in them are not known."""
    was, now = _of_sessions(before, name), _of_sessions(after, name)
    if len(was) == len(now) == 1:
        yield from _differing(f"environment.{name}", was[0], now[0], forbids)
    elif was != now:
        yield SettingChange(field=f"environment.{name}", before=_single(was), after=_single(now), forbids=False)


def _of_sessions(manifest: RunManifest, name: str) -> list[Any]:
    """Return the different values that a fact of the environment had over the sessions, in order."""
    found: list[Any] = []
    for session in manifest.sessions:
        value = _fact(session.environment, name)
        if value not in found:
            found.append(value)
    return found


def _fact(environment: Environment, name: str) -> Any:
    lines = [[part.strip() for part in line.split(",")] for line in environment.gpus]
    if name == "gpus":
        return [", ".join(parts[:2]) for parts in lines]
    if name == "drivers":
        return sorted({parts[2] for parts in lines if len(parts) > 2})
    return getattr(environment, name)


def _single(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values or None


def _target(before: ModelIdentity, after: ModelIdentity) -> Iterator[SettingChange]:
    if before.files and after.files:
        if before.files != after.files:
            yield SettingChange(
                field="target.files", before=_shortened(before.files), after=_shortened(after.files), forbids=True
            )
        return
    for name in ("name", "revision", "parameters", "vocabulary"):
        was, now = getattr(before, name), getattr(after, name)
        if was != now and was is not None and now is not None:
            yield SettingChange(field=f"target.{name}", before=was, after=now, forbids=True)


def _draft_models(before: RunManifest, after: RunManifest) -> Iterator[SettingChange]:
    """Draft models may differ: a new drafter is what a comparison may be made for."""
    ours = {model.name: model for model in after.models}
    for model in before.models:
        other = ours.get(model.name)
        if other is not None and model.files and other.files and model.files != other.files:
            yield SettingChange(
                field=f"models.{model.name}.files",
                before=_shortened(model.files),
                after=_shortened(other.files),
                forbids=False,
            )


def _shortened(files: Mapping[str, str]) -> dict[str, str]:
    return {name: digest[:12] for name, digest in files.items()}


_OF_CELLS = frozenset(
    {
        "name",
        "target",
        "backends",
        "drafters",
        "suites",
        "load",
        "sampling",
        "request_sampling",
        "chat_template",
        "template_options",
        "thinking",
        "earlier_reasoning",
    }
)
"""Parts of a plan that its cells tell, or that name things only."""


def _plan(before: dict[str, Any], after: dict[str, Any]) -> Iterator[SettingChange]:
    kept = [{name: value for name, value in plan.items() if name not in _OF_CELLS} for plan in (before, after)]
    yield from _differing("plan", kept[0], kept[1], lambda name: False)


def _template(before: RunManifest, after: RunManifest) -> Iterator[SettingChange]:
    """Compare chat templates by what they say, where a plan named a file, wherever that lies."""
    was, now = ((run.chat_template_hash or run.plan.get("chat_template")) for run in (before, after))
    if was != now and was is not None and now is not None:
        yield SettingChange(field="plan.chat_template", before=was, after=now, forbids=True)
    told, tells = (run.plan.get("template_options", {}) for run in (before, after))
    for name in dict.fromkeys([*told, *tells]):
        one, other = ({name: options[name]} if name in options else {} for options in (told, tells))
        if json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True):  # 1 is not true to a template
            field = f"plan.template_options.{name}"
            yield SettingChange(field=field, before=one.get(name), after=other.get(name), forbids=True)


def _thinking(before: RunManifest, after: RunManifest) -> Iterator[SettingChange]:
    """Compare how the target thought, and what later turns held of it.

    Where neither plan says how, a difference is between records that tell it and older ones that do not.
    """
    modes = [run.thinking or run.plan.get("thinking") for run in (before, after)]
    if modes[0] != modes[1]:
        said = any(run.plan.get("thinking") is not None for run in (before, after))
        yield SettingChange(field="plan.thinking", before=modes[0], after=modes[1], forbids=said)
    earlier = [run.plan.get("earlier_reasoning", "stripped") for run in (before, after)]
    if earlier[0] != earlier[1]:
        yield SettingChange(field="plan.earlier_reasoning", before=earlier[0], after=earlier[1], forbids=True)


def _differing(
    prefix: str, before: Mapping[str, Any], after: Mapping[str, Any], forbids: Callable[[str], bool]
) -> Iterator[SettingChange]:
    one, other = dict(_walk(before)), dict(_walk(after))
    for name in dict.fromkeys([*one, *other]):
        was, now = one.get(name), other.get(name)
        if was != now:
            yield SettingChange(field=f"{prefix}.{name}", before=was, after=now, forbids=forbids(name))


def _flat(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = record.model_dump(mode="json")
    return found


def _walk(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a nested mapping as dotted names and their values; lists stay whole."""
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield from _walk(item, f"{before}{name}.")
        else:
            yield f"{before}{name}", item
