"""The sources of stand-in rows: how a row names each, its page, and what makes its texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.suites.loaders.speed_bench import long_texts, texts
from draftmark.suites.loaders.speed_bench.splits import DATASET, LICENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.suites.loaders.speed_bench.splits import Split
    from draftmark.suites.loaders.speed_bench.texts import TurnsOf, Work

    Builder = Callable[[Work], TurnsOf]


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset that withholds its texts from SPEED-Bench, or the preparer whose words surround them."""

    name: str
    """Stands in the column `source` of its rows."""
    page: str
    revision: str | None = None
    licence: str | None = None
    """Known beforehand; null asks the hub for what the dataset's card states."""
    short: Builder | None = None
    """For qualitative; null where the split has no such rows that could be resolved."""
    long: Builder | None = None
    """For throughput splits."""
    worded: bool = False
    """Whether the preparer's prompt texts are needed."""
    worded_when_long: bool = False
    """Whether they are needed for throughput splits alone."""

    def builder(self, split: Split) -> Builder | None:
        """Return what makes this source's texts for a split."""
        return self.short if split.prompt_tokens is None else self.long

    def needs_wording(self, split: Split) -> bool:
        """Say whether this source's texts are made with the preparer's words."""
        return self.worded or (self.worded_when_long and split.prompt_tokens is not None)


def _hub(name: str, **facts: object) -> Source:
    return Source(name, f"https://huggingface.co/datasets/{name}", **facts)  # type: ignore[arg-type]


ROWS = Source(DATASET, f"https://huggingface.co/datasets/{DATASET}", licence=LICENCE)
"""SPEED-Bench itself."""

WORDING = Source(
    "NVIDIA/Model-Optimizer", "https://github.com/NVIDIA/Model-Optimizer/blob/main/LICENSE", licence="Apache-2.0"
)
"""The preparer, for its prompt texts."""

SOURCES: tuple[Source, ...] = (
    _hub("RUCAIBox/BAMBOO", long=long_texts.bamboo, worded=True),
    _hub("abisee/cnn_dailymail", short=texts.cnn_dailymail, long=texts.cnn_dailymail),
    _hub(
        "cais/hle", revision=texts.HLE_REVISION, short=texts.hle_questions,
        long=long_texts.hle_demonstrations, worded_when_long=True,
    ),
    _hub(
        "livecodebench/code_generation_lite", revision=texts.LIVECODEBENCH_REVISION, short=texts.livecodebench,
        long=texts.livecodebench,
    ),
    _hub(
        "deepmind/code_contests", revision=texts.CODE_CONTESTS_REVISION, short=texts.code_contests,
        long=texts.code_contests,
    ),
    Source(
        "mtbench101/mt-bench-101", "https://github.com/mtbench101/mt-bench-101", licence="Apache-2.0",
        short=texts.mt_bench_101, long=texts.mt_bench_101,
    ),
    _hub("Helsinki-NLP/opus-100", revision=texts.OPUS_REVISION, short=texts.opus_100, long=texts.opus_100),
    _hub(
        "nvidia/ChatRAG-Bench", revision=texts.CHATRAG_REVISION, short=texts.chatrag_bench, long=texts.chatrag_bench,
        worded=True,
    ),
    _hub(
        "TIGER-Lab/MMLU-Pro", revision=texts.MMLU_PRO_REVISION, short=texts.mmlu_pro, long=texts.mmlu_pro, worded=True
    ),
    _hub("AdaLEval/stackselect", long=long_texts.stack_select, worded=True),
    _hub("AdaLEval/textsort", long=long_texts.text_sort, worded=True),
    _hub("ZenMoore/RoleBench", short=texts.role_bench, long=texts.role_bench),
    _hub("Neph0s/CoSER", short=long_texts.coser, long=long_texts.coser, worded=True),
)  # fmt: skip


def source_of(name: str | None) -> Source | None:
    """Return the source that a row's column `source` names; null where it is none that is known."""
    return next((source for source in SOURCES if name is not None and source.name in name), None)
