"""Hand-built runs for the tests of pages: small pieces (`value`, `cell`, `run`) and one whole run (`demo`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.records import (
    Arm,
    CellKey,
    CellRecord,
    Divergence,
    Environment,
    ModelIdentity,
    RunManifest,
    Session,
    SuiteIdentity,
)
from draftmark.results.records.loads import ClosedLoad
from draftmark.results.summary import CellSummary, Lamp, MetricValue, RunSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.summary import Source

NOTE = "prompt sampling only"


def value(
    number: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    n: int = 24,
    unit: str = "1",
    reason: str | None = None,
    note: str | None = None,
    source: Source | None = "timed",
) -> MetricValue:
    reason = "no reason" if number is None and reason is None else reason
    return MetricValue(value=number, low=low, high=high, n=n, unit=unit, source=source, reason=reason, note=note)


def cell(
    drafter: str = "ngram",
    length: int = 3,
    *,
    suite: str = "coding",
    category: str | None = None,
    metrics: dict[str, MetricValue] | None = None,
    arm: str | None = None,
    **other: object,
) -> CellSummary:
    if arm is None:
        arm = drafter if length == 0 else f"{drafter} D={length}"
    fields = {
        "cell_id": f"{suite}/{arm}",
        "backend": "reference",
        "engine": {"device": "cpu", "dtype": "float32"},
        "target": "smollm2-135m",
        "drafter": drafter,
        "draft_length": length,
        "control": False,
        "arm": arm,
        "group": suite,
        "suite": suite,
        "category": category,
        "concurrency": 1,
        "status": "complete",
        "status_text": "24 of 24 turns",
        "turns_ok": 24,
        "turns_failed": 0,
        "turns_expected": 24,
        "truncated": 3,
        "metrics": metrics or {},
        "changed": {},
    }
    return CellSummary(**{**fields, **other})


def baseline(suite: str = "coding", **other: object) -> CellSummary:
    return cell("none", 0, suite=suite, metrics={"acceptance_length": value(1.0, source="definition")}, **other)


def gain(
    speedup: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    al: float = 2.0,
    note: str | None = None,
    **costs: float,
) -> dict[str, MetricValue]:
    """Metrics of an arm: its speed-up, acceptance length, and any of the costs that explain it."""
    found = {
        "speedup": value(speedup, low, high, note=note, reason="the baseline failed" if speedup is None else None),
        "acceptance_length": value(al, n=1400, unit="tokens", source="engine"),
    }
    return found | {name: value(number, n=1400) for name, number in costs.items()}


def manifest(
    cells: Sequence[CellSummary] = (),
    *,
    name: str = "demo",
    status: str = "complete",
    plan: dict | None = None,
    lost: dict[str, str] | None = None,
    resolved: dict[str, dict] | None = None,
) -> RunManifest:
    environment = Environment(
        draftmark="0.1.0",
        commit="0f6d9c1",
        python="3.11.9",
        platform="Linux-6.1-x86_64",
        cpu="Example CPU 2.5 GHz",
        cores=2,
        memory_bytes=8 * 2**30,
        packages={"torch": "2.13.0", "transformers": "5.19.0"},
        variables={"OMP_NUM_THREADS": "2"},
    )
    started = "2026-11-29T21:04:07Z"
    suites = dict.fromkeys(one.suite for one in cells)
    return RunManifest(
        run_id="2026-11-29T21-04-07Z-demo-3f9c",
        name=name,
        status=status,
        plan=plan or {"name": name, "target": "smollm2-135m"},
        plan_hash="9b1d",
        target=ModelIdentity(name="smollm2-135m", files={"model.safetensors": "ab12" * 16}, parameters=134_515_008),
        suites=[
            SuiteIdentity(name=suite, hash="cd34" * 16, prompts=8, turns=12, licence="Apache-2.0", selection="all")
            for suite in suites
        ],
        cells=[
            CellRecord(
                cell_id=one.cell_id,
                key=CellKey(
                    backend=one.backend,
                    target=one.target,
                    arm=Arm(drafter=one.drafter, draft_length=one.draft_length, control=one.control),
                    suite=one.suite,
                    suite_hash="cd34",
                    load=ClosedLoad(concurrency=one.concurrency or 1),
                ),
                expected_turns=24,
                resolved=(resolved or {}).get(one.cell_id, {"threads": 2, "attention": "sdpa"}),
                lost=(lost or {}).get(one.cell_id),
            )
            for one in cells
            if one.category is None
        ],
        sessions=[Session(started_at=started, ended_at=started, elapsed_s=312.4, environment=environment)],
    )


def run(
    *cells: CellSummary,
    lamps: Sequence[Lamp] = (),
    divergences: Sequence[Divergence] = (),
    failures: Sequence[dict[str, str]] = (),
    **of_manifest: object,
) -> RunSummary:
    return RunSummary(
        schema_version=1,
        manifest=manifest(cells, **of_manifest),
        cells=list(cells),
        lamps=list(lamps),
        divergences=list(divergences),
        failures=list(failures),
        elapsed_s=312.4,
    )


# One whole run: three suites, six arms of which one is the control and one is left out --------------------------------

_PLAIN_MS = 56.0
_CATEGORIES = {
    "coding": ("write", "edit", "explain"),
    "summarization": ("news", "minutes"),
    "long-sequence": ("low-entropy", "mixed", "high-entropy"),
}
_ARMS = {
    # suite: arm: speed-up, low, high, AL, r, O, verify inflation
    "coding": {
        ("ngram", 3): (1.17, 1.04, 1.33, 1.92, 1.64, 0.01, 1.61),
        ("ngram", 8): (1.32, 1.10, 1.58, 2.31, 1.75, 0.01, 1.72),
        ("draft-model", 3): (0.81, 0.77, 0.86, 2.90, 3.58, 1.93, 1.62),
    },
    "summarization": {
        ("ngram", 3): (0.90, 0.86, 0.94, 1.35, 1.50, 0.01, 1.47),
        ("ngram", 8): (0.92, 0.87, 0.98, 1.42, 1.55, 0.01, 1.52),
        ("draft-model", 3): (0.73, 0.70, 0.77, 2.60, 3.55, 1.91, 1.61),
    },
    "long-sequence": {
        ("ngram", 3): (1.50, 0.93, 2.21, 2.46, 1.64, 0.01, 1.60),
        ("ngram", 8): (1.79, 0.98, 2.90, 3.40, 1.90, 0.01, 1.86),
        ("draft-model", 3): (0.84, 0.71, 0.99, 3.02, 3.61, 1.95, 1.63),
    },
}


def _steps(ratio: float, overhead: float, inflation: float) -> dict[str, MetricValue]:
    plain = _PLAIN_MS / 1000
    return {
        "step_time": value(ratio * plain, n=1400, unit="s"),
        "t_target": value(plain, n=1400, unit="s"),
        "t_draft_exposed": value(overhead * plain, n=1400, unit="s"),
        "t_verify": value(inflation * plain * 0.98, n=1400, unit="s"),
        "t_other": value(max(ratio - overhead - inflation * 0.98, 0.005) * plain, n=1400, unit="s"),
    }


def _acceptance(length: int, al: float) -> dict[str, MetricValue]:
    share = (al - 1) / al
    found = {"coverage": value(0.31 + 0.1 * share, n=1400, source="engine")}
    found["acceptance_rate"] = value(share * 0.8, n=1400, source="engine")
    for k in range(1, length + 1):
        proposed = k < 8  # the last position was never proposed: null, not zero
        reason = None if proposed else "position 8 was never proposed"
        chance = max(share + 0.22 - 0.05 * k, 0.0) if proposed else None
        found[f"conditional_acceptance[{k}]"] = value(chance, n=600 // k, reason=reason, source="engine")
        found[f"joint_acceptance[{k}]"] = value(share**k, n=600, source="engine")
    return found


def _arm(suite: str, drafter: str, length: int, category: str | None = None, shift: float = 0.0) -> CellSummary:
    speedup, low, high, al, ratio, overhead, inflation = _ARMS[suite][drafter, length]
    rough = f"rough (9 conversations); {NOTE}" if category else NOTE
    wide = 1.12 if category else 1.0
    metrics = {
        "speedup": value(speedup + shift, (low + shift) / wide, (high + shift) * wide, note=rough),
        "acceptance_length": value(al + shift, al * 0.93, al * 1.07, n=1400, unit="tokens", source="engine"),
        "draft_overhead": value(overhead, n=1400),
        "verify_inflation": value(inflation, n=1400),
        "step_cost_ratio": value(ratio, n=1400, source="inferred"),
        "output_tps": value(17.2 * (speedup + shift), n=24, unit="tokens/s"),
        "ttft": value(0.412, n=24, unit="s"),
        "tpot": value(0.0572 / (speedup + shift), n=24, unit="s"),
        "goodput": value(None, n=0, unit="1/s", reason="the plan sets no objective", source=None),
        **_steps(ratio, overhead, inflation),
        **_acceptance(length, al + shift),
    }
    changed = {"scheduler.async": (True, False), "kv_cache_tokens": (8192, 6144)} if drafter == "draft-model" else {}
    return cell(drafter, length, suite=suite, category=category, metrics=metrics, changed=changed)


def _plain(suite: str, category: str | None = None, *, control: bool = False) -> CellSummary:
    plain = _PLAIN_MS / 1000
    metrics = {
        "speedup": value(None, n=0, reason="the baseline is what others are compared with", source=None),
        "acceptance_length": value(1.0, n=2800, unit="tokens", source="definition"),
        "step_time": value(plain, n=2800, unit="s"),
        "t_target": value(plain, n=2800, unit="s"),
        "t_draft_exposed": value(0.0, n=2800, unit="s"),
        "t_verify": value(plain * 0.97, n=2800, unit="s"),
        "t_other": value(plain * 0.03, n=2800, unit="s"),
        "output_tps": value(17.2, n=24, unit="tokens/s"),
        "ttft": value(0.405, n=24, unit="s"),
        "tpot": value(0.0572, n=24, unit="s"),
    }
    arm = "none (control)" if control else "none"
    return cell("none", 0, suite=suite, category=category, metrics=metrics, arm=arm, control=control)


def demo() -> RunSummary:
    """A run whose answer is worked out by hand: n-gram pays for coding, nothing for summarization, unclear for long."""
    cells = []
    for suite, arms in _ARMS.items():
        cells += [_plain(suite), _plain(suite, control=True)]
        for drafter, length in arms:
            cells.append(_arm(suite, drafter, length))
            if drafter == "ngram" and length == 8:
                why = "arctic-inference is not installed; pip install 'draftmark[suffix]' (needs a C++ compiler)"
                missing = {"status": "left out", "status_text": why, "turns_ok": 0, "turns_expected": 0, "truncated": 0}
                cells.append(cell("suffix", 8, suite=suite, **missing))
        for place, category in enumerate(_CATEGORIES[suite]):
            cells.append(_plain(suite, category))
            cells += [_arm(suite, *arm, category, shift=0.16 * place - 0.12) for arm in arms]
    partial = {"status": "partial", "status_text": "partial 3/5", "turns_ok": 3, "turns_expected": 5, "turns_failed": 1}
    place = next(i for i, one in enumerate(cells) if one.arm == "ngram D=3" and one.suite == "long-sequence")
    cells[place] = cells[place].model_copy(update=partial)
    lamps = [
        Lamp(
            name="speculation",
            level="ok",
            text="Every arm drafted with the D it was asked for; coverage is 31% to 41%.",
            cells=[],
        ),
        Lamp(name="baseline", level="ok", text="The two runs of no speculation agree within 1.2%.", cells=[]),
        Lamp(
            name="losslessness",
            level="note",
            text="2 answers leave those of no speculation, both at numeric ties.",
            cells=["coding/ngram D=8"],
        ),
        Lamp(
            name="launches",
            level="note",
            text="One launch of the engine: intervals hold what other prompts would change, not what a restart would.",
            cells=[],
        ),
        Lamp(name="failures", level="warning", text="1 of 360 turns failed.", cells=["long-sequence/ngram D=3"]),
    ]
    tie = Divergence(
        cell_id="coding/ngram D=8",
        question_id="edit-03",
        turn_index=0,
        repeat=0,
        position=41,
        baseline_id=284,
        arm_id=327,
        margin=0.00012,
        numeric_difference=0.0004,
        top_two=(284, 327),
        verdict="numeric-tie",
        reason="the margin 0.00012 is below the difference 0.0004 between one-token and 9-token passes",
    )
    failed = {
        "cell_id": "long-sequence/ngram D=3",
        "question_id": "low-entropy-02",
        "turn_index": "0",
        "repeat": "1",
        "kind": "context-limit",
        "message": "the answer reached the context limit of 8192 tokens",
    }
    return run(*cells, lamps=lamps, divergences=[tie], failures=[failed])
