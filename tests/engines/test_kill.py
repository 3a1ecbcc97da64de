"""Twenty runs of the reference engine killed with SIGKILL at random moments and resumed: no turn is lost or doubled."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

pytestmark = pytest.mark.engines

KILLS = 20
TURNS = 180
WORDS = ["<unk>", *(f"w{index}" for index in range(63))]
TEMPLATE = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama of two layers and 64 words, with a chat template."""
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token=WORDS[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=WORDS[0])
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    return folder


@pytest.fixture
def plan(target: Path, tmp_path: Path) -> Path:
    """Three arms, 16 conversations of which four have two turns, three times: 180 turns."""
    draw = random.Random(5)
    rows = [
        {"question_id": f"q{number}", "turns": [_text(draw) for _ in range(2 if number % 4 == 0 else 1)]}
        for number in range(16)
    ]
    suite = tmp_path / "talk.jsonl"
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = tmp_path / "plan.yaml"
    entries = {
        "name": "killed",
        "target": str(target),
        "backends": [{"kind": "reference", "threads": 1}],
        "drafters": [{"kind": "none"}, {"kind": "ngram", "draft_length": 3}],
        "suites": [{"kind": "jsonl", "path": str(suite)}],
        "sampling": {"max_tokens": 24, "ignore_eos": True},
        "repeats": 3,
        "warmup": 0,
    }
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def _text(draw: random.Random) -> str:
    return " ".join(draw.choice(WORDS[1:]) for _ in range(12))


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., BaseProcess]:
    """Start a run in a process forked from one that has torch loaded already; the state file says what it does."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import killable

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "transformers", "draftmark.backends.reference.backend"])

    def begin(*arguments: object) -> BaseProcess:
        (tmp_path / "state").write_bytes(b"-")
        words = [str(tmp_path / "state"), str(tmp_path / "log"), *map(str, arguments)]
        process = context.Process(target=killable.run, args=words)
        process.start()
        return process

    return begin


def turns(folder: Path) -> dict[tuple[str, str, int, int], Any]:
    """Every measured turn by name, with what an unbroken run must equal; a doubled one would be an error of reading."""
    store = RunStore.read(folder)
    return {
        (turn.cell_id, turn.question_id, turn.turn_index, turn.repeat): (
            turn.status,
            turn.output_ids,
            turn.steps and turn.steps.delivered,
            turn.prompt_hash,
            turn.seed,
            turn.order,
        )
        for cell in store.manifest.cells
        for turn in store.turns(cell.cell_id)
    }


def lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("cells/*/turns.jsonl"))


def at_work(state: Path, folder: Path, turns_there: int) -> bool:
    return state.read_bytes() == b"t" and lines(folder) >= turns_there


def wait_for(process: BaseProcess, ready: Callable[[], bool]) -> None:
    while not ready():
        assert process.is_alive(), "the run ended before it was killed"
        time.sleep(0.001)


@pytest.mark.timeout(900)
def test_twenty_killed_runs_end_with_the_turns_of_an_unbroken_one(
    plan: Path, start: Callable[..., BaseProcess], tmp_path: Path
) -> None:
    unbroken = start(plan, "--out", tmp_path / "unbroken", "--quiet")
    unbroken.join(600)
    assert unbroken.exitcode == 0, (tmp_path / "log").read_text()
    expected = turns(tmp_path / "unbroken")
    assert len(expected) == TURNS

    folder, draw = tmp_path / "broken", random.Random(7)
    state, doing = tmp_path / "state", Counter[bytes]()
    kept: dict[tuple[str, str, int, int], Any] = {}
    for number in range(KILLS):
        process = start(plan, "--out", folder, "--quiet")
        # Every fifth kill falls into the start of a session, the others into its work, after up to two turns of it.
        begun = lines(folder) + draw.randint(0, 2)
        if number % 5 == 4:
            wait_for(process, lambda: state.read_bytes() != b"-")
            time.sleep(draw.uniform(0, 0.3))
        else:
            wait_for(process, partial(at_work, state, folder, begun))
            time.sleep(draw.uniform(0, 0.1))
        process.kill()
        process.join(60)
        assert process.exitcode == -9, "the run ended before it was killed"
        doing[state.read_bytes()] += 1
        now = turns(folder) if (folder / "manifest.json").exists() else {}
        assert kept.items() <= now.items()
        kept = now
    assert doing[b"t"] + doing[b"w"] >= KILLS / 2, doing
    assert KILLS / 2 <= len(kept) < TURNS

    last = start(plan, "--out", folder, "--quiet")
    last.join(600)
    assert last.exitcode == 0, (tmp_path / "log").read_text()
    assert turns(folder) == expected
    assert RunStore.read(folder).manifest.status == "complete"
