"""What one word names a suite by: a built-in's name, a kind, a split of SPEED-Bench, or a file."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from draftmark.suites.builtin.spec import BuiltinName
from draftmark.suites.loaders.speed_bench.splits import SPLITS
from draftmark.suites.prompt import SuiteError
from draftmark.suites.registry import SUITES

if TYPE_CHECKING:
    from draftmark.suites.prompt import SuiteSpec

SPEED_BENCH = "speed-bench/"
"""What stands before the name of a split."""


def builtin_names() -> list[str]:
    """Return the names of the suites that ship with Draftmark."""
    return list(get_args(BuiltinName))


def speed_bench_names() -> list[str]:
    """Return the names of SPEED-Bench's splits, such as speed-bench/qualitative."""
    return [f"{SPEED_BENCH}{split}" for split in SPLITS]


def find_suite(name: str, limit: int | None) -> SuiteSpec:
    """Return the entry for a built-in name, a kind of suite, or a file; raise `SuiteError` for anything else."""
    entry: dict[str, Any] = {"limit": limit}
    if not name.endswith((".jsonl", ".parquet")) and not Path(name).is_file():
        name = name.removeprefix("builtin/")  # as `suites list` prints it
    if name in builtin_names():
        kind, entry["name"] = "builtin", name
    elif name in speed_bench_names():
        kind, entry["split"] = "speed-bench", name.removeprefix(SPEED_BENCH)
    elif name in SUITES.names():
        kind = name
    elif name.endswith((".jsonl", ".parquet")) or Path(name).is_file():
        kind, entry["path"] = "parquet" if name.endswith(".parquet") else "jsonl", name
    else:
        known = [*builtin_names(), *filter(_is_enough, SUITES.names()), *speed_bench_names()]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}, or a .jsonl file"
        raise SuiteError(f"there is no suite {name!r}; {hint}")
    try:
        return SUITES.resolve(kind).model_validate({"kind": kind, **entry})
    except ValidationError as fault:
        needed = ", ".join(".".join(map(str, error["loc"])) for error in fault.errors())
        raise SuiteError(
            f"suite kind {kind!r} needs more than its name ({needed}); write a plan that uses it"
        ) from fault


def _is_enough(kind: str) -> bool:
    """Say whether a kind's name alone makes a suite; of other packages, which are not imported for this, it may."""
    if kind not in SUITES.builtin:
        return True
    return not any(field.is_required() for field in SUITES.resolve(kind).model_fields.values())
