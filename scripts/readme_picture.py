"""Make the README's picture: the first screen of a run's page, as a PNG. Usage: readme_picture.py RUN [PNG]."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from draftmark.dashboards.site import write_site
from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise

PICTURE = Path("docs/images/page.png")
WIDTH, HEIGHT = 1280, 912
LARGEST = 300 * 1024


def take(page: Path, picture: Path) -> None:
    """Write the top of a page as a PNG of at most `LARGEST` bytes, in light colours and with its charts drawn."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        sys.exit("the picture needs Chromium; on Debian or Ubuntu: sudo apt-get install -y chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        view.goto(page.resolve().as_uri())
        view.wait_for_function("() => document.querySelector('#speedup .plot')?.dataset.drawn ?? true")
        picture.parent.mkdir(parents=True, exist_ok=True)
        view.screenshot(path=picture)
        browser.close()
    if picture.stat().st_size > LARGEST:
        sys.exit(f"{picture} has {picture.stat().st_size:,} bytes, more than {LARGEST:,}; lower HEIGHT")


def main() -> None:
    """Write the run's page aside and take its picture."""
    if len(sys.argv) not in {2, 3}:
        sys.exit("usage: readme_picture.py RUN [PNG]")
    picture = Path(sys.argv[2]) if len(sys.argv) == 3 else PICTURE
    with tempfile.TemporaryDirectory() as folder:
        take(write_site(summarise(RunStore.read(Path(sys.argv[1]))), Path(folder)), picture)
    sys.stdout.write(f"{picture}\n")


if __name__ == "__main__":
    main()
