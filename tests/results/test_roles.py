"""Which part an arm plays, of arms and of cells' summaries alike."""

from __future__ import annotations

import pytest

from draftmark.results.records import Arm
from draftmark.results.roles import is_baseline, speculates


@pytest.mark.parametrize(
    ("arm", "parts"),
    [
        (Arm(drafter="none", draft_length=0), (True, False)),
        (Arm(drafter="none", draft_length=0, control=True), (False, False)),
        (Arm(drafter="ngram", draft_length=3), (False, True)),
    ],
)
def test_the_baseline_is_the_arm_without_a_drafter_that_is_no_control(arm: Arm, parts: tuple[bool, bool]) -> None:
    assert (is_baseline(arm), speculates(arm)) == parts
