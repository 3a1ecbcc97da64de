"""Writing the page: complete in itself, whole or not at all, and hostile names stay text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.documents import DocumentWriteError, embedded_json
from draftmark.dashboards.site import render, write_site

if TYPE_CHECKING:
    from types import ModuleType


HOSTILE = "</script><script>window.__pwned=1</script>"


class Elements(HTMLParser):
    """Collects start tags with their attributes, and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.scripts = [], []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append([dict(attrs), ""])

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and self.scripts and self.cdata_elem == "script":
            self.scripts[-1][1] += data


def parsed(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    return elements


@pytest.fixture(scope="module")
def page(specimen: ModuleType) -> str:
    return render(specimen.demo(), command="draftmark run demo.yaml --out runs/demo")


def test_the_page_answers_first_and_names_the_command(page: str) -> None:
    assert page.index("What pays here") < page.index("Can it be trusted") < page.index("Every arm")
    assert "ngram D=8 is 1.32x the speed of no speculation [1.10, 1.58]" in page
    assert "draftmark run demo.yaml --out runs/demo" in page


def test_the_guide_to_the_page_follows_its_headings(page: str) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "reading-a-page.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\d+\. \*\*(.+?)\*\*", guide, flags=re.MULTILINE)
    assert explained == [unescape(heading) for heading in re.findall(r"<h2[^>]*>(.*?)</h2>", page)]


def test_without_a_command_the_page_points_to_the_plan_it_holds(specimen: ModuleType) -> None:
    page = render(specimen.run(specimen.baseline(), plan={"name": "mine", "target": "smollm2-135m"}))
    assert "draftmark run PLAN.yaml" in page
    assert "&#34;name&#34;: &#34;mine&#34;" in page


def test_no_local_path_reaches_the_page_and_it_says_that_the_plan_was_cut(specimen: ModuleType) -> None:
    model = "/home/ann/models/smollm2-135m"
    plan = {"target": model, "drafters": [{"kind": "eagle3", "model": "/data/ann/heads/eagle-tiny"}]}
    cells = [specimen.baseline(target=model), specimen.cell("eagle3", 3, arm="eagle3 D=3", target=model)]
    failed = {"cell_id": cells[1].cell_id, "kind": "engine-error", "message": f"cannot read {model}/config.json."}
    lost = {cells[1].cell_id: "File '/home/ann/.venv/lib/vllm/engine.py', line 3"}
    page = render(specimen.run(*cells, plan=plan, failures=[failed], lost=lost))
    assert "ann" not in re.findall(r"[a-z]+", page.partition("<main")[2].partition("</main>")[0])
    assert "&#34;target&#34;: &#34;smollm2-135m&#34;" in page
    assert "&#34;model&#34;: &#34;eagle-tiny&#34;" in page
    assert "cannot read config.json." in page
    assert "put your own in their place" in page
    assert "put your own in their place" not in render(specimen.run(specimen.baseline()))


def test_the_plan_can_be_copied_and_the_words_of_the_page_are_explained(page: str) -> None:
    tags = parsed(page).tags
    copied = [at["data-copy"] for tag, at in tags if tag == "button" and "data-copy" in at]
    assert copied == ["command", "plan-text"]
    assert {at.get("id") for tag, at in tags if tag in {"code", "pre"}} >= set(copied)
    hints = [at["title"] for tag, at in tags if tag == "abbr"]
    assert "One drafter with one D and its options: what is compared with no speculation." in hints
    assert "tokens that step i added to the answer" in page


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    elements = parsed(page)
    loading = [(tag, at) for tag, at in elements.tags for name in ("src", "href", "srcset", "data") if at.get(name)]
    assert all(at["href"].startswith(("#", "data:")) for _, at in loading)
    assert not [tag for tag, _ in elements.tags if tag in {"iframe", "object", "embed", "base", "img"}]


def test_the_policy_allows_exactly_the_pages_own_scripts(page: str) -> None:
    elements = parsed(page)
    policy = next(at["content"] for tag, at in elements.tags if at.get("http-equiv") == "Content-Security-Policy")
    run = [text for at, text in elements.scripts if at.get("type") != "application/json"]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy


def test_plotly_is_inside_once(page: str) -> None:
    assert page.count("* plotly.js v") == 1


def test_embedded_json_is_strict_and_cannot_end_its_element() -> None:
    value = {"name": "</SCRIPT ><!-- &", "gap": None}
    text = str(embedded_json(value))
    assert not set("<>&") & set(text)
    assert "\\u003c/SCRIPT \\u003e\\u003c!--" in text
    assert json.loads(text) == value


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_embedded_json_refuses_what_json_has_no_word_for(broken: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded_json([broken])


def test_hostile_names_add_no_element_to_the_page(specimen: ModuleType) -> None:
    def skeleton(name: str) -> list[str]:
        arm = specimen.cell(name, 3, arm=name, suite=name, category=None, metrics=specimen.gain(1.3, 1.1, 1.5))
        elements = parsed(render(specimen.run(arm, name=name, plan={"name": name}), command=name))
        return [tag for tag, _ in elements.tags]

    assert skeleton(HOSTILE) == skeleton("harmless")


CONTROLS = "esc\x1b]0;t\x07 c1\x9b bidi\u202eoverride zero\u200bwidth feed\x0c line\u2028 private\ue000 x"


def test_control_characters_of_names_are_spelt_out_wherever_they_stand(specimen: ModuleType) -> None:
    arm = specimen.cell("x", 3, arm=CONTROLS, suite=CONTROLS, metrics=specimen.gain(1.3, 1.1, 1.5, note=CONTROLS))
    run = specimen.run(specimen.baseline(suite=CONTROLS), arm, name=CONTROLS, plan={"name": CONTROLS})
    page = render(run, command=CONTROLS)
    own = render(specimen.run(specimen.baseline(suite="x"), name="x", plan={"name": "x"}))
    for sign in "\x1b\x07\x9b\u202e\u200b\x0c\u2028\ue000":
        assert page.count(sign) == own.count(sign)
    assert "<h1>esc\\x1b]0;t\\x07 c1\\x9b bidi\\u202eoverride" in page
    charts = [json.loads(text) for at, text in parsed(page).scripts if at.get("type") == "application/json"]
    assert charts
    drawn = json.dumps(charts, ensure_ascii=False)
    assert "esc\\\\x1b]0;t" in drawn
    assert "\\u001b" not in drawn


def test_line_breaks_stay_and_our_own_markup_is_left_alone(page: str) -> None:
    plan = page[page.index("<pre") : page.index("</pre>")]
    assert "\n" in plan
    assert "\\x0a" not in page


def test_embedded_texts_are_harmless_at_every_depth() -> None:
    value = {"a\x1b": [{"b": ("c\x07", 1, None, 1.5)}]}
    assert json.loads(str(embedded_json(value))) == {"a\\x1b": [{"b": ["c\\x07", 1, None, 1.5]}]}


def test_writing_again_replaces_the_page_and_leaves_nothing_else(specimen: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "new" / "site"
    first = write_site(specimen.run(specimen.baseline(), name="first"), out)
    again = write_site(specimen.run(specimen.baseline(), name="second"), out)
    assert first == again == out / "index.html"
    assert "<h1>second</h1>" in again.read_text(encoding="utf-8")
    assert [path.name for path in out.iterdir()] == ["index.html"]


def test_a_folder_that_cannot_be_made_ends_with_a_sentence_and_exit_code_three(
    specimen: ModuleType, tmp_path: Path
) -> None:
    taken = tmp_path / "site"
    taken.write_text("a file")
    with pytest.raises(DocumentWriteError, match=r"cannot write .*site.* is a file, no folder; .*--out") as caught:
        write_site(specimen.run(specimen.baseline()), taken)
    assert caught.value.exit_code == 3
    assert taken.read_text() == "a file"


def test_a_failed_write_leaves_the_older_page_whole(
    specimen: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_site(specimen.run(specimen.baseline(), name="older"), tmp_path)
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DocumentWriteError, match="No space left on device"):
        write_site(specimen.run(specimen.baseline(), name="newer"), tmp_path)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_an_empty_run_still_makes_a_page_that_says_so(specimen: ModuleType) -> None:
    page = render(specimen.run(status="interrupted"))
    assert "Cannot tell: this run measured no arm." in page
    assert "status: interrupted" in page


def test_the_page_of_an_unfinished_run_opens_with_when_it_was_made(specimen: ModuleType) -> None:
    run = specimen.run(specimen.baseline(), status="running")
    page = render(run, made_at=datetime(2026, 11, 30, 3, 12, tzinfo=UTC))
    notice = page.index("when the page was made on 2026-11-30 03:12 UTC from 24 of 24 turns")
    assert page.index("<h1>") < notice < page.index("What pays here")
    assert 'class="notices"' not in render(specimen.run(specimen.baseline()))


def test_long_settings_are_folded_and_hostile_ones_stay_text(specimen: ModuleType) -> None:
    changed = {"scheduler.<b>policy</b>": ("short", HOSTILE * 10)}
    page = render(specimen.run(specimen.baseline(), specimen.cell("ngram", 3, changed=changed)))
    assert '<details class="long"><summary>&lt;/script&gt;' in page
    assert "scheduler.<wbr>&lt;b&gt;policy&lt;/b&gt;" in page
    assert HOSTILE not in page


def test_every_metric_is_defined_on_the_page(page: str) -> None:
    assert "AL = sum e_i / n over all decode steps" in page


def test_a_run_without_changes_failures_or_divergences_says_so(specimen: ModuleType) -> None:
    page = render(specimen.run(specimen.baseline()))
    assert "Nothing: every arm's other settings equal those without speculation." in page
    assert "None was found where answers were compared" in page
