"""Settings of a server as its command line: what Draftmark sets, what a plan adds, and where the two contradict."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from draftmark.backends.redaction import secret_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Arguments:
    """What one server is started with, apart from its program, model, host and port."""

    flags: tuple[tuple[str, ...], ...] = ()
    """Each flag with its values."""
    environment: Mapping[str, str] = field(default_factory=dict)
    file: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the server reads from a file, for servers that have one."""

    def __add__(self, other: Arguments) -> Arguments:
        """Join two, the second after the first."""
        return Arguments(
            self.flags + other.flags, {**self.environment, **other.environment}, {**self.file, **other.file}
        )

    def words(self) -> list[str]:
        """Return the flags as words of a command line."""
        return [word for flag in self.flags for word in flag]


def name_of(word: str) -> str | None:
    """Return the flag that a word of a command line names, in its usual spelling; null for a value.

    `--max_model_len=5` and `--speculative-config.method` name `--max-model-len` and `--speculative-config`.
    """
    if not word.startswith("-") or word.lstrip("-")[:1] in ("", *"0123456789."):
        return None
    return word.split("=", 1)[0].split(".", 1)[0].replace("_", "-")


def from_options(options: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return options by name as flags: `{max_model_len: 512, enforce_eager: true}`.

    True is the bare flag, false `--no-NAME`, a list several values after one flag, a mapping JSON.
    """
    flags: list[tuple[str, ...]] = []
    for name, value in options.items():
        dashed = name.replace("_", "-")
        if isinstance(value, bool):
            flags.append((f"--{dashed}" if value else f"--no-{dashed}",))
        elif isinstance(value, list):
            flags.append((f"--{dashed}", *map(_word, value)))
        else:
            flags.append((f"--{dashed}", _word(value)))
    return tuple(flags)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def asked_for(args: Sequence[str], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags that a plan gives, each with the place where it stands; of `--no-x` also `--x`."""
    found = {flag: f"args: {word}" for word in args if (flag := name_of(word)) is not None}
    found |= {f"--{name.replace('_', '-').split('.', 1)[0]}": f"options.{name}" for name in options}
    opposite = {f"--{flag.removeprefix('--no-')}": place for flag, place in found.items() if flag.startswith("--no-")}
    return opposite | found


def given_problem(
    args: Sequence[str], options: Mapping[str, Any], env: Mapping[str, str], taken: Mapping[str, str]
) -> str | None:
    """Say which of a plan's own settings cannot be passed on; null if all can.

    Args:
        args: Words of the command line.
        options: Flags by name.
        env: Environment variables.
        taken: Flags and variables that Draftmark sets, and what a plan should use instead.
    """
    secret = [f"options.{place}" for place in secret_keys(dict(options)) if _names_a_key(place)]
    secret += [f"env.{name}" for name in env if _names_a_key(name)]
    secret += [f"args: {flag}" for word in args if (flag := name_of(word)) is not None and _names_a_key(flag)]
    if secret:
        return (
            f"{secret[0]} looks like a key, and plans are written into records; set it in the environment of "
            "draftmark, which the server inherits"
        )
    empty = next((name for name, value in options.items() if value is None), None)
    if empty is not None:
        return f"options.{empty} has no value; write true for a flag without one, or leave it out"
    for flag, place in asked_for(args, options).items():
        if flag in taken:
            return f"{place} comes from {taken[flag]}; remove it"
    for name in env:
        if name in taken:
            return f"env.{name} comes from {taken[name]}; remove it"
    return None


def unless_given(
    flags: Sequence[tuple[str, ...]], args: Sequence[str], options: Mapping[str, Any]
) -> tuple[tuple[str, ...], ...]:
    """Leave out defaults that a plan sets itself."""
    given = asked_for(args, options)
    return tuple(flag for flag in flags if flag[0] not in given)


def _names_a_key(name: str) -> bool:
    """Whether a name ends like that of a key: `api_key`, but not `token_map`."""
    return bool(secret_keys({re.split(r"[._-]", name)[-1]: "value"}))
