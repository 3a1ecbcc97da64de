"""A lazy table from a `kind` word to the class that reads it: built-in names first, then entry points.

It lives on the lowest floor because backends, drafters and suites all choose their variants this way.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from draftmark.results.errors import DraftmarkError

Spec = TypeVar("Spec", bound=BaseModel)


@dataclass(frozen=True)
class KindTable(Generic[Spec]):
    """Names of one sort of thing and where their classes are.

    `builtin` maps a kind to "module:Class"; `group` is the entry-point group by which other packages add kinds. A
    built-in name wins over an entry point of the same name.
    """

    noun: str
    group: str
    base: type[Spec]
    error: type[DraftmarkError]
    builtin: dict[str, str]

    def _entries(self) -> dict[str, EntryPoint]:
        found = {entry.name: entry for entry in entry_points(group=self.group)}
        own = {name: EntryPoint(name=name, value=value, group=self.group) for name, value in self.builtin.items()}
        return {**found, **own}

    def names(self) -> list[str]:
        """Return every known kind, built-in ones first; imports nothing."""
        return list(self.builtin) + sorted(set(self._entries()) - set(self.builtin))

    def resolve(self, kind: str) -> type[Spec]:
        """Import and return the class of a kind.

        Raises the table's error, with the nearest known name, for an unknown kind, one whose package does not import,
        and one whose class is not of the table's base.
        """
        entry = self._entries().get(kind)
        if entry is None:
            near = difflib.get_close_matches(kind, self.names(), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(self.names())}"
            raise self.error(f"unknown {self.noun} kind {kind!r}{hint}")
        try:
            found = entry.load()
        except (ImportError, AttributeError) as fault:
            raise self.error(f"{self.noun} kind {kind!r} ({entry.value}) does not import: {fault}") from fault
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise self.error(
                f"{self.noun} kind {kind!r} ({entry.value}) is no {self.base.__name__}; its package must register a "
                f"subclass under the entry point group {self.group!r}"
            )
        return found
