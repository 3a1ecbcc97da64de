from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.loaders.speed_bench import SpeedBenchSpec, cache
from draftmark.suites.loaders.speed_bench.fetching import Acceptance, fetch_split, lengths
from draftmark.suites.loaders.speed_bench.splits import REVISION, SPLITS
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

STAND_IN = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"
DIALOGUES = "https://raw.githubusercontent.com/mtbench101/mt-bench-101/abc/data/made.jsonl"
SPLIT = SPLITS["qualitative"]
ACCEPTED = ("nvidia/SPEED-Bench", "mtbench101/mt-bench-101")


class Supply:
    """Dialogues alone; counts how often they were asked for. A token is a character."""

    def __init__(self, dialogues: int = 1) -> None:
        self.asked = 0
        self.dialogues = [{"history": [{"user": f"Made question {n}?"}]} for n in range(dialogues)]

    def json_rows(self, address: str) -> Iterable[Mapping[str, Any]]:
        assert address == DIALOGUES
        self.asked += 1
        return self.dialogues

    def hub_rows(self, *_: Any) -> Sequence[Mapping[str, Any]]:
        raise SuiteError("the dataset is gated")

    json_table: Any = hub_rows
    wording: Any = hub_rows

    def encoder(self) -> Any:
        class Characters:
            def encode(self, text: str, **_: Any) -> list[int]:
                return list(range(len(text)))

        return Characters()


def publish(rows: list[dict[str, Any]], *stand_ins: tuple[str, str]) -> None:
    """Put rows into the cache as the hub gives them; the last of qa are stand-ins of (source, src_id)."""
    places = [n for n, row in enumerate(rows) if row["category"] == "qa"][-len(stand_ins) :] if stand_ins else []
    for place, (source, src_id) in zip(places, stand_ins, strict=True):
        rows[place] |= {"turns": [STAND_IN], "source": source, "src_id": src_id}
    cache.write_rows(cache.published(SPLIT, REVISION), rows)


def fetch(supply: Supply, said: list[str], *accepted: str) -> Path:
    return fetch_split(SPLIT, None, Acceptance(accepted, None, said.append), said.append, supply)


@pytest.mark.usefixtures("cache")
def test_texts_are_resolved_once_and_the_licence_is_shown_once(rows: list[dict[str, Any]]) -> None:
    publish(rows, (DIALOGUES, "CM_0"))
    supply, said = Supply(), list[str]()
    fetch(supply, said, *ACCEPTED)
    assert "mtbench101/mt-bench-101: licence Apache-2.0, https://github.com/mtbench101/mt-bench-101" in said
    suite = SpeedBenchSpec(split="qualitative").load(None)
    assert [p.turns for p in suite.prompts if p.question_id == "qa-79"] == [("Made question 0?",)]
    assert len(suite.prompts) == 880
    again = list[str]()
    fetch(supply, again)
    assert supply.asked == 1
    assert not [line for line in again if "licence" in line]
    assert SpeedBenchSpec(split="qualitative").load(None).hash == suite.hash


def test_what_was_accepted_is_recorded(rows: list[dict[str, Any]], cache: Path) -> None:
    publish(rows, (DIALOGUES, "CM_0"))
    fetch(Supply(), [], *ACCEPTED)
    kept = json.loads((cache / "licences.json").read_text())
    assert set(kept) == set(ACCEPTED)
    assert kept["mtbench101/mt-bench-101"]["licence"] == "Apache-2.0"


@pytest.mark.usefixtures("cache")
def test_a_licence_that_is_not_accepted_leaves_its_rows(rows: list[dict[str, Any]]) -> None:
    publish(rows, (DIALOGUES, "CM_0"))
    supply = Supply()
    with pytest.raises(SuiteError, match="licence of mtbench101/mt-bench-101 was not accepted"):
        fetch(supply, [], ACCEPTED[0])
    assert supply.asked == 0
    with pytest.raises(SuiteError, match="is no source"):
        Acceptance(["nvidia/speed"], None, print)


@pytest.mark.usefixtures("cache")
def test_rows_that_cannot_be_resolved_are_named_and_the_rest_is_kept(rows: list[dict[str, Any]]) -> None:
    publish(rows, ("https://example.org/x", "x_1"), (DIALOGUES, "CM_7"), (DIALOGUES, "odd"), (DIALOGUES, "CM_0"))
    with pytest.raises(SuiteError) as caught:
        fetch(Supply(), [], *ACCEPTED)
    text = str(caught.value)
    assert 'rows name a source that is not known: "qa-76"' in text
    assert "2 rows could not be resolved: qa-77 (src_id 'CM_7'" in text
    assert "qa-78 (src_id 'odd'" in text
    assert "qa-79" not in text
    assert "run again for the rest" in text
    with pytest.raises(SuiteError, match="qa-76"):
        SpeedBenchSpec(split="qualitative").load(None)
    assert len(SpeedBenchSpec(split="qualitative", category=("rag",)).load(None).prompts) == 80


def test_lengths_are_told_with_the_published_one() -> None:
    supply = Supply()
    rows = [{"turns": ["x" * 990]}, {"turns": ["x" * 1000]}]
    said = lengths(SPLITS["throughput-1k"], rows, supply)
    assert said == "throughput-1k: turns have 990 to 1,000 tokens of o200k_base; published: 1,000"
    assert lengths(SPLIT, rows, supply) is None
