"""The page of a run as a reader meets it: offline, wide and narrow, light and dark, with mouse and keyboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from conftest import Opened
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

VISIBLE_ROWS = "#arms-table tbody tr:not([hidden])"

CONTRASTS = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((c) => linear(c / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  let checked = 0;
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
    if (!own || !element.getClientRects().length || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    if (element.closest(".sr, [hidden]") || style.visibility === "hidden" || style.opacity === "0") continue;
    const svg = element.closest("svg.main-svg") !== null;
    const ink = channels(svg ? style.fill : style.color);
    const back = ground(svg ? element.closest(".plot") : element);
    const [high, low] = [luminance(ink), luminance(back)].sort((a, b) => b - a);
    checked += 1;
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${element.tagName} ${own}`);
  }
  return { checked, poor };
}"""


@pytest.fixture(scope="module")
def drawn(keep_open: Callable[..., Opened], specimen: ModuleType) -> Opened:
    """The demo's page with every chart drawn, for tests that only look."""
    opened = keep_open(specimen.demo())
    opened.draw_all()
    opened.page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    return opened


def column(page: Page, name: str) -> int:
    headers = page.eval_on_selector_all("#arms-table thead th", "all => all.map((th) => th.textContent.trim())")
    return next(place for place, header in enumerate(headers) if header.startswith(name))


def shown_numbers(page: Page, name: str) -> list[float | None]:
    """The visible rows' numbers of a column, in the order on screen; null where not measured."""
    texts = page.eval_on_selector_all(
        VISIBLE_ROWS, "(rows, place) => rows.map((row) => row.cells[place].dataset.sort)", column(page, name)
    )
    return [float(text) if text else None for text in texts]


def sort_by(page: Page, name: str) -> str:
    header = page.locator("#arms-table thead th").nth(column(page, name))
    header.locator("button").click()
    return header.get_attribute("aria-sort")


def test_the_page_draws_every_chart_with_the_network_off_and_asks_for_nothing(drawn: Opened) -> None:
    assert drawn.page.locator(".plot svg.main-svg").first.is_visible()
    assert drawn.page.locator(".plot:has(svg.main-svg)").count() == 18
    assert drawn.complaints == []
    assert [url for url in drawn.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    loading = "[src], link[href], iframe, object, embed"
    urls = drawn.page.eval_on_selector_all(loading, "all => all.map((one) => one.src || one.href)")
    assert [url for url in urls if not url.startswith("data:")] == []


def test_the_first_screen_holds_the_answer_the_lamps_and_the_command(drawn: Opened) -> None:
    page = drawn.page
    for text in (
        "ngram D=8 is 1.32x the speed of no speculation [1.10, 1.58]",
        "95% interval from 24 pairs of answers",
        "draft-model D=3 accepts most, 2.90 tokens a step, yet is slower, 0.81x [0.77, 0.86]: its step takes as long "
        "as 3.58 plain ones (drafting 1.93, verifying up to 4 tokens at once 1.62)",
        "the best arm, ngram D=8, is 0.92x the speed of no speculation [0.87, 0.98]",
        "Speculation really on",
        "Repeat it",
    ):
        box = page.get_by_text(text).first.bounding_box()
        assert box["y"] + box["height"] <= 800
    answer = page.locator(".answer").bounding_box()
    lamps = page.locator(".lamps").bounding_box()
    assert lamps["x"] > answer["x"] + answer["width"]


def test_lamps_say_their_level_in_a_word(drawn: Opened) -> None:
    words = drawn.page.locator(".lamps .level").all_inner_texts()
    assert words == ["ok", "ok", "note", "not checked", "note", "warning"]


def test_numbers_sort_as_numbers_with_what_was_not_measured_last(open_page: Callable, specimen: ModuleType) -> None:
    values = [9.0, 100.0, None, 0.5, -2.0, 10.0]
    arms = [specimen.cell("ngram", i + 1, metrics={"speedup": specimen.value(value)}) for i, value in enumerate(values)]
    page = open_page(specimen.run(*arms)).page
    assert sort_by(page, "speedup") == "descending"  # higher is better, so the best comes first
    assert shown_numbers(page, "speedup") == [100.0, 10.0, 9.0, 0.5, -2.0, None]
    assert sort_by(page, "speedup") == "ascending"
    assert shown_numbers(page, "speedup") == [-2.0, 0.5, 9.0, 10.0, 100.0, None]


def test_a_metric_where_less_is_better_starts_with_the_least(open_page: Callable, specimen: ModuleType) -> None:
    arms = [specimen.cell("ngram", i + 1, turns_failed=failed) for i, failed in enumerate([3, 0, 12])]
    page = open_page(specimen.run(*arms)).page
    assert sort_by(page, "failed") == "ascending"
    assert shown_numbers(page, "failed") == [0, 3, 12]


def test_arms_sort_by_draft_length_as_a_number(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.run(*(specimen.cell("ngram", d) for d in (16, 3, 8)))).page
    sort_by(page, "arm")
    assert page.locator(f"{VISIBLE_ROWS} th .arm").all_inner_texts() == ["ngram D=3", "ngram D=8", "ngram D=16"]


def test_the_keyboard_sorts_too(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.demo()).page
    header = page.locator("#arms-table thead th").nth(column(page, "speedup"))
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert header.get_attribute("aria-sort") == "ascending"
    assert page.locator("#arms-table [aria-sort]").count() == 1


def test_rows_are_filtered_by_text_and_counted(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.demo()).page
    assert page.locator(VISIBLE_ROWS).count() == 15
    page.locator("#filter").fill("draft-MODEL")
    assert page.locator(VISIBLE_ROWS).count() == 3
    assert page.locator("#shown").inner_text() == "3 of 15 rows"


def test_categories_and_further_metrics_unfold(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.demo()).page
    page.locator("#show-categories").check()
    assert page.locator(VISIBLE_ROWS).count() == 15 + 8 * 4
    hidden = page.locator("#arms-table thead th", has_text="conditional acceptance[1]")
    assert not hidden.is_visible()
    page.locator("#show-all").check()
    assert hidden.is_visible()


def test_the_reason_of_a_null_shows_on_focus_and_goes_with_escape(open_page: Callable, specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(None))
    page = open_page(specimen.run(specimen.baseline(), arm)).page
    null = page.locator(".null", has_text="the baseline failed").first
    assert null.inner_text().startswith("not measured")
    null.focus()
    assert page.locator("#tip").inner_text() == "the baseline failed"
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    null.hover()
    assert page.locator("#tip").is_visible()


def long_and_wide(specimen: ModuleType) -> object:
    """A run whose names run on without a space and whose table has some thirty columns."""
    name = "org/" + "verylongmodelname" * 10
    metrics = {f"metric_{i}": specimen.value(1.5 * i) for i in range(25)} | specimen.gain(1.3, 1.1, 1.5)
    same = {"arm": name, "suite": name, "cell_id": "long", "metrics": metrics}
    arms = [specimen.cell("ngram", 8, **same, category=part) for part in (None, name)]
    failed = [{"cell_id": arms[0].cell_id, "question_id": name, "kind": name, "message": name}]
    return specimen.run(*arms, failures=failed, name=name, plan={"target": name})


@pytest.mark.parametrize("make", ["demo", "long_and_wide"])
def test_at_360_pixels_the_table_scrolls_in_its_box_and_the_page_does_not(
    open_page: Callable, specimen: ModuleType, make: str
) -> None:
    opened = open_page(specimen.demo() if make == "demo" else long_and_wide(specimen), width=360)
    page = opened.page
    opened.draw_all()
    page.locator("#show-all").check()
    page.locator("#show-categories").check()
    page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator(".scroll:has(#arms-table)")
    assert box.evaluate("(one) => one.scrollWidth > 2 * one.clientWidth")
    first = page.locator(f"{VISIBLE_ROWS} th").first
    before = first.bounding_box()["x"]
    box.evaluate("(one) => { one.scrollLeft = one.scrollWidth; }")
    assert first.bounding_box()["x"] == pytest.approx(before, abs=1)  # the arm's name stays in view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(open_page: Callable, specimen: ModuleType, scheme: str) -> None:
    opened = open_page(specimen.demo(), scheme=scheme)
    opened.draw_all()
    opened.page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    found = opened.page.evaluate(CONTRASTS)
    assert found["checked"] > 500
    assert found["poor"] == []


def test_the_switch_turns_page_and_charts_dark_and_is_remembered(open_page: Callable, specimen: ModuleType) -> None:
    opened = open_page(specimen.demo())
    page = opened.page
    opened.draw_all()
    label = page.locator(".plot svg .ytick text").first
    fill = "(one) => getComputedStyle(one).fill"
    light = label.evaluate(fill)
    page.locator("#theme").click()
    page.wait_for_function(
        f"(before) => ({fill})(document.querySelector('.plot svg .ytick text')) !== before", arg=light
    )
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 22)"
    assert page.locator("#theme").inner_text() == "Light"
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 22)"


def test_the_plan_is_copied_by_its_own_button(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.run(specimen.baseline(), plan={"name": "mine", "target": "tiny"})).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#plan summary").click()
    button = page.locator("[data-copy=plan-text]")
    button.click()
    page.wait_for_function("() => document.querySelector('[data-copy=plan-text]').textContent !== 'Copy'")
    copied = page.evaluate("navigator.clipboard.readText()")
    if button.inner_text() == "Selected":  # a browser that gives local files no clipboard
        copied = page.evaluate("getSelection().toString()")
    assert json.loads(copied) == {"name": "mine", "target": "tiny"}


def test_definitions_are_folded_until_asked_for(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.demo()).page
    page.locator("#definitions").scroll_into_view_if_needed()
    assert page.locator("#definitions").bounding_box()["height"] < 120
    assert not page.locator("#definitions dt").first.is_visible()
    page.locator("nav a[href='#definitions']").click()
    page.locator("#definitions dt").first.wait_for()
    assert page.get_by_text("tokens that step i added to the answer").is_visible()
    assert page.get_by_text("AL = sum e_i / n over all decode steps").is_visible()


def test_words_are_explained_on_focus(drawn: Opened) -> None:
    control = drawn.page.locator(".lamps abbr", has_text="control")
    control.focus()
    assert drawn.page.locator("#tip").inner_text().startswith("The arm without speculation run a second time")
    drawn.page.keyboard.press("Escape")


def test_embedded_json_is_strict_and_holds_no_raw_angle_bracket(drawn: Opened) -> None:
    page = drawn.page
    texts = page.eval_on_selector_all("script[type='application/json']", "all => all.map((one) => one.textContent)")
    assert len(texts) == 18
    assert not any("<" in text for text in texts)
    assert page.evaluate("(texts) => texts.map((text) => JSON.parse(text).data.length > 0)", texts) == [True] * 18
    refuse = {"parse_constant": lambda word: pytest.fail(f"{word} is no JSON")}
    assert all(json.loads(text, **refuse) for text in texts)


def test_zeros_and_gaps_leave_no_broken_path(open_page: Callable, specimen: ModuleType) -> None:
    zero = specimen.cell("ngram", 3, metrics=specimen.gain(0.0, 0.0, 0.1, al=1.0))
    gap = {"conditional_acceptance[1]": 0.9, "conditional_acceptance[2]": None, "conditional_acceptance[3]": 0.1}
    curve = {name: specimen.value(value) for name, value in gap.items()}
    other = specimen.cell("suffix", 3, metrics=specimen.gain(1.4, 1.2, 1.6) | curve)
    opened = open_page(specimen.run(specimen.baseline(), zero, other))
    opened.draw_all()
    drawn = opened.page.eval_on_selector_all(".plot", "all => all.map((one) => one.innerHTML).join()")
    assert "NaN" not in drawn
    marks = opened.page.locator("#speedup .plot .scatterlayer .point")
    assert marks.count() == 2  # a zero is on the axis, not lost on a logarithm


def test_thousands_of_rows_and_points_are_capped_and_their_number_is_printed(
    open_page: Callable, specimen: ModuleType
) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.3, 1.1, 1.5))
    gains = [9.0 if i == 3333 else 1.3 for i in range(5100)]
    parts = [specimen.cell("ngram", 8, category=f"k{i}", metrics=specimen.gain(gain)) for i, gain in enumerate(gains)]
    opened = open_page(specimen.run(arm, *parts))
    assert opened.page.get_by_text("1,000 of 5,101 rows are shown.").count() == 1
    assert opened.page.get_by_text("of 5,100 points drawn").count() == 1
    opened.draw_all()
    heights = opened.page.eval_on_selector_all(
        "#length-speedup .plot .scatterlayer .point", "all => all.map((one) => one.getBoundingClientRect().top)"
    )
    assert min(heights) < sorted(heights)[1] - 50  # the outlier stands far above the rest


def test_without_scripts_the_answer_and_the_table_are_still_there(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.demo(), scripts=False).page
    assert page.get_by_text("ngram D=8 is 1.32x the speed of no speculation").is_visible()
    assert page.locator("#arms-table tbody tr").first.is_visible()
    assert page.get_by_text("This chart needs JavaScript").first.is_visible()


def test_in_print_nothing_scrolls_and_controls_are_gone(open_page: Callable, specimen: ModuleType) -> None:
    page = open_page(specimen.demo(), scheme="dark").page
    page.emulate_media(media="print")
    assert page.locator(".scroll").first.evaluate("(one) => getComputedStyle(one).overflow") == "visible"
    assert not page.locator(".controls").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(21, 25, 30)"


def test_where_acceptance_comes_from_is_read_without_colour_or_script(drawn: Opened) -> None:
    section = drawn.page.locator("#places")
    assert section.locator("h3").all_inner_texts() == ["coding", "summarization", "long-sequence"]
    table = section.locator("table").first
    assert table.locator("thead th").all_inner_texts() == ["place", "ngram D=3", "ngram D=8", "draft-model D=3"]
    row = table.locator("tbody tr", has=drawn.page.get_by_role("rowheader", name="all turns"))
    # 1.92 x 0.93 and x 1.07
    assert row.locator("td").first.inner_text().split() == ["1.92", "[1.79,", "2.05]", "n", "1,400"]
    assert section.locator(".bar").first.get_attribute("aria-hidden") == "true"
    assert drawn.page.locator('nav a[href="#places"]').count() == 1
