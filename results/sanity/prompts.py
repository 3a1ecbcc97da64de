"""Are the prompts such that numbers measured on them say something of real use, for the arms that were run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.records import RunManifest


def check_prompts(manifest: RunManifest) -> Iterator[Lamp]:
    """Yield what suites say to be careful of, for the cells that it concerns."""
    for suite in manifest.suites:
        if suite.caution is None:
            continue
        concerned = suite.caution.drafters
        cells = [
            cell.cell_id
            for cell in manifest.cells
            if (cell.key.suite, cell.key.suite_hash) == (suite.name, suite.hash)
            and (not concerned or cell.key.arm.drafter in concerned)
        ]
        if cells:
            yield Lamp(name="prompts", level="warning", text=suite.caution.text, cells=cells)
