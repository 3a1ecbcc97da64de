"""A program that takes the command line of vLLM's server and runs a mock server of the same D in its place."""

from __future__ import annotations

import argparse
import asyncio
import json

from draftmark.backends.mock.process import serve
from draftmark.backends.mock.settings import MockSettings


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--port", type=int)
    parser.add_argument("--speculative-config", default="{}")
    parser.add_argument("--of", help="whose server it is")
    told, _ = parser.parse_known_args()
    length = json.loads(told.speculative_config).get("num_speculative_tokens", 0)
    cycle = (length, 0) if length else ()
    settings = MockSettings(
        ttft_s=0.001, step_s=0.001, draft_length=length, accepted_cycle=cycle, port=told.port, model="tiny"
    )
    asyncio.run(serve(settings))


if __name__ == "__main__":
    main()
