"""SARIF as code scanning and other viewers read it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.plan.planned_eval import Lowered, Unreadable
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.results.results import RunInfo
from gateval.domain.verdicts import GateVerdict
from gateval.render.github import annotate
from gateval.render.sarif import FINGERPRINT, MOST, render_sarif
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.command import ROOT
from tests.helpers.hostile import ATTACK, hostile_results
from tests.helpers.reports import edit_fixture, edit_plan, make, make_results
from tests.unit.render.conftest import Golden
from tests.unit.render.test_comment import SAMPLES

SCHEMA = jsonschema_rs.Draft4Validator(
    json.loads((ROOT / "tests/data/sarif/schema.json").read_text("utf-8"))
)


def run_of(report: Report) -> dict[str, Any]:
    log = json.loads(render_sarif(ReportView(report)))
    SCHEMA.validate(log)
    (run,) = log["runs"]
    return dict(run)


def results_of(report: Report) -> list[dict[str, Any]]:
    return list(run_of(report)["results"])


def prints(report: Report) -> list[str]:
    return [one["partialFingerprints"][FINGERPRINT] for one in results_of(report)]


def where(result: dict[str, Any]) -> tuple[str, int]:
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uriBaseId"] == "ROOT"
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


def test_the_schema_is_one_that_can_refuse() -> None:
    log = json.loads(render_sarif(ReportView(sample_reports.regressed())))
    assert not SCHEMA.is_valid({**log, "version": "2.0.0"})
    for spoilt in ({"level": "fatal"}, {"severity": "high"}, {"ruleIndex": -2}):
        changed = json.loads(json.dumps(log))
        changed["runs"][0]["results"][0].update(spoilt)
        assert not SCHEMA.is_valid(changed), spoilt


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_each_report_is_valid_and_rules_and_base_are_those_named(
    sample: Callable[[], Report],
) -> None:
    report = sample()
    run = run_of(report)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for one in run["results"]:
        assert rules[one["ruleIndex"]] == one["ruleId"]
        assert where(one)[0] not in {"", "/"}
    assert set(run["originalUriBaseIds"]) == {"ROOT"}
    (invocation,) = run["invocations"]
    assert invocation["exitCode"] == report.decision.exit_code
    assert invocation["exitCodeDescription"] == report.decision.verdict
    undecided = report.decision.verdict in {GateVerdict.INCOMPLETE, GateVerdict.INCONCLUSIVE}
    assert invocation["executionSuccessful"] is not undecided
    assert bool(run["results"]) or report.decision.exit_code == 0, "nothing is red without a word"


def test_golden(golden: Golden) -> None:
    golden(render_sarif(ReportView(sample_reports.regressed())), "sarif")


def test_what_blocks_is_an_error_and_what_was_not_measured_warns() -> None:
    failed, below = results_of(make("a-eval one base:pass head:fail"))
    assert (failed["ruleId"], failed["level"], where(failed)) == (
        "regressed",
        "error",
        ("evals/one.yaml", 8),
    )
    assert failed["message"]["text"].startswith("one: contains failed at step 2\n")
    assert (below["ruleId"], below["level"], where(below)[0]) == (
        "below-threshold",
        "error",
        "evals/a-eval.yaml",
    )
    (unmeasured,) = results_of(make("a-eval one head:provider"))
    assert (unmeasured["ruleId"], unmeasured["level"]) == ("not-measured", "warning")


def test_places_are_those_of_the_annotations() -> None:
    report = sample_reports.regressed()
    assert [where(one) for one in results_of(report)] == [
        (one.path, one.line) for one in annotate(ReportView(report))
    ]


def test_a_fingerprint_stays_when_the_line_moves_or_the_words_change() -> None:
    results = make_results("a-eval one base:pass head:fail")
    (assertion,) = results.plan.evals[0].fixtures[0].assertions
    moved = edit_fixture(
        results,
        "one",
        place=SourceLocation(file="evals/one.yaml", line=90),
        assertions=(
            assertion.model_copy(update={"place": SourceLocation(file="evals/one.yaml", line=99)}),
        ),
    )
    before, after = make_report(results), make_report(moved)
    assert [where(one) for one in results_of(before)] != [where(one) for one in results_of(after)]
    assert prints(before) == prints(after)
    other = assertion.model_copy(update={"options": {"text": "no"}})
    changed = make_report(edit_fixture(results, "one", assertions=(other,)))
    assert prints(changed)[0] != prints(before)[0]


def test_fingerprints_tell_findings_apart() -> None:
    found = prints(sample_reports.regressed())
    assert len(set(found)) == len(found) > 5


def test_what_has_no_line_of_its_own_is_told_too() -> None:
    problem = Problem(place=SourceLocation(file="evals/odd.yaml", line=4), message="Odd.")
    doubt = Unreadable(where="target branch", problem=problem)
    lost = Lowered(place=SourceLocation(file="evals/gone.yaml", line=2), what="Eval removed")
    results = edit_plan(
        make_results("a-eval one base:pass head:pass"),
        doubts=(doubt,),
        lost=(lost,),
        unclaimed=("lib/a b.py",),
    )
    found: dict[str, list[tuple[str, str, int]]] = {}
    for one in results_of(make_report(results)):
        found.setdefault(one["ruleId"], []).append((one["level"], *where(one)))
    assert found == {
        "lowered-bar": [("error", "evals/gone.yaml", 2)],
        "no-pass": [("warning", "evals/odd.yaml", 4), ("warning", "lib/a%20b.py", 1)],
    }


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("agents/übung 1%.yaml", "agents/%C3%BCbung%201%25.yaml"),
        ("https://evil.example/x", "https%3A/evil.example/x"),
        ("//evil.example/x", "evil.example/x"),
        ("a/../b.yaml", "b.yaml"),
        ("../../etc/passwd", None),
        ("\ud800", "%3F"),
    ],
)
def test_places_are_paths_inside_the_repository(file: str, uri: str | None) -> None:
    results = make_results("a-eval one head:provider")
    report = make_report(edit_fixture(results, "one", place=SourceLocation(file=file, line=-3)))
    (found,) = results_of(report)
    if uri is None:
        assert "locations" not in found
    else:
        assert where(found) == (uri, 1)


def test_hostile_text_links_nowhere_and_fills_no_placeholder() -> None:
    attack = f"{ATTACK} [click](https://evil.example) [1](1) {{0}} {{1}}"
    results = hostile_results(sample_reports.regressed_results(), attack)
    for one in results_of(make_report(results)):
        text = one["message"]["text"]
        assert not re.search(r"\]\(|\{\d|://", text)
        assert len(text) < 2_100
        assert set(one["message"]) == {"text"}, "no markdown"


@pytest.mark.exhaustive  # renders 5,000 findings
def test_a_file_has_as_many_results_as_are_shown() -> None:
    run = run_of(sample_reports.many(MOST))
    assert len(run["results"]) == MOST
    (said,) = run["invocations"][0]["toolExecutionNotifications"]
    assert re.match(
        r"[\d,]+ more findings are left out; the worst 5,000 are here\.", said["message"]["text"]
    )


def test_the_version_is_that_which_measured() -> None:
    results = sample_reports.regressed_results()
    info = RunInfo(gateval="9.8.7")
    report = make_report(results.model_copy(update={"info": info}))
    assert run_of(report)["tool"]["driver"]["version"] == "9.8.7"
