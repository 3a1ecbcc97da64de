"""What of a run others see: no local path, and arms that stay apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.sharing import without_local_paths

if TYPE_CHECKING:
    from types import ModuleType


def test_paths_are_cut_wherever_they_stand_and_everything_else_stays(specimen: ModuleType) -> None:
    cell = specimen.cell(
        "eagle3",
        3,
        arm="eagle3 D=3 (head=/data/old/head)",
        cell_id="mine",
        changed={"cache.dir": ("/home/ann/.cache/vllm", ["/home/ann/.cache/hub", 3])},
        metrics={"speedup": specimen.value(None, reason="the engine read /home/ann/m/config.json and ended")},
    )
    other = specimen.cell("eagle3", 3, arm="eagle3 D=3 (head=/data/new/head)", cell_id="other")
    summary = specimen.run(cell, other, plan={"target": "org/name", "url": "http://host:80/v1/models", "n": [1, None]})
    found = without_local_paths(summary)
    assert [one.arm for one in found.cells] == ["eagle3 D=3 (head=old/head)", "eagle3 D=3 (head=new/head)"]
    assert found.cells[0].changed == {"cache.dir": ("vllm", ["hub", 3])}
    assert found.cells[0].metrics["speedup"].reason == "the engine read config.json and ended"
    assert found.manifest.plan == summary.manifest.plan
    assert found.cells[0].model_copy(update={"arm": "", "changed": {}, "metrics": {}}) == cell.model_copy(
        update={"arm": "", "changed": {}, "metrics": {}}
    )


def test_a_run_without_local_paths_is_the_same_run(specimen: ModuleType) -> None:
    summary = specimen.demo()
    assert without_local_paths(summary) is summary
