"""Names, errors and settings of a run are text on the page, whatever they contain and whatever the reader does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.records import Divergence
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from conftest import Opened

    from draftmark.results.summary import RunSummary

pytestmark = pytest.mark.browser

NAMES = [
    "</script><script>window.__pwned=1</script>",
    "</SCRIPT ><img src=x onerror=window.__pwned=2>",
    "<!--<script>window.__pwned=3//",
    "\"'><svg/onload=window.__pwned=4>",
    "javascript:window.__pwned=5",
    "${window.__pwned=6} {{7*7}} {% raw %}",
    '<a href="javascript:window.__pwned=7">tap</a>',
    "__proto__",
    "constructor",
    "%{x} %{customdata[0]} <b>bold</b> <br> &lt;i&gt; $x^2$",
    "var(--d1)",
    "line\u2028separator \u202eoverride \x1b]0;bell\x07",
]


SHOWN = [*NAMES[:-1], "line\\u2028separator \\u202eoverride \\x1b]0;bell\\x07"]
"""As a page shows them: all as they are but what a browser would act on and not show."""

SUITES = [NAMES[0], NAMES[1], "__proto__"]
"""Each is a chart of its own in every section, so a few must do."""


def hostile(specimen: ModuleType) -> RunSummary:
    """A run with a hostile name in every place that a page shows."""
    cells = []
    for place, name in enumerate(NAMES):
        metrics = specimen.gain(1.0 + place / 10, 0.9, 2.0 + place / 10, al=1.5 + place / 10, note=name)
        metrics |= {"conditional_acceptance[1]": specimen.value(0.5, note=name)}
        metrics |= {"t_verify": specimen.value(0.05, unit="s"), "ttft": specimen.value(None, reason=name)}
        metrics |= {name: specimen.value(1.0)}
        same = {"drafter": name, "length": 3, "arm": name, "cell_id": name, "changed": {name: (name, [name])}}
        cells.append(specimen.cell(**same, metrics=metrics, status="partial", status_text=name))
        cells.append(specimen.cell(**same, metrics=metrics, category=name))
    cells += [specimen.cell("ngram", 8, suite=name, cell_id=f"suite {name}", metrics=metrics) for name in SUITES]
    lamps = [Lamp(name="failures", level="fault", text=name, cells=[name]) for name in NAMES]
    failures = [{"cell_id": name, "question_id": name, "kind": name, "message": name} for name in NAMES]
    diverged = [
        Divergence(
            cell_id=name,
            question_id=name,
            turn_index=0,
            repeat=0,
            position=1,
            baseline_id=1,
            arm_id=2,
            verdict="unknown",
            reason=name,
        )
        for name in NAMES
    ]
    plan = {name: name for name in NAMES}
    return specimen.run(
        *cells, lamps=lamps, failures=failures, divergences=diverged, name=NAMES[0], plan=plan, status="complete"
    )


@pytest.fixture(scope="module")
def drawn(keep_open: Callable[..., Opened], specimen: ModuleType) -> Opened:
    """The hostile page with every chart drawn, for tests that only look."""
    opened = keep_open(hostile(specimen))
    opened.draw_all()
    return opened


def test_nothing_runs_on_load_hover_sort_and_filter(open_page: Callable, specimen: ModuleType) -> None:
    opened = open_page(hostile(specimen))
    page = opened.page
    opened.draw_all()
    page.locator("#show-categories").check()
    page.locator("#show-all").check()
    page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    for point in page.locator("#speedup .plot").first.locator(".scatterlayer .point").all():
        point.hover(force=True)
    page.locator("#length-speedup .plot .scatterlayer .point").last.hover(force=True)
    page.locator("#arms-table .null").first.hover()
    for button in page.locator("#arms-table thead button").all()[:8]:
        button.click()
    for name in SHOWN:
        page.locator("#filter").fill(name)
        assert page.locator("#arms-table tbody tr:not([hidden])").count() >= 1
    page.locator("#theme").click()
    page.wait_for_timeout(100)
    assert page.evaluate("typeof window.__pwned") == "undefined"
    assert page.evaluate("typeof Object.prototype.data") == "undefined"
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_every_name_is_shown_as_it_is_but_for_control_characters(drawn: Opened) -> None:
    page = drawn.page
    arms = page.eval_on_selector_all("#arms-table tbody .arm .name", "all => all.map((one) => one.textContent)")
    suites = page.eval_on_selector_all("figcaption span", "all => all.map((one) => one.textContent)")
    for name in SHOWN:
        assert arms.count(name) == 2  # over all turns, and by category
    assert set(SUITES) <= set(suites)
    assert "49" not in page.locator("h1").inner_text()
    links = page.eval_on_selector_all("a[href]", "all => all.map((one) => one.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)


def test_charts_show_names_literally_and_draw_every_series(drawn: Opened) -> None:
    first = drawn.page.locator("#speedup .plot").first
    labels = first.locator(".annotation text").evaluate_all("all => all.map((one) => one.textContent)")
    assert "__proto__" in labels
    assert "constructor" in labels
    assert "</script><script>win….__pwned=1</script>" in labels
    assert first.locator(".scatterlayer .point").count() == len(NAMES)
    assert drawn.page.locator(".plot a").count() == 0


def test_embedded_json_escapes_every_angle_bracket(drawn: Opened) -> None:
    texts = drawn.page.eval_on_selector_all(
        "script[type='application/json']", "all => all.map((one) => one.textContent)"
    )
    assert texts
    assert not any("<" in text for text in texts)
    assert any("\\u003c" in text for text in texts)
    assert drawn.page.evaluate("(texts) => texts.every((text) => JSON.parse(text).layout)", texts)
