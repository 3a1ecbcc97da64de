"""A verdict as JUnit XML: a test case per metric of a cell, so that CI systems show it as they show tests.

A regression is a failure, what cannot be decided an error, what was not gated is skipped; a last case holds the verdict
itself, since a report in which everything is skipped reads as green.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from draftmark.bench.reporting.wording import limits, span, value
from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from draftmark.results.gating import Verdict

_TAGS = {
    "regression": "failure",
    "missing": "error",
    "impossible": "error",
    "not comparable": "error",
    "cannot decide": "error",
    "not gated": "skipped",
}
"""State, level or outcome to the element that says it; the others pass."""


def verdict_xml(verdict: Verdict) -> bytes:
    """Return the report as UTF-8."""
    suite = Xml.Element("testsuite", name=harmless(f"draftmark gate: {verdict.candidate.name}"), time="0")
    for one in verdict.judgements:
        tolerance, smallest = limits(one)
        detail = (
            f"{one.text}\nbaseline {value(one.baseline, one.unit)}, candidate {value(one.candidate, one.unit)}, "
            f"change {span(one.change, one.low, one.high)}, tolerance {tolerance}, would have shown {smallest}"
        )
        _case(suite, (one.cell, one.metric), one.state, one.text, detail)
    for number, finding in enumerate(verdict.findings, start=1):
        _case(suite, ("runs", f"finding {number}"), finding.level, finding.text, finding.text)
    _case(suite, ("gate", "verdict"), verdict.outcome, verdict.headline, verdict.headline)
    counts = {"tests": len(suite)} | {
        f"{tag}s" if tag != "skipped" else tag: len(suite.findall(f"./testcase/{tag}"))
        for tag in ("failure", "error", "skipped")
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    root = Xml.Element("testsuites", {name: str(count) for name, count in counts.items()})
    root.append(suite)
    Xml.indent(root)
    found: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return found


def _case(suite: Xml.Element, place: tuple[str, str], state: str, message: str, detail: str) -> None:
    classname, name = place
    case = Xml.SubElement(suite, "testcase", classname=harmless(classname), name=harmless(name), time="0")
    tag = _TAGS.get(state)
    if tag is not None:
        told = Xml.SubElement(case, tag, message=harmless(message), type=state)
        told.text = harmless(detail, keep_newlines=True)
