"""What Draftmark ships: eleven suites, all of them as `qualitative`, and suites of an exact length."""

from __future__ import annotations

from draftmark.suites.builtin.spec import BuiltinSpec

__all__ = ["BuiltinSpec"]
