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
    built-in name wins over an entry point of the same name, so that no package changes what a plan means.
    """

    noun: str
    group: str
    base: type[Spec]
    error: type[DraftmarkError]
    builtin: dict[str, str]

    def names(self) -> list[str]:
        """Return every known kind, built-in ones first; imports nothing."""
        added = {entry.name for entry in entry_points(group=self.group)}
        return list(self.builtin) + sorted(added - set(self.builtin))

    def resolve(self, kind: str) -> type[Spec]:
        """Import and return the class of a kind.

        Raises the table's error, with the nearest known name, for an unknown kind, one that several packages claim, one
        whose package does not import, and one whose class is not of the table's base.
        """
        entry = self._entry(kind)
        try:
            found = entry.load()
        except Exception as fault:  # another package's code may raise anything while it is imported
            why = str(fault) if isinstance(fault, ImportError) else f"{type(fault).__name__}: {fault}"
            raise self.error(f"{self.noun} kind {kind!r} ({_origin(entry)}) does not import: {why}") from fault
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise self.error(
                f"{self.noun} kind {kind!r} ({_origin(entry)}) is no {self.base.__name__}; its package must register a "
                f"subclass under the entry point group {self.group!r}"
            )
        return found

    def _entry(self, kind: str) -> EntryPoint:
        if kind in self.builtin:
            return EntryPoint(name=kind, value=self.builtin[kind], group=self.group)
        claims = {entry.value: entry for entry in entry_points(group=self.group) if entry.name == kind}
        if not claims:
            near = difflib.get_close_matches(kind, self.names(), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(self.names())}"
            raise self.error(f"unknown {self.noun} kind {kind!r}{hint}")
        if len(claims) > 1:
            origins = "; ".join(sorted(map(_origin, claims.values())))
            raise self.error(
                f"{self.noun} kind {kind!r} is claimed by more than one installed package ({origins}); uninstall all "
                "but one of them"
            )
        return next(iter(claims.values()))


def _origin(entry: EntryPoint) -> str:
    """Return where a kind comes from: module and class, and the package that registered them."""
    return f"{entry.value} of package {entry.dist.name}" if entry.dist is not None else entry.value
