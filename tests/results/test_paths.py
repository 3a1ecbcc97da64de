"""Local paths in texts: what is one, what is none, and what is shown of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.results.paths import is_local_path, local_paths, path_ends, shortener

SHOWN = {
    "/home/ann/models/tiny": "tiny",
    "/home/ann lee/my models/tiny": "tiny",
    "~/models/tiny": "tiny",
    "cannot read /srv/models/tiny/config.json.": "cannot read config.json.",
    "File '/usr/lib/python3/site.py', line 3": "File 'site.py', line 3",
    "/opt/a/lib:/opt/b/lib64": "lib:lib64",
    "file:///home/ann/page.html": "file://page.html",
    "/home/ann": "~",
    "/home/ann/": "~",
    "in /home/ann, as said": "in ~, as said",
}


@pytest.mark.parametrize("text", SHOWN)
def test_of_a_local_path_only_its_end_is_shown(text: str) -> None:
    assert shortener([text])(text) == SHOWN[text]


@pytest.mark.parametrize(
    "text",
    [
        "org/name",
        "12 tokens/s",
        "and/or",
        "https://host:8000/v1/chat/completions",
        "http://127.0.0.1/metrics/all",
        "POST /v1/chat/completions failed",
        "/v1/models",
        "/metrics",
        "tests/data/tiny",
        "./here/and/there",
        "",
    ],
)
def test_what_is_no_local_path_stays(text: str) -> None:
    assert local_paths(text) == []
    assert shortener([text])(text) == text


def test_paths_that_end_alike_are_told_apart() -> None:
    assert path_ends(["/a/old/head", "/a/new/head", "/b/x/other"]) == {
        "/a/old/head": "old/head",
        "/a/new/head": "new/head",
        "/b/x/other": "other",
    }
    assert path_ends(["/a/m/head", "/b/m/head"]) == {"/a/m/head": "m/head", "/b/m/head": "m/head #2"}


def test_a_known_path_with_spaces_is_found_inside_other_texts() -> None:
    path = "/home/ann lee/models/tiny"
    assert shortener([path, f"no file {path}"])(f"no file {path}") == "no file tiny"


PARTS = st.text("ab", min_size=1, max_size=2)


@given(st.sets(st.lists(PARTS, min_size=2, max_size=4).map(lambda parts: "/" + "/".join(parts)), max_size=6))
def test_no_two_paths_look_alike(paths: set[str]) -> None:
    assert all(is_local_path(path) for path in paths)
    assert len(set(path_ends(sorted(paths)).values())) == len(paths)
