"""The documentation says what the code says: metric page, examples, links."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_metric_page_is_what_the_declarations_say() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "write_metric_docs.py"))["page"]()
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == made, "run scripts/write_metric_docs.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_local_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_plan_in_the_readme_is_a_valid_plan(tmp_path: Path) -> None:
    from draftmark.bench.plan import load_plan

    plans = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert plans
    for number, text in enumerate(plans):
        path = tmp_path / f"plan-{number}.yaml"
        path.write_text(text, encoding="utf-8")
        assert load_plan(path).name
