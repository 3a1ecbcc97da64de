"""Rows and texts from a hub on loopback; the real one was not tried.

The hub's libraries read their settings once, when they are imported, so each call is a program of its own.
"""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("datasets")

REVISION = "487aa718444e816458d1a0a52bfce7a454285cf4"
CANARY = "hf_canaryCANARYcanary"
CARD = """---
license: other
license_name: made-licence
configs:
- config_name: qualitative
  data_files:
  - split: test
    path: qualitative/test-*.parquet
---
"""


def offer(hub: Any, rows: list[dict[str, Any]], name: str = "nvidia/SPEED-Bench") -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    hub.files[name] = {"README.md": CARD.encode(), "qualitative/test-00000-of-00001.parquet": buffer.getvalue()}


def fetch(endpoint: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `draftmark suites fetch speed-bench` with everything it keeps in `folder`; nothing outside loopback."""
    ours = {
        "HF_ENDPOINT": endpoint, "HF_HOME": str(folder / "hf"), "DRAFTMARK_CACHE": str(folder / "cache"),
        "HF_TOKEN": CANARY, "NO_PROXY": "*", "no_proxy": "*", **environment,
    }  # fmt: skip
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING", "DRAFTMARK_"))}
    return subprocess.run(
        [sys.executable, "-c", "from draftmark.bench.cli import main; main()", "suites", *arguments],
        env=kept | ours, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


ACCEPT = ("fetch", "speed-bench", "--accept-licence", "nvidia/SPEED-Bench")


def test_rows_come_from_the_hub_at_the_pinned_revision_and_once(
    hub: Any, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    offer(hub, rows)
    said = fetch(hub.address, tmp_path, *ACCEPT)
    assert said.returncode == 0, said.stderr
    assert "nvidia/SPEED-Bench: licence NVIDIA Evaluation Dataset License" in said.stdout
    assert any(f"/{REVISION}" in path for path in hub.asked)
    hub.asked.clear()
    shown = fetch(hub.address, tmp_path, "show", "speed-bench/qualitative", "--limit", "11")
    assert shown.stdout.startswith("speed-bench/qualitative: 11 prompts")
    assert f"source: nvidia/SPEED-Bench at {REVISION[:12]}" in shown.stdout
    assert not hub.asked


def test_without_an_accepted_licence_nothing_is_fetched(hub: Any, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    offer(hub, rows)
    said = fetch(hub.address, tmp_path, "fetch", "speed-bench")
    assert said.returncode == 2
    assert "the licence of nvidia/SPEED-Bench was not accepted" in said.stderr
    assert "--accept-licence nvidia/SPEED-Bench" in said.stderr
    assert not hub.asked


def refusals() -> list[Any]:
    gated = ["is gated", "accept the terms", "HF_TOKEN", "no other data was taken"]
    return [
        pytest.param((401, "GatedRepo"), gated, id="gated, 401"),
        pytest.param((403, "GatedRepo"), gated, id="gated, 403"),
        pytest.param((404, "RepoNotFound"), ["there is no dataset nvidia/SPEED-Bench on the hub"], id="404"),
        pytest.param((401, ""), ["the hub refused the token"], id="401"),
        pytest.param((429, ""), ["allows no more requests for now (429)"], id="429"),
        pytest.param((503, ""), ["the hub answered 503"], id="503"),
    ]


@pytest.mark.parametrize(("refusal", "says"), refusals())
def test_each_refusal_of_the_hub_has_its_own_sentence(
    hub: Any, tmp_path: Path, refusal: tuple[int, str], says: list[str]
) -> None:
    hub.refusals["nvidia/SPEED-Bench"] = refusal
    said = fetch(hub.address, tmp_path, *ACCEPT)
    assert said.returncode == 2, said.stderr
    for words in says:
        assert words in said.stderr
    assert CANARY not in said.stderr + said.stdout
    assert ("is gated" in said.stderr) == (refusal[1] == "GatedRepo")
    assert not list((tmp_path / "cache").rglob("*.jsonl"))


def test_a_revision_that_the_dataset_lacks_is_named(hub: Any, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    offer(hub, rows)
    said = fetch(hub.address, tmp_path, *ACCEPT, "--revision", "0" * 40)
    assert said.returncode == 2
    assert f"has no revision {'0' * 40}" in said.stderr


@pytest.mark.parametrize("offline", ["", "1"])
def test_no_network_is_told_from_gated_and_missing(tmp_path: Path, offline: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    said = fetch(nobody, tmp_path, *ACCEPT, HF_HUB_OFFLINE=offline)
    assert said.returncode == 2, said.stderr
    assert "the hub could not be reached" in said.stderr
    assert "gated" not in said.stderr
    assert CANARY not in said.stderr


def test_a_gated_source_leaves_its_rows_unresolved_and_the_rest_ready(
    hub: Any, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    stand_in = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"
    place = next(n for n, row in enumerate(rows) if row["question_id"] == "math-79")
    rows[place] |= {"turns": [stand_in], "source": "https://huggingface.co/datasets/cais/hle", "src_id": "h1"}
    offer(hub, rows)
    hub.refusals["cais/hle"] = (403, "GatedRepo")
    said = fetch(hub.address, tmp_path, *ACCEPT, "--accept-licence", "cais/hle")
    assert said.returncode == 2
    assert "cais/hle: the dataset cais/hle is gated" in said.stderr
    assert "https://huggingface.co/datasets/cais/hle" in said.stderr
    refused = fetch(hub.address, tmp_path, "show", "speed-bench/qualitative")
    assert "1 of 880 rows are stand-ins" in refused.stderr
    assert "math-79" in refused.stderr
