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
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import Attr, FinalResult, IntAttr

from gateval.domain.results.comparison import FixtureStatus
from gateval.domain.trials.trial import Outcome, Trial, trial_excerpt
from gateval.domain.verdicts import EXIT_CODES, GateVerdict
from gateval.render.report.bar import SealedLine, whom_to_ask
from gateval.render.report.facts import FixtureFacts, told
from gateval.render.report.wording import evidence_mark, own_score, passes, words_of
from gateval.render.view import EvalView, ReportView
from gateval.safe.sanitize import xml_text

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_MESSAGE_LIMIT = 400
_BODY_LIMIT = 8_000


def render_junit(view: ReportView) -> str:
    """Return the XML document, UTF-8, ending with a newline."""
    document: Any = JUnitXml("gateval")  # junitparser does not type these methods
    for one in view.evals:
        suite = TestSuite(_xml(one.eval))
        for key, value in _properties(one).items():
            suite.add_property(_xml(key), _xml(value))
        cut = view.report.results.info.cut
        cases = [_case(fact, suite.name, one.fell, cut) for fact in one.fixtures]
        suite.add_testcases([*cases, *_whole(one, cases)])
        suite.add_testcases([_left(name, suite.name) for name in one.left_out])
        document.append(suite)
    for line in view.sealed:
        document.append(_sealed(view, line))
    for gone in view.plan.left_out:
        suite = TestSuite(_xml(gone.name))
        suite.add_testcase(_left(f"{gone.fixtures} fixtures", suite.name))
        document.append(suite)
    document.update_statistics()
    if not document.failures and not document.errors:
        for suite in _decided(view):
            document.append(suite)
        document.update_statistics()
    body: str = document.tostring().decode()
    return _DECLARATION + body[body.index("<testsuites") :] + "\n"


def _sealed(view: ReportView, line: SealedLine) -> TestSuite:
    """Return the suite of a sealed Eval: one case, which says how it ended."""
    suite = TestSuite(_xml(line.planned.name))
    for key, value in {"agent": line.planned.agent, "rate": line.rate}.items():
        suite.add_property(key, _xml(value))
    case = TestCase("sealed", classname=suite.name)
    if line.counts:
        fails = line.verdict is GateVerdict.FAIL
        case.result = (Failure if fails else Error)(_xml(line.words), "sealed")
        case.result[0].text = xml_text(whom_to_ask(view.plan), _BODY_LIMIT)
    suite.add_testcase(case)
    return suite


def _decided(view: ReportView) -> Iterator[TestSuite]:
    """Yield a suite for a decision that is no pass, where no test case says so."""
    decision = view.report.decision
    if decision.exit_code == EXIT_CODES[GateVerdict.PASS]:
        return
    fails = decision.verdict is GateVerdict.FAIL
    case = TestCase("decision", classname="gateval")
    case.result = (Failure if fails else Error)(_xml(view.headline), decision.verdict.value)
    reasons = [one.text for one in decision.reasons]
    case.result[0].text = xml_text("\n".join(reasons), _BODY_LIMIT)
    suite = TestSuite("gateval")
    suite.add_testcase(case)
    yield suite


def _properties(of: EvalView) -> dict[str, str]:
    row = of.row
    said = {
        "agent": row.agent,
        "score": row.score,
        "base": row.base,
        "threshold": row.threshold,
        "verdict": f"{row.verdict}: {row.words}" if row.words != row.verdict else row.words,
    }
    kind = words_of([of.kind]).manifest.lower()
    if of.status:
        said |= {kind: row.name, "status": of.status}
        said |= {f"axis {name}": score for name, score in of.axes}
    if of.scorers:
        said |= {kind: row.name}
        said |= {f"scorer {name}": score for name, score in of.scorers}
    return said


class _Case(TestCase):
    """A test case with its place, as pytest writes it and GitLab reads it."""

    file = Attr()
    line = IntAttr()


def _case(fact: FixtureFacts, suite: str, fell: frozenset[str], cut: str) -> TestCase:
    case = _Case(_xml(fact.fixture.name), classname=suite)
    place = fact.first_place
    case.file, case.line = _xml(place.file), place.line
    case.time = round(sum(trial.seconds for trial in fact.head), 3)
    found = _result(fact, cut)
    if fact.fixture.name in fell and not isinstance(found, Failure):
        found = Failure(_xml(passes(fact.compared)), "regressed")
    if found is not None:
        found.text = xml_text(_body(fact), _BODY_LIMIT)
        case.result = found
    return case


def _whole(of: EvalView, cases: Sequence[TestCase]) -> Iterator[TestCase]:
    """Yield a case for an Eval that blocks, where none of its fixtures' cases says so."""
    verdict = of.row.verdict
    said = {type(result) for case in cases for result in case.result}
    if verdict is GateVerdict.PASS or Failure in said:
        return
    if verdict is not GateVerdict.FAIL and said & {Error, Skipped}:
        return
    kind: type[Failure | Error] = Failure if verdict is GateVerdict.FAIL else Error
    case = _Case(_xml(of.eval), classname=_xml(of.eval))
    case.result = kind(_xml(of.row.words), "eval")
    case.result[0].text = xml_text("\n".join(of.reasons), _BODY_LIMIT)
    yield case


def _left(name: str, suite: str) -> TestCase:
    case = _Case(_xml(name), classname=suite)
    case.result = Skipped("left out of this run", "left-out")
    return case


def _result(fact: FixtureFacts, cut: str) -> FinalResult | None:
    """Return the element for a fixture that did not pass every planned repetition; `cut` says why
    trials did not run.
    """
    missing, worst = fact.compared.missing, fact.worst
    if worst is None:
        return Skipped(_xml(f"no planned repetition ran. {cut}".rstrip(". ")), "missing")
    if worst.passed is False:
        kind = "fail" if worst.answered else str(worst.cause)
        kind = "regressed" if fact.status is FixtureStatus.REGRESSED else kind
        return Failure(_xml(worst.reason or "an assertion failed"), kind)
    if worst.outcome is not Outcome.PASS:
        return Error(_xml(worst.reason or "not measured"), str(worst.cause or worst.outcome))
    if missing:
        return Error(
            _xml(f"{missing} repetitions that were asked for did not run. {cut}".rstrip(". ")),
            "missing",
        )
    return None


def _body(fact: FixtureFacts) -> str:
    told = [passes(fact.compared), own_score(fact.compared)]
    lines = [f"{', '.join(filter(None, told))}; {fact.compared.change}"]
    if fact.fixture.description:
        lines.append(fact.fixture.description)
    for trial in fact.head:
        lines += _trial(fact, trial)
    stood = f"{fact.stands.says}\n{fact.stands.excerpt}".strip() if fact.stands else ""
    if excerpt := stood or trial_excerpt(fact.worst, fact.broken):
        lines += ["", excerpt]
    return "\n".join(lines)


def _trial(fact: FixtureFacts, trial: Trial) -> list[str]:
    cause = f", {trial.cause}" if trial.cause else ""
    lines = [
        "",
        f"repetition {trial.key.repetition}: {trial.outcome}{cause}. {trial.reason}".strip(),
    ]
    for assessment in told(trial.assessments):
        what = f"{fact.label(assessment)} {fact.ended(assessment)}: {assessment.reason}"
        lines.append(f"  {what} ({fact.place(assessment)})")
        lines += [
            f"      {evidence_mark(violation)}. {violation.rule}: {violation.quote}"
            for violation in (assessment.verdict.violations if assessment.verdict else ())
        ]
    return lines + [f"  {line}" for line in trial.detail]


def _xml(text: str) -> str:
    return xml_text(" ".join(text.split()), _MESSAGE_LIMIT)
