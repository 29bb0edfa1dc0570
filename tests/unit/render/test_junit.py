"""JUnit XML as CI systems read it."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.trials.trial import Side
from gateval.render.junit import render_junit
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.reports import make
from tests.unit.render.conftest import Golden
from tests.unit.render.test_comment import SAMPLES

SHAPE = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time"},
        ["properties", "testcase"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "file", "line", "time"}, ["failure", "error", "skipped"]),
    "failure": ({"message", "type"}, []),
    "error": ({"message", "type"}, []),
    "skipped": ({"message", "type"}, []),
}
"""Of the common JUnit schema (Jenkins, Ant): per element its attributes and children in order."""


def parse(report: Report) -> ET.Element:
    text = render_junit(ReportView(report))
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites')
    return ET.fromstring(text.encode())  # noqa: S314 - ours


def check_shape(element: ET.Element) -> None:
    attributes, children = SHAPE[element.tag]
    assert set(element.keys()) == attributes, element.tag
    order = [children.index(child.tag) for child in element]
    assert order == sorted(order)
    for child in element:
        check_shape(child)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_shape_and_counts(sample: Callable[[], Report]) -> None:
    root = parse(sample())
    check_shape(root)
    for suites in (root, *root.iter("testsuite")):
        cases = list(suites.iter("testcase"))
        assert int(suites.get("tests", "")) == len(cases)
        for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suites.get(name, "")) == sum(case.find(tag) is not None for case in cases)
    assert all(len(case) <= 1 for case in root.iter("testcase"))


@pytest.mark.parametrize(
    ("row", "tag", "kind"),
    [
        ("base:pass head:pass", None, ""),
        ("base:pass head:fail", "failure", "regressed"),
        ("base:fail head:fail", "failure", "fail"),
        ("base:pass,pass head:pass,fail+pass", "failure", "fail"),
        ("base:pass,pass head:judge,fail+pass", "failure", "fail"),
        ("base:pass,pass head:pass,provider", "error", "provider"),
        ("base:pass head:candidate", "failure", "candidate"),
        ("base:pass head:skip", "failure", "candidate"),
        ("base:pass,pass head:pass,-", "error", "missing"),
        ("base:pass,pass head:-,-", "skipped", "missing"),
    ],
)
def test_the_worst_repetition_decides(row: str, tag: str | None, kind: str) -> None:
    case, *_ = parse(make(f"a-eval f {row}")).iter("testcase")

    assert (case.get("classname"), case.get("name")) == ("a-eval", "f")
    assert [(child.tag, child.get("type")) for child in case] == ([(tag, kind)] if tag else [])


def test_suites_carry_score_base_threshold_and_verdict() -> None:
    suites = parse(sample_reports.regressed())
    first = next(suites.iter("testsuite"))

    assert {p.get("name"): p.get("value") for p in first.iter("property")} == {
        "agent": "support",
        "score": "0.38",
        "base": "0.85",
        "threshold": "0.80",
        "verdict": "fail: regressed, below threshold",
    }


def test_a_test_case_has_its_place_and_its_time() -> None:
    report = make("a-eval one base:pass,pass head:fail,fail\na-eval two base:pass,pass head:pass,-")
    trials = tuple(
        trial.model_copy(update={"seconds": 1.25 if trial.key.side is Side.HEAD else 9.0})
        for trial in report.results.trials
    )
    report = make_report(report.results.model_copy(update={"trials": trials}))

    root = parse(report)
    assert [
        (case.get("file"), case.get("line"), case.get("time")) for case in root.iter("testcase")
    ] == [("evals/one.yaml", "8", "2.5"), ("evals/two.yaml", "8", "1.25")]
    (suite,) = root.iter("testsuite")
    assert suite.get("time") == root.get("time") == "3.75"


def test_golden(golden: Golden) -> None:
    golden(render_junit(ReportView(sample_reports.regressed())), "xml")


def test_hostile_text_stays_text() -> None:
    root = parse(sample_reports.hostile())

    assert "<script>" in "".join(root.itertext())
    assert not list(root.iter("script"))
