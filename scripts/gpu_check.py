"""Check the reference engine on a device: the same tokens as on the CPU, and what steps of an 8B shape cost there.

1. A small real model answers the same prompts on the CPU and on the device, in float32: tokens and acceptance compared.
2. A model of an 8B shape with random weights, in bfloat16, answers with `none`, `ngram` and `draft-model` (the target
   less half of its layers): tokens per second, draft and verify time by device events, share of the memory bandwidth.

Both are ordinary run folders under OUT; a short table comes last. Random weights say nothing of acceptance.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

import draftmark
from draftmark.backends.models import locate
from draftmark.results.run_folder.store import RunStore

SHAPES: dict[str, dict[str, int]] = {
    "8b": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
    },
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 49152,
    },
}

PLAN = """\
name: {name}
target: {target}
backends: [{{kind: reference, device: {device}, dtype: {dtype}}}]
drafters:
  - {{kind: none}}
  - {{kind: ngram, draft_length: 3}}
  - {{kind: draft-model, model: {target}, drop_layers: {dropped}, draft_length: 3}}
suites: [{{kind: builtin, name: coding, limit: {limit}}}]
sampling: {{temperature: 0, max_tokens: {tokens}, seed: 0, ignore_eos: true}}
"""


def make_model(folder: Path, shape: str, device: str, tokenizer_of: str) -> None:
    """Write a Llama of random weights in bfloat16, with the small model's tokenizer and chat template."""
    place, arguments = locate(tokenizer_of).pretrained()
    torch.manual_seed(0)
    with torch.device(device):
        model = LlamaForCausalLM(
            LlamaConfig(**SHAPES[shape], max_position_embeddings=8192, dtype=torch.bfloat16)  # type: ignore[arg-type]
        ).to(torch.bfloat16)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(place, **arguments).save_pretrained(folder)


def run(out: Path, name: str, **values: Any) -> Any:
    """Run one plan as a user would, and open its folder."""
    plan = out / f"{name}.yaml"
    plan.write_text(PLAN.format(name=name, **values), encoding="utf-8")
    ended = subprocess.run([sys.executable, "-m", "draftmark", "run", str(plan), "--out", str(out / name)], check=False)
    if ended.returncode:
        raise SystemExit(f"gpu_check: the run {name} ended with exit code {ended.returncode}")
    return draftmark.load(out / name)


def answers(folder: Path) -> dict[tuple[str, str, int, int], list[int] | None]:
    """Return every answer's token ids, by arm, question, turn and repeat."""
    store = RunStore.read(folder)
    return {
        (cell.key.arm.label, turn.question_id, turn.turn_index, turn.repeat): turn.output_ids
        for cell in store.manifest.cells
        for turn in store.turns(cell.cell_id)
    }


def bandwidth(device: str, size: int) -> float:
    """Return the bytes per second with which the device reads a block of this many bytes, best of ten."""
    block = torch.ones(size // 4, device=device)
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        float(block.sum())
        best = min(best, time.perf_counter() - start)
    return size / best


def main() -> None:
    """Run both checks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--shape", default="8b", choices=sorted(SHAPES))
    parser.add_argument("--small", default="smollm2-135m", help="a real model, as a plan names it")
    parser.add_argument("--tokens", type=int, default=32)
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("gpu_check: torch sees no CUDA device; try DEVICE=cpu SHAPE=tiny to exercise the script")
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")

    small = {"target": given.small, "dtype": "float32", "dropped": [1], "limit": 2, "tokens": given.tokens}
    cpu = run(given.out, "small-cpu", device="cpu", **small)
    device = run(given.out, "small-device", device=given.device, **small)
    here, there = answers(given.out / "small-cpu"), answers(given.out / "small-device")
    same = sum(there[key] == ids for key, ids in here.items())

    shape = SHAPES[given.shape]
    model = given.out / "random-model"
    make_model(model, given.shape, given.device, given.small)
    half = list(range(1, shape["num_hidden_layers"], 2))
    large = run(
        given.out, "random-weights", target=str(model), device=given.device, dtype="bfloat16", dropped=half, limit=2,
        tokens=4 * given.tokens,
    )  # fmt: skip
    weights = sum(file.stat().st_size for file in model.glob("*.safetensors"))
    speed = bandwidth(given.device, min(weights, 2**32))

    print(f"\n{torch.cuda.get_device_name() if given.device == 'cuda' else 'CPU'}, torch {torch.__version__}")
    print(f"small model, float32: {same} of {len(here)} answers are the same tokens as on the CPU")
    for label, one in (("CPU", cpu), (given.device, device)):
        print(f"  AL on {label}: {_column(one, 'acceptance_length')}")
    print(f"random weights, shape {given.shape}, bfloat16, {weights / 1e9:.1f} GB; reading {speed / 1e9:.0f} GB/s")
    print(f"  {'arm':<18}{'tok/s':>8}{'draft ms':>10}{'verify ms':>11}{'share of bandwidth':>20}")
    for row in _rows(large):
        share = weights / row["t_verify"] / speed
        print(
            f"  {row['arm']:<18}{row['output_tps']:>8.1f}{1e3 * row['t_draft_busy']:>10.2f}"
            f"{1e3 * row['t_verify']:>11.2f}{share:>20.0%}"
        )


def _rows(one: Any) -> list[dict[str, Any]]:
    frame = one.frame()
    rows: list[dict[str, Any]] = frame[frame["category"].isna()].fillna({"t_draft_busy": 0.0}).to_dict("records")
    return rows


def _column(one: Any, name: str) -> str:
    return ", ".join(f"{row['arm']} {row[name]:.2f}" for row in _rows(one))


if __name__ == "__main__":
    main()
