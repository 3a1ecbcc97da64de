"""The `mbpp` suite: short Python tasks, each with the tests that its function must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from draftmark.suites.loaders.spec_bench import shortfall
from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteSpec
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.table_prompts import choose_prompts
from draftmark.suites.reading.tables import HubTable, table_of
from draftmark.suites.reading.two_readings import LeftOut

if TYPE_CHECKING:
    from draftmark.suites.reading.rows import Row

DATASET = "google-research-datasets/mbpp"
LICENCE = "CC-BY-4.0"
TEST_IDS = range(11, 511)
"""The test split's task_ids, by the paper (arXiv 2108.07732); the files hold the other splits as well."""
PROBLEMS = {"full": 500, "sanitized": 257}
"""Of the test split."""


class MbppSpec(SuiteSpec):
    """MBPP's test split, from mbpp.jsonl or sanitized-mbpp.json, or from the hub."""

    kind: Literal["mbpp"] = "mbpp"
    version: Literal["full", "sanitized"] = "full"
    """All tasks, or those that its authors checked by hand."""
    path: Annotated[str, Field(min_length=1)] | None = None
    """The file of that version, relative to the working directory; null for the hub."""
    revision: str | None = None
    """Of the dataset on the hub."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the rows, take the subset; raise `SuiteError`. Needs no renderer."""
        table = table_of(self.path, HubTable(DATASET, self.version, "test", self.revision))
        chosen = choose_prompts(table, _prompt, limit=self.limit, seed=self.subset_seed)
        off = shortfall(chosen, {"coding": PROBLEMS[self.version]})
        return Suite(
            name="mbpp" if self.version == "full" else f"mbpp-{self.version}",
            prompts=chosen.prompts,
            licence=LICENCE,
            source=table.origin,
            selection="; ".join((chosen.selection, *off)),
            warnings=off,
        )


def _prompt(row: Row, number: int) -> Prompt | LeftOut:
    del number
    task, text, tests = row.get("task_id"), row.get("text", row.get("prompt")), row.get("test_list")
    if type(task) is not int:
        raise RowFault("has no task_id, a whole number; MBPP's rows have one")
    if task not in TEST_IDS:
        return LeftOut("they belong to MBPP's other splits")
    if not isinstance(text, str) or not text.strip():
        raise RowFault("has no column text (or prompt, in the sanitized version) that says the task")
    if not isinstance(tests, list) or not tests or not all(isinstance(test, str) for test in tests):
        raise RowFault("test_list is no list of tests")
    lines = "\n".join(tests)
    turn = (
        f"Write a Python function: {text.strip()}\n\nIt must pass these tests. Answer with the function in one code "
        f"block.\n\n```python\n{lines}\n```"
    )
    asked = row_prompt({"question_id": f"mbpp-{task}", "turns": turn})
    facts = {"category": "coding", "sub_category": "mbpp", "source": "MBPP", "src_id": str(task)}
    return asked.model_copy(update=facts)
