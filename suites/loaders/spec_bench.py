"""The suites `spec-bench` and `mt-bench`, of which the second is the first's 80 conversations of two turns.

Spec-Bench (arXiv 2401.07851) has 480 questions of 13 categories, reported as six tasks of 80: the eight categories of
MT-Bench are one task. Here the task is the category, and the file's own category the sub-category.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteSpec
from draftmark.suites.quoting import quoted
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.table_prompts import Chosen, choose_prompts
from draftmark.suites.reading.tables import FileTable, HubTable, table_of
from draftmark.suites.reading.two_readings import LeftOut

if TYPE_CHECKING:
    from draftmark.suites.reading.rows import Row

TASKS = ("mt_bench", "translation", "summarization", "qa", "math_reasoning", "rag")
"""As Spec-Bench's own report names them."""

MT_BENCH = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")

QUESTIONS_PER_TASK = 80
QUESTIONS_PER_CATEGORY = 10
"""Of MT-Bench's."""

MT_BENCH_QUESTIONS = QUESTIONS_PER_CATEGORY * len(MT_BENCH)
MT_BENCH_TURNS = 2 * MT_BENCH_QUESTIONS
SPEC_BENCH_QUESTIONS = QUESTIONS_PER_TASK * len(TASKS)
SPEC_BENCH_TURNS = SPEC_BENCH_QUESTIONS + MT_BENCH_QUESTIONS
"""The questions of MT-Bench have two turns, all others one."""

SPEC_BENCH_LICENCE = "Apache-2.0; its data, licences of their own"
MT_BENCH_LICENCE = "Apache-2.0"
SPEC_BENCH_PAGE = "https://github.com/hemingkx/Spec-Bench (data/spec_bench/question.jsonl)"
MT_BENCH_PAGE = "https://github.com/lm-sys/FastChat (fastchat/llm_judge/data/mt_bench/question.jsonl)"
MT_BENCH_DATASET = "lighteval/mt-bench"
"""FastChat's 80 rows with their columns; its only split is called train."""

Path_ = Annotated[str, Field(min_length=1)]


class SpecBenchSpec(SuiteSpec):
    """Spec-Bench's question.jsonl."""

    kind: Literal["spec-bench"] = "spec-bench"
    path: Path_
    """The file, relative to the working directory."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the file, take the subset; raise `SuiteError` with file, line and field. Needs no renderer."""
        chosen = choose_prompts(FileTable(Path(self.path)), _spec_bench, limit=self.limit, seed=self.subset_seed)
        off = shortfall(chosen, dict.fromkeys(TASKS, QUESTIONS_PER_TASK))
        return Suite(
            name="spec-bench",
            prompts=chosen.prompts,
            licence=SPEC_BENCH_LICENCE,
            source=self.path,
            selection="; ".join((chosen.selection, *off)),
            warnings=off,
        )


class MtBenchSpec(SuiteSpec):
    """MT-Bench's 80 conversations of two turns."""

    kind: Literal["mt-bench"] = "mt-bench"
    path: Path_ | None = None
    """FastChat's question.jsonl or Spec-Bench's, relative to the working directory; null for the hub's copy."""
    revision: str | None = None
    """Of the dataset on the hub."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the rows, take the subset; raise `SuiteError` with file, line and field. Needs no renderer."""
        table = table_of(self.path, HubTable(MT_BENCH_DATASET, None, "train", self.revision))
        chosen = choose_prompts(table, _mt_bench, limit=self.limit, seed=self.subset_seed)
        off = shortfall(chosen, dict.fromkeys(MT_BENCH, QUESTIONS_PER_CATEGORY))
        return Suite(
            name="mt-bench",
            prompts=chosen.prompts,
            licence=MT_BENCH_LICENCE,
            source=table.origin,
            selection="; ".join((chosen.selection, *off)),
            warnings=off,
        )


def shortfall(chosen: Chosen, published: dict[str, int]) -> tuple[str, ...]:
    """Say where a table's categories do not have their published sizes, for `Suite.warnings`; empty where all do."""
    expected: dict[str | None, int] = {name: size for name, size in published.items()}  # noqa: C416 - other key type
    names = [*expected, *(name for name in chosen.size if name not in expected)]
    off = [
        f"{name or 'uncategorised'} {chosen.size[name]} of {expected.get(name, 0)}"
        for name in names
        if chosen.size[name] != expected.get(name, 0)
    ]
    return (f"not the published numbers of rows ({', '.join(off)})",) if off else ()


def _spec_bench(row: Row, number: int) -> Prompt:
    del number
    prompt = row_prompt(row)
    if prompt.category is None:
        return prompt
    if prompt.category not in (*MT_BENCH, *TASKS[1:]):
        raise RowFault(
            f"category {quoted(prompt.category)} is none of Spec-Bench's ({', '.join((*MT_BENCH, *TASKS[1:]))}); "
            "a file of your own is read by kind: jsonl"
        )
    task = TASKS[0] if prompt.category in MT_BENCH else prompt.category
    return prompt.model_copy(update={"category": task, "sub_category": prompt.category, "source": "Spec-Bench"})


def _mt_bench(row: Row, number: int) -> Prompt | LeftOut:
    del number
    prompt = row_prompt(row)
    if prompt.category is None or prompt.category in MT_BENCH:
        return prompt.model_copy(update={"source": "MT-Bench"})
    if prompt.category in TASKS[1:]:
        return LeftOut("")
    raise RowFault(f"category {quoted(prompt.category)} is none of MT-Bench's ({', '.join(MT_BENCH)})")
