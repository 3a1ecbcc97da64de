"""vLLM's own offline loop, as a program that answers a batch of prompts whenever it is told to.

Usage: offline_vllm.py MODEL ENGINE_JSON. Reads one JSON line per round, `{"prompts": [[ids], ...], "tokens": N}`, and
writes one, `{"seconds": s, "tokens": n}`, to the file descriptor 3.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    from vllm import LLM, SamplingParams

    engine = LLM(model=sys.argv[1], **json.loads(sys.argv[2]))
    answers = os.fdopen(3, "w")
    answers.write('{"ready": true}\n')
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        prompts = [{"prompt_token_ids": ids} for ids in asked["prompts"]]
        sampling = SamplingParams(temperature=0.0, max_tokens=asked["tokens"], ignore_eos=True, detokenize=False)
        begun = time.perf_counter()
        outputs = engine.generate(prompts, sampling, use_tqdm=False)
        seconds = time.perf_counter() - begun
        tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
        answers.write(json.dumps({"seconds": seconds, "tokens": tokens}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
