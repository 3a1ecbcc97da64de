"""A checkpoint's configuration, read by type: a size is a whole number, or the place where it is not is named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_SIZE = (1 << 31) - 1
"""Of a width, a vocabulary or a count; larger than any model's."""

_INNER = ("transformer_layer_config", "model", "text_config", "llm_config", "language_config", "thinker_config")
"""Where a configuration keeps that of the transformer within: speculators, EAGLE, and models of several modalities."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A configuration and those within it, the outermost first. A name is looked up from level to level."""

    where: str
    """File, for messages."""
    levels: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, config: Mapping[str, Any], where: str) -> Settings:
        """Return the settings of a parsed config.json."""
        levels: list[Mapping[str, Any]] = []
        todo = [config]
        while todo and len(levels) < 8:
            level = todo.pop(0)
            levels.append(level)
            todo += [level[name] for name in _INNER if isinstance(level.get(name), dict)]
        return cls(where, tuple(levels))

    @property
    def inner(self) -> Settings:
        """The same settings, asked from the innermost level outwards: the transformer's own sizes."""
        return Settings(self.where, self.levels[::-1])

    def section(self, name: str) -> Settings:
        """Return the nested object of this name as settings of its own; empty where there is none."""
        found = self._first(name)
        return Settings(f"{self.where}: {name}", (found,) if isinstance(found, dict) else ())

    def has(self, *names: str) -> bool:
        """Tell whether any of these names has a value other than null."""
        return any(self._first(name) is not None for name in names)

    def whole(self, *names: str, least: int = 1, most: int = LARGEST_SIZE) -> int | None:
        """Return the first of these names that has a value; null where none has.

        Raises:
            BackendError: the value is not a whole number from `least` to `most`.
        """
        for name in names:
            value = self._first(name)
            if value is not None:
                return self._checked(name, value, least, most)
        return None

    def wholes(self, *names: str, least: int = 0) -> tuple[int, ...] | None:
        """Return the first of these names that has a list with something in it; null where none has.

        Raises:
            BackendError: the value is not a list of whole numbers of at least `least`.
        """
        for name in names:
            value = self._first(name)
            if value is None or value == []:
                continue
            if not isinstance(value, list):
                raise BackendError(f"{self.where}: {name} is {_shown(value)}; a list of whole numbers belongs there")
            return tuple(self._checked(f"{name}[{at}]", item, least, LARGEST_SIZE) for at, item in enumerate(value))
        return None

    def text(self, *names: str) -> str | None:
        """Return the first of these names that has a text; null where none has."""
        return next((value for name in names if isinstance(value := self._first(name), str) and value), None)

    def yes(self, name: str) -> bool | None:
        """Return a switch; null where it is not set."""
        value = self._first(name)
        return value if isinstance(value, bool) else None

    def architecture(self) -> str | None:
        """Return the first of the outermost `architectures`; null where none is named."""
        names = self._first("architectures")
        return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None

    def _first(self, name: str) -> Any:
        return next((level[name] for level in self.levels if level.get(name) is not None), None)

    def _checked(self, name: str, value: object, least: int, most: int) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        bounds = (
            f"a whole number of at least {least}" if most == LARGEST_SIZE else f"a whole number from {least} to {most}"
        )
        raise BackendError(f"{self.where}: {name} is {_shown(value)}; {bounds} belongs there")


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of more than 77 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
