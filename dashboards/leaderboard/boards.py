"""Sorts entries into boards (target x machine x suite) and tables, whose entries alone are ranked with each other."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.leaderboard.contests import contest
from draftmark.dashboards.leaderboard.ranking import RankRange, rank_ranges
from draftmark.dashboards.wording import value_of
from draftmark.results.arm_labels import arm_labels
from draftmark.results.run_folder.naming import slug
from draftmark.results.statistics import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from draftmark.dashboards.leaderboard.entries import Entry
    from draftmark.results.records import RunManifest

NOT_DISCLOSED = "hardware not disclosed"
"""Stands for the machine of entries that do not tell theirs; none of these is ranked."""

_NO_CONTEST = Interval(None, None, ("no interval: no pair of turns to compare",))


@dataclass(frozen=True, eq=False)
class Placed:
    """An entry in its table."""

    entry: Entry
    label: str
    """Unique in the table together with the engine."""
    ranks: RankRange | None
    """Null where the entry is not ranked."""
    earlier: tuple[Entry, ...]
    """Other measurements of the same, latest first; they count for nothing."""

    @property
    def speedup(self) -> float:
        """The measured speed-up of a ranked entry."""
        return value_of(self.entry.cell, "speedup").value or 0.0


@dataclass(frozen=True, eq=False)
class Table:
    """Entries that were asked the same in the same way: what a ranking may hold."""

    title: str
    """What tells it from the board's other tables; empty for the only one."""
    conditions: dict[str, str]
    """What all of its entries have in common, name to words."""
    ranked: tuple[Placed, ...]
    """Fastest first."""
    undisclosed: tuple[Placed, ...]
    unfit: tuple[Placed, ...]

    @property
    def placed(self) -> tuple[Placed, ...]:
        """All entries, ranked ones first."""
        return (*self.ranked, *self.undisclosed, *self.unfit)


@dataclass(frozen=True, eq=False)
class Board:
    """One page: a target on a machine with a suite."""

    target: str
    hardware: str
    suite: str
    file: str
    """Name of the page's file."""
    tables: tuple[Table, ...]

    @property
    def placed(self) -> list[Placed]:
        """The entries of all tables."""
        return [one for table in self.tables for one in table.placed]

    @property
    def caveats(self) -> list[str]:
        """What limits the numbers of its entries, each sentence once."""
        return list(dict.fromkeys(text for one in self.placed for text in one.entry.caveats))


def boards_of(entries: Iterable[Entry]) -> list[Board]:
    """Sort entries into boards, each with one table per set of conditions; none is left out of all of them."""
    sorted_out: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        key = (entry.cell.target, entry.hardware or NOT_DISCLOSED, entry.cell.suite)
        sorted_out.setdefault(key, []).append(entry)
    return [_board(*key, members) for key, members in sorted(sorted_out.items(), key=lambda item: item[0])]


def _board(target: str, hardware: str, suite: str, entries: list[Entry]) -> Board:
    alike: dict[str, list[Entry]] = {}
    for entry in entries:
        alike.setdefault(json.dumps(_conditions(entry, short=False), sort_keys=True), []).append(entry)
    shown = [_conditions(members[0], short=True) for members in alike.values()]
    names = list(dict.fromkeys(name for facts in shown for name in facts))
    telling = [name for name in names if len({facts.get(name) for facts in shown}) > 1]
    digest = hashlib.sha256(json.dumps([target, hardware, suite]).encode()).hexdigest()[:6]
    stem = "--".join(slug(part, limit=40) for part in (target, hardware, suite))
    return Board(
        target=target,
        hardware=hardware,
        suite=suite,
        file=f"{stem}-{digest}.html",
        tables=tuple(
            _table(members, facts, "; ".join(_titled(name, facts[name]) for name in telling if name in facts))
            for members, facts in zip(alike.values(), shown, strict=True)
        ),
    )


def _conditions(entry: Entry, *, short: bool) -> dict[str, str]:
    """Return what must be equal for a ranking to be fair, name to words; digests whole unless `short`."""
    key, manifest = entry.record.key, entry.source.summary.manifest
    end = 12 if short else None
    files = json.dumps(manifest.target.files, sort_keys=True)
    weights = hashlib.sha256(files.encode()).hexdigest()[:end] if manifest.target.files else manifest.target.revision
    open_load = {} if key.load.kind == "closed" else key.load.model_dump(mode="json", exclude={"kind", "path"})
    sampling = key.sampling.model_dump(mode="json")
    return {
        "suite hash": key.suite_hash[:end],
        "weights": weights or "not stated",
        "chat template": _template(manifest, end),
        "load": entry.cell.load,
        **{f"load: {_spaced(name)}": _words(value) for name, value in open_load.items() if value is not None},
        **{_spaced(name): _words(value) for name, value in sampling.items()},
        **({} if key.request_sampling is None else {"sampling of requests": key.request_sampling}),
    }


def _template(manifest: RunManifest, end: int | None) -> str:
    """Return which template rendered the prompts, and how the target thought by it."""
    template = manifest.chat_template_hash or _words(manifest.plan.get("chat_template", "not stated"))
    parts = [template[:end]]
    if manifest.plan.get("template_options"):
        parts.append(f"options {json.dumps(manifest.plan['template_options'], sort_keys=True)}")
    if manifest.template_date is not None:
        parts.append(f"date {manifest.template_date}")
    if manifest.thinking is not None:
        parts.append(f"thinking {manifest.thinking}")
    if manifest.plan.get("earlier_reasoning", "stripped") != "stripped":
        parts.append("earlier reasoning kept")
    return ", ".join(parts)


def _titled(name: str, words: str) -> str:
    return words if name == "load" else f"{name.removeprefix('load: ')} {words}"


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value) if value else "none" if value == [] else str(value)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _table(entries: list[Entry], conditions: dict[str, str], title: str) -> Table:
    measured: dict[str, list[Entry]] = {}
    for entry in entries:
        measured.setdefault(_identity(entry), []).append(entry)
    latest = [sorted(alike, key=_recency, reverse=True) for alike in measured.values()]
    labels = _labels([first for first, *_ in latest])
    placed = [Placed(first, label, None, tuple(rest)) for (first, *rest), label in zip(latest, labels, strict=True)]
    ranked = sorted((one for one in placed if one.entry.ranked), key=lambda one: -one.speedup)
    ranges = rank_ranges(ranked, _compared)
    return Table(
        title=title,
        conditions=conditions,
        ranked=tuple(replace(one, ranks=ranks) for one, ranks in zip(ranked, ranges, strict=True)),
        undisclosed=tuple(one for one in placed if one.entry.missing and not one.entry.faults),
        unfit=tuple(one for one in placed if one.entry.faults),
    )


def _recency(entry: Entry) -> tuple[bool, str]:
    """Finished measurements come after all others, later ones after earlier ones."""
    return entry.finished, entry.source.started_at


def _compared(first: Placed, second: Placed) -> Interval:
    if first.entry.laps is None or second.entry.laps is None:
        return _NO_CONTEST
    return contest(first.entry.laps, second.entry.laps)


def _identity(entry: Entry) -> str:
    """Return what two measurements of the same have in common."""
    key, options = entry.record.key, entry.record.key.arm.options
    drafters = [model.files for model in entry.source.summary.manifest.models if model.name in options.values()]
    facts = [key.backend, key.engine, entry.engine, key.arm.model_dump(mode="json"), drafters]
    return json.dumps(facts, sort_keys=True)


def _labels(entries: Sequence[Entry]) -> list[str]:
    """Name arms so that no two of one engine look alike: by options, then engine settings, then the run."""
    labels = arm_labels(entry.record.key.arm for entry in entries)
    for name in (_telling_settings, _run):
        alike: dict[tuple[str, str | None], list[int]] = {}
        for place, entry in enumerate(entries):
            alike.setdefault((labels[place], entry.engine), []).append(place)
        for places in alike.values():
            if len(places) > 1:
                told = name([entries[place] for place in places])
                for place, words in zip(places, told, strict=True):
                    labels[place] += f" ({words})" if words else ""
    return labels


def _telling_settings(entries: list[Entry]) -> list[str]:
    settings = [_flat(entry.cell.engine) for entry in entries]
    names = dict.fromkeys(name for one in settings for name in one)
    telling = [name for name in names if len({one.get(name) for one in settings}) > 1][:3]
    return [", ".join(f"{name}={one.get(name, 'unset')}" for name in telling) for one in settings]


def _run(entries: list[Entry]) -> list[str]:
    ids = [entry.source.run_id for entry in entries]
    return [
        f"run {entry.source.run_id}" + (f" of {entry.source.started_at}" if ids.count(entry.source.run_id) > 1 else "")
        for entry in entries
    ]


def _flat(settings: dict[str, Any], stem: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{stem}{name}.") if isinstance(value, dict) else {stem + name: json.dumps(value)[:40]}
    return found
