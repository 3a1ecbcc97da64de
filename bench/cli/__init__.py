"""The command line: one module per verb."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    raise SystemExit("draftmark: no commands yet")
