"""Which part an arm plays in its comparison group: the baseline, the baseline's control, or a drafter on trial."""

from __future__ import annotations

from typing import Protocol

NO_DRAFTER = "none"
"""The drafter of an arm that does not speculate."""


class Part(Protocol):
    """What tells an arm's part: an `Arm` or the summary of one of its cells."""

    @property
    def drafter(self) -> str:
        """Kind of drafter."""
        ...

    @property
    def control(self) -> bool:
        """Whether it is the second run of the baseline."""
        ...


def is_baseline(arm: Part) -> bool:
    """Say whether this is the arm that others are compared with: no drafter, and not the control."""
    return not speculates(arm) and not arm.control


def speculates(arm: Part) -> bool:
    """Say whether the arm has a drafter."""
    return arm.drafter != NO_DRAFTER
