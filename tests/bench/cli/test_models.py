"""`draftmark models` lists what can be fetched and shows what a model's files hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from draftmark.backends.base import BackendError
from draftmark.bench.cli.models import app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_list_tells_licence_size_state_and_place(cache: Path) -> None:
    (row,) = json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)
    assert row["alias"] == "smollm2-135m"
    assert row["licence"] == "Apache-2.0"
    assert row["parameters"] == 134_515_008
    assert (row["fetched"], row["folder"]) == (False, str(cache / "models" / "smollm2-135m"))
    plain = CliRunner().invoke(app, ["list"]).stdout
    assert all(word in plain for word in ("smollm2-135m", "Apache-2.0", "541 MB", "not fetched"))


def test_show_gives_what_the_manifest_will_hold(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text('{"vocab_size": 7}')
    said = json.loads(CliRunner().invoke(app, ["show", str(folder), "--json"]).stdout)
    assert said["where"] == str(folder)
    assert said["vocabulary"] == 7
    assert said["parameters"] is None
    assert list(said["files"]) == ["config.json"]
    assert "unknown" in CliRunner().invoke(app, ["show", str(folder)]).stdout


def test_fetching_something_unknown_is_the_users_error() -> None:
    result = CliRunner().invoke(app, ["fetch", "no-such-alias"])
    assert isinstance(result.exception, BackendError)


def test_a_file_to_fetch_from_must_exist(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["fetch", "smollm2-135m", "--from", str(tmp_path / "none.whl")])
    assert result.exit_code == 2
