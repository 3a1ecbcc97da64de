"""JUnit XML as CI systems read it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.gating import Verdict

from draftmark.bench.reporting.junit import verdict_xml


def test_each_state_is_what_a_ci_system_makes_of_it(verdict: Callable[..., Verdict]) -> None:
    suite = Xml.fromstring(verdict_xml(verdict())).find("testsuite")  # noqa: S314 - our own
    cases = suite.findall("testcase")
    found = [(case.get("name"), [(child.tag, child.get("type")) for child in case]) for case in cases]
    assert found == [
        ("tpot", []),
        ("tpot", [("skipped", "not gated")]),
        ("tpot", [("error", "missing")]),
        ("tpot", [("error", "not comparable")]),
        ("tpot", [("error", "impossible")]),
        ("tpot", [("failure", "regression")]),
        ("finding 1", [("failure", "regression")]),
        ("finding 2", []),
        ("verdict", [("failure", "regression")]),
    ]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9",
        "failures": "3",
        "errors": "3",
        "skipped": "1",
    }


def test_a_report_in_which_nothing_was_gated_is_no_green_one(verdict: Callable[..., Verdict]) -> None:
    undecided = verdict(0, outcome="cannot decide", findings=[])
    (case,) = Xml.fromstring(verdict_xml(undecided)).iter("testcase")  # noqa: S314 - our own
    assert [child.tag for child in case] == ["error"]


def test_hostile_text_stays_text(verdict: Callable[..., Verdict]) -> None:
    suite = Xml.fromstring(verdict_xml(verdict(settings=[]))).find("testsuite")  # noqa: S314 - our own
    assert suite.find("testcase").get("classname").startswith("<script>alert(1)</script>")
    assert r"\x1b[31m" in suite.find("testcase").get("classname")
