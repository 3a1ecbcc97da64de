"""A vLLM worker that tells another process how long its steps took: a float64 in the file named by BUSY_FILE."""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path
from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker

BUSY_FILE = "BENCH_BUSY_FILE"


class TimedWorker(CPUWorker):
    """Adds up the seconds in which the model ran or its tokens were sampled."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        path = Path(os.environ[BUSY_FILE])
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)
        self._busy = 0.0

    def execute_model(self, *args: Any, **kwargs: Any) -> Any:
        begun = time.perf_counter()
        result = super().execute_model(*args, **kwargs)
        return self._timed(begun, result)

    def sample_tokens(self, *args: Any, **kwargs: Any) -> Any:
        begun = time.perf_counter()
        result = super().sample_tokens(*args, **kwargs)
        return self._timed(begun, result)

    def _timed(self, begun: float, result: Any) -> Any:
        self._busy += time.perf_counter() - begun
        struct.pack_into("d", self._shared, 0, self._busy)
        return result
