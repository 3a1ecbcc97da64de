"""Real pages in headless Chromium, with the network off and everything that a page asks for or complains of kept."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from draftmark.dashboards.site import write_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from playwright.sync_api import Browser, Page

    from draftmark.results.summary import RunSummary

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass
class Opened:
    """An open page with what it asked the network for and what it complained of."""

    page: Page
    path: Path
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def draw_all(self) -> None:
        """Bring every chart into view, as a reader who scrolls would, until all are drawn."""
        for plot in self.page.query_selector_all(".plot"):
            plot.scroll_into_view_if_needed()
        self.page.wait_for_function("() => [...document.querySelectorAll('.plot')].every((plot) => plot.dataset.drawn)")


@pytest.fixture(scope="session")
def specimen() -> ModuleType:
    """The builders of hand-made runs, shared with the tests of `dashboards`."""
    source = Path(__file__).parent.parent / "dashboards" / "specimen.py"
    spec = importlib.util.spec_from_file_location("specimen", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def crowded(specimen: ModuleType) -> RunSummary:
    """A run under way that has much of everything: loads, arms with long names, settings, losses and gaps.

    Two suites at one, four and sixteen turns at once; six arms, whose options tell three of them apart; twenty settings
    that speculation changed, some of them long; an arm that lost its engine, one left out, a category without a number.
    """
    drafters = {
        "ngram D=3": ("ngram", 3),
        "eagle3 D=3 (head=org/eagle3-instruct-head, layers=[2, 16, 29])": ("eagle3", 3),
        "eagle3 D=3 (head=org/eagle3-instruct-head, layers=[8, 16, 24])": ("eagle3", 3),
        "eagle3 D=7 (head=org/eagle3-instruct-head, layers=[2, 16, 29])": ("eagle3", 7),
        "mtp D=2": ("mtp", 2),
        "suffix D=16": ("suffix", 16),
    }
    settings = {f"scheduler.setting_number_{i}": (i, i + 1) for i in range(19)}
    settings["compilation.cudagraph_capture_sizes"] = (list(range(0, 512, 8)), list(range(0, 512, 4)))
    cells, lost, resolved = [], {}, {}
    for suite in ("coding", "summarization"):
        for load in (1, 4, 16):
            group = {"group": f"{suite} at {load}", "suite": suite, "concurrency": load}
            cells.append(specimen.baseline(**group, cell_id=f"{suite}/none/{load}"))
            for place, (arm, (drafter, length)) in enumerate(drafters.items()):
                gain = 1.9 - 0.1 * place - 0.05 * load
                metrics = specimen.gain(gain, gain - 0.1, gain + 0.1, al=2 + 0.1 * place, step_cost_ratio=1.6)
                metrics |= {"step_time": specimen.value(0.016, unit="s"), "tpot": specimen.value(0.008, unit="s")}
                metrics |= {f"conditional_acceptance[{k}]": specimen.value(0.9**k) for k in range(1, length + 1)}
                same = {"arm": arm, "changed": settings, **group, "cell_id": f"{suite}/{arm}/{load}"}
                if drafter == "mtp":
                    same |= {"status": "partial", "status_text": "partial 3/24; killed", "turns_ok": 3}
                    lost[same["cell_id"]] = "the engine was killed (SIGKILL); its last words: CUDA out of memory"
                if drafter == "suffix":
                    metrics, same = {}, same | {"status": "left out", "status_text": "no C++ compiler", "changed": {}}
                cells.append(specimen.cell(drafter, length, metrics=metrics, **same))
                for part in ("edit", "write", "explain") if metrics else ():
                    bare = part == "explain"
                    own = specimen.gain(None) if bare else metrics
                    cells.append(specimen.cell(drafter, length, metrics=own, category=f"all/{part}", **same))
    for one in cells:
        resolved[one.cell_id] = {f"engine.setting_{i}": i for i in range(250)} | {"drafter": one.drafter}
    return specimen.run(*cells, status="running", lost=lost, resolved=resolved)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of a module; it must not outlive them, since its event loop would block others."""
    found = [path for path in map(shutil.which, BROWSERS) if path]
    if not found:
        pytest.fail("the browser tests need Chromium; on Debian or Ubuntu: sudo apt-get install -y chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=ARGUMENTS)
        yield browser
        browser.close()


def _opening(browser: Browser, folders: pytest.TempPathFactory) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def opened(summary: RunSummary, *, width: int = 1280, scheme: str = "light", scripts: bool = True) -> Opened:
        path = write_site(summary, folders.mktemp("site"))
        context = browser.new_context(
            offline=True, viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        found = Opened(context.new_page(), path)
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


@pytest.fixture
def open_page(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Opened]]:
    """Write a run's page and open it from its file, offline."""
    yield from _opening(chromium, tmp_path_factory)


@pytest.fixture(scope="module")
def keep_open(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Opened]]:
    """As `open_page`, for a page that several tests only look at."""
    yield from _opening(chromium, tmp_path_factory)
