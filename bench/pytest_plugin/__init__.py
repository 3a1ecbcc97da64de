"""The pytest plugin: `pytest --draftmark-plan plan.yaml` benchmarks a plan's cells, and hands them to tests.

Every pytest of an environment that has Draftmark loads this module, so it imports nothing but pytest until the option
is given. PYTEST_DONT_REWRITE: there is no assertion here whose values a user would want to see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from draftmark.bench.pytest_plugin.measuring import Measuring
    from draftmark.bench.pytest_plugin.values import MeasuredCell

MARKER = (
    "draftmark(arm=..., suite=...): the cells of the plan that the fixture draftmark_cell stands for; by arm, suite, "
    "backend, load, drafter, draft_length or name, each a value or a list of values"
)

MEASURING: pytest.StashKey[Measuring] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("draftmark", "benchmarks of speculative decoding")
    group.addoption(
        "--draftmark-plan",
        metavar="PLAN",
        help="Run this Draftmark plan, in a process of its own, and make a benchmark of each of its cells.",
    )
    group.addoption(
        "--draftmark-out",
        metavar="FOLDER",
        help="With --draftmark-plan: the run folder, which is kept and gone on with; else a temporary one.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Do nothing without the option; with it refuse what would spoil the numbers, and collect the plan as well."""
    config.addinivalue_line("markers", MARKER)
    if config.getoption("draftmark_plan") is None:
        if config.getoption("draftmark_out") is not None:
            raise pytest.UsageError("--draftmark-out needs --draftmark-plan: name the plan to run")
        return
    from draftmark.bench.pytest_plugin.measuring import Measuring

    measuring = Measuring.of(config)
    config.stash[MEASURING] = measuring
    config.pluginmanager.register(measuring, "draftmark-measuring")


@pytest.fixture
def draftmark_cell(request: pytest.FixtureRequest) -> MeasuredCell:
    """One measured cell of the plan; a test that takes it runs once for each cell, or for those its marker names."""
    measuring = request.config.stash.get(MEASURING, None)
    if measuring is None:
        pytest.skip("needs a plan: pytest --draftmark-plan plan.yaml")
    return measuring.cell(request.param)
