"""Write docs/metrics.md from the declarations of the metrics, so that each formula is said in one place only."""

from __future__ import annotations

from pathlib import Path

from draftmark.results.metrics import METRICS

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"

HEAD = """\
# Metrics

Made by `scripts/write_metric_docs.py` from the declarations in `results/metrics/`; edit those.

One turn yields T tokens: the first from prefill, the rest from decode steps i = 1..n. In step i the drafter
proposed d_i tokens, the target accepted a_i of them, and e_i tokens were delivered: normally a_i + 1, fewer when
the end of the answer cuts the last step. Useful acceptance is u_i = min(a_i, e_i); useful drafts v_i are d_i, but
min(d_i, e_i) on a cut step.

A number that was not measured is null with a reason. The source says how a number is known: `engine` (counted by
the engine), `timed` (on a monotonic clock), `inferred` (from other counts), `definition`. Intervals are 95%, by
conversation. Times are seconds in files and milliseconds on screen; unit 1 is a ratio or a share.
"""


def page() -> str:
    """Return the text of docs/metrics.md."""
    parts = [HEAD]
    for metric in METRICS.values():
        direction = f"{metric.better} is better" if metric.better else "no direction is better"
        needs = f" · needs {', '.join(metric.needs)}" if metric.needs else ""
        last = f"Unit {metric.unit} · {direction}{needs}"
        parts.append(f"## `{metric.name}`\n\n{metric.about}\n\n{metric.formula}\n\n{last}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
