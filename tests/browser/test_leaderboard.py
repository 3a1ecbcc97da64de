"""Leaderboards as readers use them: sorted by mouse and keyboard, on phones, in the dark, offline, with any names."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.leaderboard.writing import collect, write_leaderboard
from draftmark.results.records import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from playwright.sync_api import Browser, Page

    Open = Callable[..., "Opened"]

pytestmark = pytest.mark.browser

NAMES = [
    "</script><script>window.__pwned=1</script>",
    "<img src=x onerror=window.__pwned=2>",
    "\"'><svg/onload=window.__pwned=3>",
    "javascript:window.__pwned=4",
    "{{7*7}} {% raw %}",
    "__proto__",
    "line\u2028separator \u202eoverride \x1b]0;bell\x07",
]
SPELT_OUT = {NAMES[-1]: "line\\u2028separator \\u202eoverride \\x1b]0;bell\\x07"}
"""What a browser would act on and not show."""
WIDE = ("index.html", "board", "published")


@dataclass
class Opened:
    """An open page, what it asked the network for and what it complained of."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def folders() -> ModuleType:
    """The builder of run folders, shared with the tests of `dashboards`."""
    source = Path(__file__).parent.parent / "dashboards" / "leaderboard" / "folders.py"
    spec = importlib.util.spec_from_file_location("folders", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(folders: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A leaderboard of two engines on one machine, one run that hides much, one with a fault, and another suite."""
    runs, made = tmp_path_factory.mktemp("runs"), folders.write_run
    demo = {"none": 1.0, "ngram": 1.5, "suffix": 1.51, "mtp": 0.8}
    vllm = {"backend": "vllm", "resolved": {"gpus": 0, "vllm": "0.32.0"}, "engine": {"dtype": "float32"}}
    given = [
        made(runs / "demo", demo, control=1.01),
        made(runs / "vllm", {"none": 1.0, "eagle3": 2.0, "ngram": 1.2}, plain_s=0.08, faults=("ngram",), **vllm),
        made(runs / "untimed", {"none": 1.0, "eagle3": 1.4}, timed=False),
        made(runs / "served", {"ngram": 1.4}, compared=False, resolved={"process": "a server"}, backend="openai"),
        made(runs / "longer", {"none": 1.0, "ngram": 1.3}, sampling=Sampling(max_tokens=128)),
    ]
    index, *pages = write_leaderboard(collect(given), tmp_path_factory.mktemp("site"))
    board = next(page for page in pages if "example-cpu" in page.name)
    return {"index.html": index, "board": board, "published": pages[-1]}


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Open]:
    """Open a file offline, keeping what it asks for and complains of."""
    contexts = []

    def opened(path: Path, *, width: int = 1280, scheme: str = "light", scripts: bool = True) -> Opened:
        context = chromium.new_context(
            offline=True, viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on(
            "console",
            lambda message: found.complaints.append(message.text) if message.type in {"error", "warning"} else None,
        )
        found.page.goto(path.as_uri())
        return found

    yield opened
    for context in contexts:
        context.close()


def entries(page: Page, table: str = "#board-1") -> list[str]:
    return page.eval_on_selector_all(f"{table} tbody th .name", "all => all.map((one) => one.textContent)")


def sorted_columns(page: Page) -> list[str]:
    return page.eval_on_selector_all(
        "#board-1 th[aria-sort]", "all => all.map((one) => one.textContent.trim() + ' ' + one.ariaSort)"
    )


def test_ranks_are_shown_in_order_with_ranges(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["board"]).page
    ranks = page.eval_on_selector_all("#board-1 tbody .rank", "all => all.map((one) => one.textContent)")
    assert [text.removeprefix("rank ") for text in ranks] == ["1", "2-3", "2-3", "4"]
    assert entries(page) == ["eagle3 D=3", "suffix D=3", "ngram D=3", "mtp D=3"]
    assert sorted_columns(page) == ["rank, entry ascending"]


def test_a_column_sorts_by_keyboard_and_says_so(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["board"]).page
    button = page.locator("#board-1 thead button", has_text="no speculation")
    button.focus()
    page.keyboard.press("Enter")
    assert entries(page)[-1] == "eagle3 D=3"  # 80 ms against 50, lower is better
    assert len(sorted_columns(page)) == 1
    assert sorted_columns(page)[0].endswith(" ascending")
    assert "no speculation" in page.locator("#sorted").text_content()
    page.keyboard.press("Space")
    assert entries(page) == ["eagle3 D=3", "suffix D=3", "ngram D=3", "mtp D=3"]  # ties stay as they were
    assert page.locator("#sorted").text_content().endswith("descending")
    assert button.evaluate("button => button === document.activeElement")


def test_sorting_by_a_number_and_back_by_rank(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["board"]).page
    page.locator("#board-1 thead button", has_text="per user").click()
    speeds = page.eval_on_selector_all(
        "#board-1 tbody tr", "rows => rows.map((row) => Number(row.cells[3].dataset.sort))"
    )
    assert speeds == sorted(speeds, reverse=True)
    page.locator("#board-1 thead button", has_text="rank, entry").click()
    assert entries(page) == ["eagle3 D=3", "suffix D=3", "ngram D=3", "mtp D=3"]


def test_a_weak_baseline_cannot_hide(site: dict[str, Path], visit: Open) -> None:
    row = visit(site["board"]).page.locator("#board-1 tbody tr").first
    assert "80.0" in row.text_content()
    assert "1.6x the quickest here" in row.text_content()


def test_what_is_not_ranked_says_why(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["board"]).page
    told = " ".join(page.locator(".unranked-lists").first.inner_text().split())
    assert "Not disclosed" in told
    assert "draft overhead:" in told
    assert "Not ranked for a fault" in told
    assert "changes the output" in told
    assert page.locator("#board-2 tbody tr").count() == 1
    assert "max tokens 128" in page.locator("#h-table-2").text_content()


def test_an_entry_leads_to_its_details_and_to_its_plan(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["board"]).page
    page.locator("#board-1 tbody th a").first.click()
    details = page.locator("details.entry[open]")
    assert details.count() == 1
    said = " ".join(details.inner_text().split())
    for words in ("eagle3, 3", "vllm 0.32.0", "Example CPU, 2 cores", "acceptance_length", "5" * 64, "edit", "write"):
        assert words in said
    details.locator("a", has_text="its plan").click()
    assert page.locator("details[open] pre").inner_text().startswith("{")


def test_everything_can_be_read_without_scripts(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["board"], scripts=False).page
    assert page.locator("#board-1 tbody tr").count() == 4
    assert page.locator("#board-1 tbody tr").first.is_visible()
    page.locator("details.entry summary").first.click()
    assert page.locator("details.entry dl").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("name", WIDE)
def test_no_page_is_wider_than_the_screen_or_complains(
    site: dict[str, Path], visit: Open, name: str, width: int, scheme: str
) -> None:
    opened = visit(site[name], width=width, scheme=scheme)
    opened.page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []


def test_on_a_phone_rank_name_and_speed_up_are_in_view(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["board"], width=360).page
    box = page.locator("#board-1").locator("xpath=ancestor::div[@class='scroll']").bounding_box()
    for part in (".rank", ".name", "td:nth-child(2) .gain"):
        found = page.locator(f"#board-1 tbody tr:first-child {part}").first.bounding_box()
        assert box["x"] <= found["x"]
        assert found["x"] + found["width"] <= box["x"] + box["width"]


@pytest.mark.parametrize("width", [360, 1280])
def test_names_do_not_run_into_the_next_column(site: dict[str, Path], visit: Open, width: int) -> None:
    page = visit(site["board"], width=width).page
    overlaps = page.eval_on_selector_all(
        "#board-1 tbody tr",
        """rows => rows.filter((row) => {
          const name = row.querySelector("th .name").getBoundingClientRect();
          return name.right > row.cells[0].getBoundingClientRect().right;
        }).length""",
    )
    assert overlaps == 0


def test_dark_and_light_are_the_readers_choice(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["index.html"], scheme="dark").page
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_the_index_leads_to_every_page_and_back(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["index.html"]).page
    for link in page.eval_on_selector_all("main a[href$='.html']", "all => all.map((one) => one.href)"):
        page.goto(link)
        page.locator(".crumbs a").click()
        assert page.url == site["index.html"].as_uri()


def test_published_numbers_can_be_sorted_and_carry_no_rank(site: dict[str, Path], visit: Open) -> None:
    page = visit(site["published"]).page
    assert page.locator("h1").inner_text() == "Published, not measured here"
    page.locator("#published thead button", has_text="speed-up").click()
    first = page.locator("#published tbody tr").first
    assert first.locator("th").inner_text() == "Llama-3.3-70B-Instruct, eagle3"
    assert page.locator(".rank").count() == 0


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_text(
    folders: ModuleType, visit: Open, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    runs, hostile = tmp_path_factory.mktemp("runs"), {"target": name, "suite": name, "backend": name, "name": name}
    machine = folders.environment(cpu=name, commit=name, packages={name: name})
    given = [
        folders.write_run(
            runs / place,
            {"none": 1.0, "ngram": 1.5},
            engine={name: {name: place}},
            options={name: [name, place]},
            sampling=Sampling(stop=(name,)),
            machine=machine,
            resolved={"gpus": 0, name: name},
            run_id=f"{name} {place}",
            plan={name: name, "chat_template": name},
            plan_hash=name,
            started_at=name,
            **hostile,
        )
        for place in ("one", "two")
    ]
    index, *pages = write_leaderboard(collect([*given, runs / "nothing"]), tmp_path_factory.mktemp("site"))
    assert all(path.parent == index.parent for path in pages)
    for path in (index, pages[0]):
        opened = visit(path)
        page = opened.page
        page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
        for button in page.locator("thead button").all():
            button.click(force=True)
        assert SPELT_OUT.get(name, name) in page.locator("main").text_content()
        assert page.evaluate("typeof window.__pwned") == "undefined"
        assert opened.complaints == []
        links = page.eval_on_selector_all("main a[href]", "all => all.map((one) => one.getAttribute('href'))")
        assert all(link.startswith("#") or link in {p.name for p in (index, *pages)} for link in links)
