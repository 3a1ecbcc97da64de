"""What Draftmark ships: eleven suites of prompts, and long-sequence, which is built to an exact length."""

from __future__ import annotations

from draftmark.suites.builtin.spec import BuiltinSpec

__all__ = ["BuiltinSpec"]
