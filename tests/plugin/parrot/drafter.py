"""The drafter `mimic`: D drafts per step, of which the target accepts as many as the plan says."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt

from draftmark.backends.drafters import DrafterSpec, DraftLengths


class MimicDrafter(DrafterSpec):
    """`{kind: mimic, draft_length: [3], right: 2}`."""

    kind: Literal["mimic"] = "mimic"
    draft_length: DraftLengths
    right: NonNegativeInt
    """Drafts that the target accepts in each step; at most D."""

    def draft_lengths(self) -> list[int]:
        """Return every D this entry asks for."""
        return list(self.draft_length)
