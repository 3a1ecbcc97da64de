"""The documentation says what the code says: metric page, examples, links."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "suites/builtin/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def test_the_metric_page_is_what_the_declarations_say() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "write_metric_docs.py"))["page"]()
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == made, "run scripts/write_metric_docs.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_local_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def headings(page: Path) -> set[str]:
    """The anchors that a page's headings have where Markdown is shown."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_local_link_into_a_page_leads_to_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        there = page.parent / target if target else page
        assert anchor in headings(there), f"{page.name} links to {target}#{anchor}"


def plans_of(page: Path) -> list[str]:
    """The blocks that are whole plans, and not pieces of one."""
    blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [block for block in blocks if re.search(r"^name:", block, re.MULTILINE)]


def test_the_pages_that_show_a_plan_are_found() -> None:
    assert {"README.md", "plan.md", "gpu.md", "http.md"} <= {page.name for page in PAGES if plans_of(page)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_plan_in_the_documentation_is_a_valid_plan(tmp_path: Path, page: Path) -> None:
    from draftmark.bench.plans.plan import load_plan

    for number, text in enumerate(plans_of(page)):
        path = tmp_path / f"plan-{number}.yaml"
        path.write_text(text, encoding="utf-8")
        assert load_plan(path).name


def test_what_a_backend_must_have_is_told_to_those_who_add_one() -> None:
    from draftmark.backends.base import Backend

    methods = {name for name, found in vars(Backend).items() if callable(found) and not name.startswith("_")}
    assert {"start", "generate", "client_facts"} <= methods
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert methods <= set(re.findall(r"`([a-z_]+)`", told))


def test_every_key_of_a_plan_is_documented() -> None:
    from draftmark.backends.registry import BACKENDS, DRAFTERS
    from draftmark.bench.plans.load import LOADS
    from draftmark.bench.plans.plan import Plan
    from draftmark.bench.plans.wording import keys_of
    from draftmark.results.records import Sampling
    from draftmark.results.records.loads import Objectives
    from draftmark.suites.registry import SUITES

    entries = [table.resolve(kind) for table in (BACKENDS, DRAFTERS, SUITES) for kind in sorted(table.builtin)]
    assert len(entries) >= 23
    named = set(re.findall(r"`([a-z0-9_-]+)`", (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")))
    assert set(LOADS) <= named
    for model in (Plan, Sampling, Objectives, *LOADS.values(), *entries):
        assert set(keys_of(model)) <= named, f"docs/plan.md leaves out keys of {model.__name__}"
    assert {kind for table in (BACKENDS, DRAFTERS, SUITES) for kind in table.builtin} <= named


def test_every_verb_exit_code_and_variable_is_documented() -> None:
    from draftmark.backends.base import BackendError
    from draftmark.bench.cli.app import EXIT_INTERNAL, EXIT_INTERRUPTED, VERBS
    from draftmark.bench.plans.variables import VARIABLES
    from draftmark.bench.running.runner import EXIT_FAILED_TURNS
    from draftmark.results.errors import StoreWriteError

    rows = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "commands.md").read_text(encoding="utf-8"), re.MULTILINE)
    codes = [0, EXIT_FAILED_TURNS, BackendError.exit_code, StoreWriteError.exit_code, EXIT_INTERNAL, EXIT_INTERRUPTED]
    assert rows == [*VERBS, *map(str, codes), *VARIABLES]
