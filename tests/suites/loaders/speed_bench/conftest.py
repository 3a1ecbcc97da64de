"""Made splits in SPEED-Bench's schema: the published counts, texts of our own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUALITATIVE = (
    "coding", "humanities", "math", "multilingual", "qa", "rag", "reasoning", "roleplay", "stem", "summarization",
    "writing",
)  # fmt: skip


def qualitative_rows() -> list[dict[str, Any]]:
    """880 rows, 80 in each category, sorted by category. 167 of them have later turns: 258 of these, 1,138 in all.

    The first 41 rows of four categories have two turns (164), three rows of writing have five (12), and 82 of the
    two-turn rows have a third: 880 + 164 + 12 + 82 = 1,138.
    """
    rows = []
    third = 82
    for category in QUALITATIVE:
        for n in range(80):
            turns = [f"{category} question {n}: what follows from the number {n * n}?"]
            if category in {"coding", "math", "rag", "roleplay"} and n < 41:
                turns.append(f"And for {n + 1}?")
                if third:
                    turns.append("Say it shorter.")
                    third -= 1
            if category == "writing" and n < 3:
                turns += [f"Part {part}, please." for part in range(2, 6)]
            rows.append(
                {
                    "question_id": f"{category}-{n:02}",
                    "category": category,
                    "sub_category": f"{category}-{'ab'[n % 2]}",
                    "turns": turns,
                    "source": "made",
                    "src_id": f"made_{n}",
                    "difficulty": "hard" if category in {"coding", "humanities", "math", "stem"} else None,
                    "multiturn": len(turns) > 1,
                }
            )
    return rows


def throughput_rows() -> list[dict[str, Any]]:
    """1,536 rows, 512 in each entropy, sorted by it, one turn each."""
    common = {"sub_category": "made", "source": "made", "difficulty": None, "multiturn": False}
    return [
        {"question_id": f"{name}-{n}", "category": name, "turns": [f"{name} {n}"], "src_id": str(n), **common}
        for name in ("low_entropy", "mixed", "high_entropy")
        for n in range(512)
    ]


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return qualitative_rows()


@pytest.fixture
def throughput() -> list[dict[str, Any]]:
    return throughput_rows()


@pytest.fixture
def prepared(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as NVIDIA's preparer does: data/speed/<config>/test.parquet; returns data/speed."""

    def write(rows: list[dict[str, Any]], config: str = "qualitative") -> Path:
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = tmp_path / "data" / "speed" / config
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), folder / "test.parquet")
        return folder.parent

    return write


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as other preparers do: <config>.jsonl; returns the file."""

    def write(rows: list[Any], name: str = "qualitative.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
        return path

    return write


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put Draftmark's cache folder into the test's own."""
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "suites" / "speed-bench"
