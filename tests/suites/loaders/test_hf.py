"""Datasets by name, from the library `datasets` as it is and from a hub on loopback; the real hub was not tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from draftmark.suites.loaders.gsm8k import Gsm8kSpec
from draftmark.suites.loaders.tables import HfSpec
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

datasets = pytest.importorskip("datasets")

ROWS = [{"question": f"What is {n}?", "id": n, "subject": "sums" if n % 2 else None} for n in range(6)]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Put rows, or a fault, in place of what the library would fetch; returns what it was asked for."""

    def put(rows: list[dict[str, Any]] | Exception) -> list[Any]:
        asked: list[Any] = []

        def load(dataset: str, config: str | None, *, split: str, revision: str | None) -> Any:
            asked.append((dataset, config, split, revision))
            if isinstance(rows, Exception):
                raise rows
            return datasets.Dataset.from_list(rows)

        monkeypatch.setattr(datasets, "load_dataset", load)
        return asked

    return put


def test_a_dataset_is_read_by_the_plans_columns_at_the_plans_revision(offer: Callable[..., list[Any]]) -> None:
    asked = offer(ROWS)
    columns: Any = {"turns": "question", "question_id": "id", "category": "subject"}
    suite = HfSpec(dataset="mine/sums", config="easy", split="test", revision="abc123", columns=columns).load(None)
    assert asked == [("mine/sums", "easy", "test", "abc123")]
    assert [(p.question_id, p.category) for p in suite.prompts][:2] == [("0", None), ("1", "sums")]
    assert (suite.name, suite.source) == ("sums", "mine/sums, easy, test, at abc123")


def test_a_limit_fetches_the_chosen_rows(offer: Callable[..., list[Any]]) -> None:
    offer(ROWS)
    columns: Any = {"turns": "question", "question_id": "id"}
    whole = HfSpec(dataset="mine/sums", split="test", columns=columns).load(None)
    part = HfSpec(dataset="mine/sums", split="test", columns=columns, limit=3).load(None)
    assert len(part.prompts) == 3
    assert set(part.prompts) < set(whole.prompts)


def test_a_set_that_heads_were_trained_on_is_marked(offer: Callable[..., list[Any]]) -> None:
    offer([{"id": 1, "prompt": "a"}])
    assert HfSpec(dataset="HuggingFaceH4/ultrachat_200k", split="test_sft").load(None).caution is not None
    assert HfSpec(dataset="mine/sums", split="test").load(None).caution is None


def test_classics_ask_for_their_published_split(offer: Callable[..., list[Any]]) -> None:
    asked = offer([{"question": "a", "answer": "b"}])
    assert Gsm8kSpec(revision="abc").load(None).source == "openai/gsm8k, main, test, at abc"
    assert asked == [("openai/gsm8k", "main", "test", "abc")]


def test_a_split_that_is_not_there_is_named(offer: Callable[..., list[Any]]) -> None:
    offer(ValueError("Unknown split \"tset\". Should be one of ['train']."))
    with pytest.raises(SuiteError, match="the dataset mine/sums has no split 'tset'; its page names them"):
        HfSpec(dataset="mine/sums", split="tset").load(None)


@pytest.mark.parametrize("dataset", ["https://huggingface.co/x", "a/b/c", ""])
def test_a_dataset_is_a_name_and_no_address(dataset: str) -> None:
    with pytest.raises(ValidationError):
        HfSpec(dataset=dataset, split="test")


def loaded(hub: Any, folder: Path, **entry: Any) -> subprocess.CompletedProcess[str]:
    """Load the suite in a program of its own, since the hub's libraries read their settings when imported."""
    program = (
        "import json, sys; from draftmark.suites.loaders.tables import HfSpec;"
        "from draftmark.suites.prompt import SuiteError\n"
        "try: print(*(p.question_id for p in HfSpec(**json.loads(sys.argv[1])).load(None).prompts))\n"
        "except SuiteError as fault: print(fault)"
    )
    ours = {"HF_ENDPOINT": hub.address, "HF_HOME": str(folder), "HF_TOKEN": "hf_canary", "NO_PROXY": "*"}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
    return subprocess.run(
        [sys.executable, "-c", program, json.dumps(entry)],
        env=kept | ours, capture_output=True, text=True, timeout=120, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_dataset_comes_from_a_hub_and_a_split_that_it_lacks_is_named(hub: Any, tmp_path: Path) -> None:
    rows = "".join(json.dumps({"id": n, "prompt": f"text {n}"}) + "\n" for n in (7, 8))
    hub.files["mine/texts"] = {"test.jsonl": rows.encode()}
    assert loaded(hub, tmp_path, dataset="mine/texts", split="test").stdout.split() == ["7", "8"]
    said = loaded(hub, tmp_path, dataset="mine/texts", split="dev").stdout
    assert said.startswith("the dataset mine/texts has no split 'dev'")


def test_a_gated_dataset_is_told_as_gated_without_the_token(hub: Any, tmp_path: Path) -> None:
    hub.refusals["mine/gated"] = (403, "GatedRepo")
    said = loaded(hub, tmp_path, dataset="mine/gated", split="test").stdout
    assert "mine/gated is gated" in said
    assert "HF_TOKEN" in said
    assert "hf_canary" not in said
