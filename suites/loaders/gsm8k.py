"""The `gsm8k` suite: grade-school word problems, asked with the request to show the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from draftmark.suites.loaders.spec_bench import shortfall
from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteSpec
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.table_prompts import choose_prompts
from draftmark.suites.reading.tables import HubTable, table_of

if TYPE_CHECKING:
    from draftmark.suites.reading.rows import Row

DATASET = "openai/gsm8k"
CONFIG = "main"
LICENCE = "MIT"
PROBLEMS = 1319
"""Of the test split."""
_ASK = "Solve this problem step by step, and give the result on the last line."


class Gsm8kSpec(SuiteSpec):
    """GSM8K's test split, from its test.jsonl (columns question and answer) or from the hub."""

    kind: Literal["gsm8k"] = "gsm8k"
    path: Annotated[str, Field(min_length=1)] | None = None
    """test.jsonl or a parquet file, relative to the working directory; null for the hub."""
    revision: str | None = None
    """Of the dataset on the hub."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the rows, take the subset; raise `SuiteError`. Needs no renderer."""
        table = table_of(self.path, HubTable(DATASET, CONFIG, "test", self.revision))
        chosen = choose_prompts(table, _prompt, limit=self.limit, seed=self.subset_seed)
        off = shortfall(chosen, {"math": PROBLEMS})
        return Suite(
            name="gsm8k",
            prompts=chosen.prompts,
            licence=LICENCE,
            source=table.origin,
            selection="; ".join((chosen.selection, *off)),
            warnings=off,
        )


def _prompt(row: Row, number: int) -> Prompt:
    asked = row_prompt({"question_id": f"gsm8k-{number + 1}", "turns": _question(row)})
    return asked.model_copy(
        update={"category": "math", "sub_category": "gsm8k", "turns": (f"{_ASK}\n\n{asked.turns[0]}",),
                "source": "GSM8K", "src_id": str(number)}
    )  # fmt: skip


def _question(row: Row) -> str:
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise RowFault("has no column question with text; GSM8K's rows have question and answer")
    return question.strip()
