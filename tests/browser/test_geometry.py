"""Where things stand on the page at every width: no label covers another, nothing is blank, what is cut says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from conftest import Opened

    from draftmark.results.summary import RunSummary

pytestmark = pytest.mark.browser

WIDTHS = (360, 1280)

COLLISIONS = """() => {
  const found = [];
  let checked = 0;
  for (const plot of document.querySelectorAll(".plot")) {
    const name = plot.getAttribute("aria-label");
    const edge = plot.getBoundingClientRect();
    const texts = [...plot.querySelectorAll("svg text")].filter((text) => text.textContent.trim());
    const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    checked += boxes.length;
    boxes.forEach(([text, box], place) => {
      if (box.left < edge.left - 1 || box.right > edge.right + 1) found.push(`${name}: ${text} sticks out`);
      for (const [other, there] of boxes.slice(place + 1)) {
        const across = Math.min(box.right, there.right) - Math.max(box.left, there.left);
        const down = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
        if (across > 1 && down > 3) found.push(`${name}: ${text} meets ${other}`);
      }
    });
  }
  return { checked, found };
}"""
"""Texts of one chart whose boxes share more than a line's own air, and texts that leave their chart."""


@pytest.fixture(scope="module", params=WIDTHS)
def at_width(
    request: pytest.FixtureRequest, keep_open: Callable[..., Opened], crowded: RunSummary
) -> tuple[int, Opened]:
    """The crowded page at one width, every chart drawn."""
    opened = keep_open(crowded, width=request.param)
    opened.draw_all()
    return request.param, opened


def test_no_label_of_a_chart_covers_another_or_leaves_it(at_width: tuple[int, Opened]) -> None:
    found = at_width[1].page.evaluate(COLLISIONS)
    assert found["checked"] > 300
    assert found["found"] == []


@pytest.mark.parametrize("width", [1900, 800])
def test_charts_that_were_resized_keep_their_labels_apart(
    open_page: Callable[..., Opened], crowded: RunSummary, width: int
) -> None:
    opened = open_page(crowded, width=1280)
    opened.draw_all()
    opened.page.set_viewport_size({"width": width, "height": 800})
    fitting = """() => [...document.querySelectorAll(".plot")].every(
      (plot) => Math.abs(plot.querySelector("svg").getBoundingClientRect().width - plot.clientWidth) < 1
    )"""
    opened.page.wait_for_function(fitting)
    assert opened.page.evaluate(COLLISIONS)["found"] == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 1280])
def test_no_label_covers_another_where_arms_stand_close(
    open_page: Callable[..., Opened], specimen: ModuleType, width: int
) -> None:
    opened = open_page(specimen.demo(), width=width)
    opened.draw_all()
    assert opened.page.evaluate(COLLISIONS)["found"] == []


def test_labels_of_axes_stand_upright(at_width: tuple[int, Opened]) -> None:
    ticks = at_width[1].page.locator(".plot :is(.xtick, .ytick) text")
    assert ticks.count() > 100
    assert ticks.evaluate_all("all => Math.max(...all.map((one) => one.getBoundingClientRect().height))") < 20


def test_no_chart_is_blank(at_width: tuple[int, Opened]) -> None:
    drawn = """all => all.map((plot) => {
      const marks = [...plot.querySelectorAll(".scatterlayer .point, .scatterlayer .js-line, .barlayer .point path")];
      return marks.filter((mark) => mark.getBoundingClientRect().width > 0).length;
    })"""
    counts = at_width[1].page.eval_on_selector_all(".plot", drawn)
    assert len(counts) == 6 * 6
    assert min(counts) > 0


def test_the_page_itself_never_scrolls_sideways(at_width: tuple[int, Opened]) -> None:
    width, opened = at_width
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_bar_of_buttons_lies_over_the_charts(at_width: tuple[int, Opened]) -> None:
    assert at_width[1].page.locator(".modebar-btn").count() == 0


def test_a_chart_is_saved_by_the_button_in_its_caption(
    open_page: Callable[..., Opened], specimen: ModuleType, tmp_path: Path
) -> None:
    opened = open_page(specimen.demo())
    opened.draw_all()
    save = opened.page.locator("#speedup figcaption .save").first
    caption, plot = (
        opened.page.locator(f"#speedup figure {part}").first.bounding_box() for part in ("figcaption", ".plot")
    )
    assert caption["y"] + caption["height"] <= plot["y"] + 1
    with opened.page.expect_download() as saving:
        save.click()
    saving.value.save_as(tmp_path / "chart.svg")
    assert saving.value.suggested_filename.endswith(".svg")
    assert "draft-model D=3" in (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert opened.complaints == []


def test_a_table_that_is_cut_says_how_many_columns_are_out_of_sight(
    open_page: Callable[..., Opened], specimen: ModuleType
) -> None:
    page = open_page(specimen.demo(), width=360).page
    hint, box = page.locator("#arms .hint"), page.locator("#arms .scroll")
    cut = "(box) => [...box.querySelectorAll('thead th')].filter((th) => th.offsetParent && "
    cut += "th.getBoundingClientRect().right > box.getBoundingClientRect().right + 2).length"
    hidden = box.evaluate(cut)
    assert hidden > 5
    assert hint.inner_text() == f"{hidden} more columns →"
    assert page.locator("#arms .wide.more").count() == 1
    hint.click()
    page.wait_for_function("() => document.querySelector('#arms .scroll').scrollLeft > 100")
    box.evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_function("() => document.querySelector('#arms .hint').textContent === '← back'")
    assert page.locator("#arms .wide.more").count() == 0
    hint.click()
    page.wait_for_function("() => document.querySelector('#arms .scroll').scrollLeft === 0")


CUT_NUMBERS = """(box) => {
  const edge = box.getBoundingClientRect().right;
  const start = box.querySelector("thead th").getBoundingClientRect().right;
  const cells = [...box.querySelectorAll("tbody tr:first-child td")].filter((cell) => cell.getClientRects().length);
  const crosses = ({ left, right }, line) => left < line - 2 && right > line + 2;
  const shown = cells.filter((cell) => getComputedStyle(cell).opacity !== "0");
  const seen = shown.map((cell) => cell.getBoundingClientRect());
  const inside = seen.filter(({ left, right }) => left >= start - 2 && right <= edge + 2);
  return { cut: seen.filter((one) => crosses(one, edge) || crosses(one, start)).length, whole: inside.length };
}"""
"""Cells of the first row that an edge cuts in two and that are still shown, and those that are shown whole."""


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_no_number_is_cut_by_the_edge_of_a_table(
    open_page: Callable[..., Opened], specimen: ModuleType, width: int
) -> None:
    page = open_page(specimen.demo(), width=width).page
    page.locator("#show-all").check()
    box, hint = page.locator("#arms .scroll"), page.locator("#arms .hint")
    hint.wait_for()
    for left in (0, 33, 150, 333, 700):
        box.evaluate("(box, left) => { box.scrollLeft = left; }", left)
        page.wait_for_function(
            "(wanted) => Math.abs(document.querySelector('#arms .scroll').scrollLeft - wanted) < 2", arg=left
        )
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert box.evaluate(CUT_NUMBERS)["cut"] == 0
    box.evaluate("(box) => { box.scrollLeft = 0; }")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert box.evaluate(CUT_NUMBERS)["whole"] >= 1


def test_on_a_narrow_screen_the_speed_up_is_in_view_beside_arm_and_suite(
    open_page: Callable[..., Opened], specimen: ModuleType
) -> None:
    page = open_page(specimen.demo(), width=360).page
    box = page.locator("#arms .scroll").bounding_box()
    speedup = page.locator("#arms-table thead th", has_text="speedup").first.bounding_box()
    assert speedup["x"] + speedup["width"] <= box["x"] + box["width"] + 2
    assert page.locator("#arms-table .under").first.inner_text() == "coding"


def test_a_table_with_room_says_nothing_until_more_columns_unfold(
    open_page: Callable[..., Opened], specimen: ModuleType
) -> None:
    few = {f"metric_{i}": specimen.value(1.0) for i in range(30)} | specimen.gain(1.2, 1.1, 1.3)
    page = open_page(specimen.run(specimen.baseline(), specimen.cell("ngram", 8, metrics=few))).page
    hint = page.locator("#arms .hint")
    assert not hint.is_visible()
    page.locator("#show-all").check()
    hint.wait_for()
    assert hint.inner_text().endswith("more columns →")


def test_twenty_settings_that_speculation_changed_are_a_line_each(at_width: tuple[int, Opened]) -> None:
    opened = at_width[1]
    rows = opened.page.locator("#changed tbody tr")
    assert rows.count() == 20
    heights = rows.evaluate_all("all => all.map((row) => row.getBoundingClientRect().height)")
    assert sorted(heights)[-2] < 60
    long = opened.page.locator("#changed .long").first
    assert long.locator("summary").inner_text().startswith("[0, 8, 16, ")
    assert long.evaluate("(one) => one.open") is False


def test_what_all_arms_resolved_alike_is_listed_once(at_width: tuple[int, Opened]) -> None:
    listed = at_width[1].page.locator("#resolved dt").all_text_contents()
    assert listed.count("engine.setting_7") == 1
    assert len(listed) < 250 + 20


def test_what_is_unfinished_or_lost_stands_above_the_answer(at_width: tuple[int, Opened]) -> None:
    page = at_width[1].page
    notices = page.locator(".notices")
    for text in ("A snapshot:", "of 864 turns", "Engine lost: mtp D=2, after 18 of 144 turns", "CUDA out of memory"):
        assert text in notices.inner_text()
    box = notices.bounding_box()
    answer = page.locator(".answer").bounding_box()
    scrolled = page.evaluate("scrollY")
    assert box["y"] + box["height"] <= answer["y"]
    assert box["y"] + scrolled + box["height"] <= 800
    assert "mtp" not in " ".join(page.locator(".headline").all_inner_texts())


def test_each_load_has_its_own_answer_rows_and_charts(at_width: tuple[int, Opened]) -> None:
    page = at_width[1].page
    wanted = [f"{suite}, concurrency {load}" for suite in ("coding", "summarization") for load in (1, 4, 16)]
    assert page.locator(".scope strong").all_inner_texts() == wanted
    assert page.locator("#speedup figcaption span").all_inner_texts() == wanted
    suites = page.locator("#arms-table tbody tr:not([hidden]) td:nth-child(2)").all_inner_texts()
    assert {name: suites.count(name) for name in wanted} == dict.fromkeys(wanted, 7)


def test_many_answers_are_folded_to_their_headlines(at_width: tuple[int, Opened]) -> None:
    page = at_width[1].page
    assert page.locator(".answers .detail").first.is_visible() is False
    page.locator(".answers .why summary").first.click()
    assert page.locator(".answers .detail").first.is_visible()
    page.locator(".answers .why summary").first.click()
