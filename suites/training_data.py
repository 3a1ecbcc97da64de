"""Sets that drafters are known to be trained on: on these they accept more than on prompts they have not seen.

Each fact names where its authors state it. What is not listed here is unknown, not unseen.
"""

from __future__ import annotations

from draftmark.results.records import SuiteCaution

HEADS = ("eagle", "eagle3", "medusa", "dflash", "dspark", "as-served")
"""Kinds of drafters that may be such a head; what a running server drafts with is not known."""

SHAREGPT = SuiteCaution(
    text=(
        "Published EAGLE, EAGLE-3 and Medusa heads were trained on ShareGPT (EAGLE's ge_data scripts, EAGLE-3's paper "
        "arXiv 2503.01840, Medusa's README), so a head's acceptance here may be that of prompts it has seen; check "
        "what yours was trained on."
    ),
    drafters=HEADS,
)

ULTRACHAT = SuiteCaution(
    text=(
        "Published EAGLE-3 heads were trained on UltraChat-200K (EAGLE-3's paper, arXiv 2503.01840), so a head's "
        "acceptance here may be that of prompts it has seen; check what yours was trained on."
    ),
    drafters=HEADS,
)

OPENTHOUGHTS = SuiteCaution(
    text=(
        "The published EAGLE-3 head for DeepSeek-R1-Distill-LLaMA-8B was trained on OpenThoughts-114k-math (EAGLE-3's "
        "paper, arXiv 2503.01840), so a head's acceptance here may be that of prompts it has seen; check what yours "
        "was trained on."
    ),
    drafters=HEADS,
)

_BY_NAME = {"sharegpt": SHAREGPT, "ultrachat": ULTRACHAT, "openthoughts-114k": OPENTHOUGHTS}


def caution_for(name: str) -> SuiteCaution | None:
    """Return what is known of a data set or file by its name, copies of the known sets included; null for others.

    A file's name is its own, without its folders.
    """
    lowered = name.lower()
    return next((caution for part, caution in _BY_NAME.items() if part in lowered), None)
