"""What SPEED-Bench published: its splits, columns, categories and sizes, and the revision that plans are pinned to.

The sizes are those of the dataset's card and of the paper (arXiv 2604.09557). The revision is the one that several
public tools pin as well, the last before v1.1, which rewrote the src_id of the throughput splits; how rows are resolved
depends on that form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DATASET = "nvidia/SPEED-Bench"
REVISION = "487aa718444e816458d1a0a52bfce7a454285cf4"
LICENCE = "NVIDIA Evaluation Dataset License"

SplitName = Literal[
    "qualitative", "throughput-1k", "throughput-2k", "throughput-8k", "throughput-16k", "throughput-32k", "agentic"
]

NEEDED_COLUMNS = ("question_id", "category", "turns")
OTHER_COLUMNS = ("sub_category", "source", "src_id", "difficulty", "multiturn")
"""Published too; other preparers leave some out."""

_QUALITATIVE = (
    "coding", "humanities", "math", "multilingual", "qa", "rag", "reasoning", "roleplay", "stem", "summarization",
    "writing",
)  # fmt: skip
_ENTROPIES = ("low_entropy", "mixed", "high_entropy")


@dataclass(frozen=True, slots=True)
class Split:
    """One published split. Null where nothing was published to hold a file against."""

    name: SplitName
    per_category: dict[str, int] | None
    turns: int | None
    """Model calls of one pass over the whole split."""
    prompt_tokens: int | None
    """Tokens of tiktoken's o200k_base in the turn, before any chat template; the target's own count differs."""
    revision: str | None
    """What is fetched where a plan names no revision."""

    @property
    def config(self) -> str:
        """The split's name on the hub and in prepared folders: throughput_1k."""
        return self.name.replace("-", "_")

    @property
    def rows(self) -> int | None:
        """Published rows."""
        return None if self.per_category is None else sum(self.per_category.values())


def _throughput(name: SplitName, thousands: int) -> Split:
    return Split(name, dict.fromkeys(_ENTROPIES, 512), 1536, thousands * 1000, REVISION)


SPLITS: dict[str, Split] = {
    split.name: split
    for split in (
        Split("qualitative", dict.fromkeys(_QUALITATIVE, 80), 1138, None, REVISION),
        _throughput("throughput-1k", 1),
        _throughput("throughput-2k", 2),
        _throughput("throughput-8k", 8),
        _throughput("throughput-16k", 16),
        _throughput("throughput-32k", 32),
        Split("agentic", None, None, None, None),
    )
}
"""Name to split, in the published order."""
