"""The lazy table from a plan's `kind` to the class that reads a `suites:` entry.

Other packages add kinds through the entry point group `draftmark.suites` (subclasses of `SuiteSpec`); nothing of theirs
is imported before a plan names the kind.
"""

from __future__ import annotations

from draftmark.results.kinds import KindTable
from draftmark.suites.prompt import SuiteError, SuiteSpec

SUITES: KindTable[SuiteSpec] = KindTable(
    noun="suite",
    group="draftmark.suites",
    base=SuiteSpec,
    error=SuiteError,
    builtin={
        "builtin": "draftmark.suites.builtin:BuiltinSpec",
        "gsm8k": "draftmark.suites.loaders.gsm8k:Gsm8kSpec",
        "hf": "draftmark.suites.loaders.tables:HfSpec",
        "humaneval": "draftmark.suites.loaders.humaneval:HumanEvalSpec",
        "jsonl": "draftmark.suites.loaders.jsonl:JsonlSpec",
        "mbpp": "draftmark.suites.loaders.mbpp:MbppSpec",
        "mt-bench": "draftmark.suites.loaders.spec_bench:MtBenchSpec",
        "parquet": "draftmark.suites.loaders.tables:ParquetSpec",
        "random": "draftmark.suites.loaders.random_tokens:RandomSpec",
        "sharegpt": "draftmark.suites.loaders.sharegpt:SharegptSpec",
        "spec-bench": "draftmark.suites.loaders.spec_bench:SpecBenchSpec",
        "speed-bench": "draftmark.suites.loaders.speed_bench:SpeedBenchSpec",
    },
)
