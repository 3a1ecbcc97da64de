"""A run as it may be shown to others: local paths are cut to their ends, wherever in the run they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from draftmark.results.paths import shortener

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from draftmark.results.summary import RunSummary

_Value = TypeVar("_Value")


def without_local_paths(summary: RunSummary) -> RunSummary:
    """Return the run with only the last component of each absolute path: of model folders, caches and the like.

    Two paths that end alike stay apart (see `path_ends`), so arms that differ in one of them alone do as well.
    """
    return _changed(summary, shortener(_texts(summary)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if "/" in value:
            yield value
    elif isinstance(value, BaseModel):
        for part in value.__dict__.values():
            yield from _texts(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _changed(value: _Value, change: Callable[[str], str]) -> _Value:
    """Return a value of the same type with every text in it changed; what holds no such text is the same object."""
    made: object = value
    if isinstance(value, str):
        made = change(value)
    elif isinstance(value, BaseModel):
        parts = {name: _changed(part, change) for name, part in value.__dict__.items()}
        parts = {name: part for name, part in parts.items() if part is not value.__dict__[name]}
        made = value.model_copy(update=parts) if parts else value
    elif isinstance(value, dict):
        held = {name: _changed(part, change) for name, part in value.items()}
        made = held if any(held[name] is not value[name] for name in held) else value
    elif isinstance(value, list | tuple):
        items = [_changed(part, change) for part in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        made = value if same else items if isinstance(value, list) else tuple(items)
    return made  # type: ignore[return-value]
