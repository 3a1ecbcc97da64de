"""Numbers that others published, as they stand in their source: shown beside measured ones, never ranked with them."""

from __future__ import annotations

from importlib.resources import files

from pydantic import FiniteFloat

from draftmark.results.records.base import Record


class PublishedEntry(Record):
    """One target with one drafter."""

    target: str
    drafter: str
    engine: str
    mean_acceptance_length: FiniteFloat
    """Over all domains, as the source gives it."""
    speedup: FiniteFloat
    acceptance_length: dict[str, FiniteFloat]
    """By domain; one that the source leaves out is missing."""


class PublishedTable(Record):
    """The numbers of one source."""

    source: str
    address: str
    conditions: str
    """What all of them were measured at."""
    definition: str
    """The source's own definition of acceptance length."""
    domains: list[str]
    entries: list[PublishedEntry]


def speed_bench() -> PublishedTable:
    """Return acceptance lengths and speed-ups of the SPEED-Bench paper."""
    text = files("draftmark.dashboards.leaderboard.published").joinpath("speed_bench.json").read_text(encoding="utf-8")
    return PublishedTable.model_validate_json(text)
