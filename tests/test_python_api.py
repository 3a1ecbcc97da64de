"""The examples of `docs/python-api.md` run as they stand, and give the numbers that the run is known to have.

The run is the plug-in's (`test_plugin.py`): three prompts, `none` in 9 steps of 0.1 s, `mimic` in 3 steps of 0.12 s.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "python-api.md"


@pytest.fixture(scope="module")
def names(parrot_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page's examples leave behind, run one after the other where `runs/demo` is that run."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(parrot_run, home / "runs" / "demo")
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
            exec(compile(example, str(PAGE), "exec"), found)  # noqa: S102 - the page's own examples
    return found


def test_the_table_compares_the_arms(names: dict[str, Any]) -> None:
    row = names["table"].loc[("sayings", "mimic D=3")]
    assert row.to_dict() == pytest.approx({"acceptance_length": 3, "draft_overhead": 0.2, "speedup": 2.5})


def test_speed_ups_have_their_notes_and_missing_numbers_their_reasons(names: dict[str, Any]) -> None:
    mine = names["speedups"].query("arm == 'mimic D=3' and category.isna()")
    assert mine["value"].tolist() == pytest.approx([2.5])
    assert "no interval: 3 conversations" in mine["note"].item()
    assert len(names["missing"]) > 0
    assert names["missing"]["reason"].notna().all()


def test_steps_join_their_arms(names: dict[str, Any]) -> None:
    assert names["early_and_late"].to_dict("index") == {
        "mimic D=3": {"first two steps": 3, "later": 3},
        "none": {"first two steps": 1, "later": 1},
        "none (control)": {"first two steps": 1, "later": 1},
    }


def test_stamps_of_a_turn_subtract(names: dict[str, Any]) -> None:
    assert names["waiting"].tolist() == pytest.approx([0.5] * 3)


def test_a_sound_run_leaves_no_doubts(names: dict[str, Any]) -> None:
    assert names["doubts"] == []


def test_the_page_names_every_frame_that_a_run_gives(names: dict[str, Any]) -> None:
    offered = {name for name in dir(names["run"]) if not name.startswith("_")} - {"path"}
    assert offered == set(re.findall(r"`run\.(\w+)\(\)`", PAGE.read_text(encoding="utf-8")))
