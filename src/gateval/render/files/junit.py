"""JUnit XML of head's fixtures, for CI systems that show test results.

One test suite per Eval, one test case per fixture; the worst repetition decides, and a regression
that blocks fails its case though every repetition passed, as those with scores do. What was not
measured is an `error`, also when it came to nothing in time; only a fixture of which no repetition
ran is `skipped`. An Eval that blocks as a whole, by none of its fixtures, has a case of its name,
and a decision that is no pass, where no case says so, one of its own. A test case has the place of
the assertion that failed, else of its fixture, and the seconds that head's repetitions took. There
are no stamps: equal trials give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import Attr, FinalResult, IntAttr

from gateval.domain.decision.report import Report
from gateval.domain.manifests.axes import show_axis
from gateval.domain.results.comparison import EvalComparison
from gateval.domain.results.lifecycle import run_of
from gateval.domain.trials.trial import Outcome, Trial
from gateval.domain.verdicts import EXIT_CODES, GateVerdict, ReasonCode
from gateval.render.report.facts import FixtureFacts, FixtureStatus, gather, told
from gateval.render.report.scores.experiments import experiment_sets
from gateval.render.report.words.excerpt import trial_excerpt
from gateval.render.report.words.headline import headline
from gateval.render.report.words.wording import (
    base_score,
    eval_verdict,
    evidence_mark,
    passes,
    score,
    what_happened,
)
from gateval.safe.sanitize import xml_text

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_MESSAGE_LIMIT = 400
_BODY_LIMIT = 8_000


def render_junit(report: Report) -> str:
    """Return the XML document, UTF-8, ending with a newline."""
    document: Any = JUnitXml("gateval")  # junitparser does not type these methods
    compared = {of.eval: of for of in report.comparison.evals}
    for name, facts in groupby(gather(report), key=lambda fact: fact.planned.name):
        suite = TestSuite(_xml(name))
        for key, value in _properties(report, compared[name]).items():
            suite.add_property(_xml(key), _xml(value))
        fell = _fell(report, name)
        cases = [_case(fact, suite.name, fell) for fact in facts]
        suite.add_testcases([*cases, *_whole(report, name, cases)])
        suite.add_testcases(
            [_left(gone.fixture, suite.name) for gone in compared[name].head.left_out]
        )
        document.append(suite)
    for gone in report.results.plan.left_out:
        suite = TestSuite(_xml(gone.name))
        suite.add_testcase(_left(f"{gone.fixtures} fixtures", suite.name))
        document.append(suite)
    document.update_statistics()
    if not document.failures and not document.errors:
        for suite in _decided(report):
            document.append(suite)
        document.update_statistics()
    body: str = document.tostring().decode()
    return _DECLARATION + body[body.index("<testsuites") :] + "\n"


def _decided(report: Report) -> Iterator[TestSuite]:
    """Yield a suite for a decision that is no pass, where no test case says so."""
    decision = report.decision
    if decision.exit_code == EXIT_CODES[GateVerdict.PASS]:
        return
    fails = decision.verdict is GateVerdict.FAIL
    case = TestCase("decision", classname="gateval")
    case.result = (Failure if fails else Error)(_xml(headline(report)), decision.verdict.value)
    reasons = [one.text for one in decision.reasons]
    case.result[0].text = xml_text("\n".join(reasons), _BODY_LIMIT)
    suite = TestSuite("gateval")
    suite.add_testcase(case)
    yield suite


def _properties(report: Report, compared: EvalComparison) -> dict[str, str]:
    verdict, words = eval_verdict(report.decision, compared.eval)
    return {
        "agent": compared.agent,
        "score": score(compared.head),
        "base": base_score(compared),
        "threshold": compared.head.asks,
        "verdict": f"{verdict}: {words}" if words != verdict else words,
        **_of_benchmark(report, compared),
        **_of_experiment(report, compared),
    }


def _of_benchmark(report: Report, compared: EvalComparison) -> dict[str, str]:
    """Return what a suite says of a benchmark besides: its version, status and axes."""
    planned = report.results.plan.eval(compared.eval)
    if not planned.scoring.model.tasks:
        return {}
    known = [one for one in compared.axes if one.head is not None]
    return {
        "benchmark": planned.shown_name,
        "status": run_of(report.results, planned).status.value,
        **{f"axis {show_axis(one.axis)}": f"{one.head:.2f}" for one in known},
    }


def _of_experiment(report: Report, compared: EvalComparison) -> dict[str, str]:
    """Return what a suite says of an experiment besides: each scorer's average."""
    planned = report.results.plan.eval(compared.eval)
    if not planned.scoring.model.scorers or planned.bar is not None:
        return {}
    found = next(one for one in experiment_sets(report) if one.name == planned.shown_name)
    averages = {
        f"scorer {line.now.scorer}": f"{line.average} ({line.change})" for line in found.lines
    }
    return {"experiment": planned.shown_name, **averages}


class _Case(TestCase):
    """A test case with its place, as pytest writes it and GitLab reads it."""

    file = Attr()
    line = IntAttr()


def _case(fact: FixtureFacts, suite: str, fell: frozenset[str]) -> TestCase:
    case = _Case(_xml(fact.fixture.name), classname=suite)
    place = fact.first_place
    case.file, case.line = _xml(place.file), place.line
    case.time = round(sum(trial.seconds for trial in fact.head), 3)
    found = _result(fact)
    if fact.fixture.name in fell and not isinstance(found, Failure):
        found = Failure(_xml(passes(fact.compared)), "regressed")
    if found is not None:
        found.text = xml_text(_body(fact), _BODY_LIMIT)
        case.result = found
    return case


def _fell(report: Report, name: str) -> frozenset[str]:
    """Return the fixtures of an Eval whose regression blocks."""
    return frozenset(
        one.fixture
        for one in report.decision.reasons
        if (one.eval, one.code, one.verdict) == (name, ReasonCode.REGRESSION, GateVerdict.FAIL)
    )


def _whole(report: Report, name: str, cases: Sequence[TestCase]) -> Iterator[TestCase]:
    """Yield a case for an Eval that blocks, where none of its fixtures' cases says so."""
    verdict, words = eval_verdict(report.decision, name)
    said = {type(result) for case in cases for result in case.result}
    if verdict is GateVerdict.PASS or Failure in said:
        return
    if verdict is not GateVerdict.FAIL and said & {Error, Skipped}:
        return
    kind: type[Failure | Error] = Failure if verdict is GateVerdict.FAIL else Error
    case = _Case(_xml(name), classname=_xml(name))
    reasons = [one.text for one in report.decision.reasons if one.eval == name]
    case.result = kind(_xml(words), "eval")
    case.result[0].text = xml_text("\n".join(reasons), _BODY_LIMIT)
    yield case


def _left(name: str, suite: str) -> TestCase:
    case = _Case(_xml(name), classname=suite)
    case.result = Skipped("left out of this run", "left-out")
    return case


def _result(fact: FixtureFacts) -> FinalResult | None:
    """Return the element for a fixture that did not pass every planned repetition."""
    missing, worst = fact.compared.missing, fact.worst
    if worst is None:
        return Skipped("no planned repetition ran", "missing")
    if worst.passed is False:
        kind = "fail" if worst.answered else str(worst.cause)
        kind = "regressed" if fact.status is FixtureStatus.REGRESSED else kind
        return Failure(_xml(worst.reason or "an assertion failed"), kind)
    if worst.outcome is not Outcome.PASS:
        return Error(_xml(worst.reason or "not measured"), str(worst.cause or worst.outcome))
    if missing:
        return Error(f"{missing} repetitions that were asked for did not run", "missing")
    return None


def _body(fact: FixtureFacts) -> str:
    lines = [f"{passes(fact.compared)}; {fact.compared.change}"]
    if fact.fixture.description:
        lines.append(fact.fixture.description)
    for trial in fact.head:
        lines += _trial(fact, trial)
    if excerpt := trial_excerpt(fact.worst, fact.broken):
        lines += ["", excerpt]
    return "\n".join(lines)


def _trial(fact: FixtureFacts, trial: Trial) -> list[str]:
    cause = f", {trial.cause}" if trial.cause else ""
    lines = [
        "",
        f"repetition {trial.key.repetition}: {trial.outcome}{cause}. {trial.reason}".strip(),
    ]
    for assessment in told(trial.assessments):
        what = f"{fact.label(assessment)} {what_happened(assessment)}: {assessment.reason}"
        lines.append(f"  {what} ({fact.place(assessment)})")
        lines += [
            f"      {evidence_mark(violation)}. {violation.rule}: {violation.quote}"
            for violation in (assessment.verdict.violations if assessment.verdict else ())
        ]
    return lines + [f"  {line}" for line in trial.detail]


def _xml(text: str) -> str:
    return xml_text(" ".join(text.split()), _MESSAGE_LIMIT)
