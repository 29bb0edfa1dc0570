"""From outcomes to scores, as intervals wherever something was not measured."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateval.domain.manifests.evaluation import TOLERANCE, ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, Severity
from gateval.domain.problems import SourceLocation
from gateval.domain.results.averages import group_trials
from gateval.domain.results.scoring import EvalScore, Meets, score_eval
from gateval.domain.results.trial_verdict import trial_score
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Side
from gateval.domain.verdicts import GateVerdict, Measured, NotMeasured
from tests.helpers.assessments import make_assessment
from tests.helpers.reports import edit, make, make_results

PASSED, FAILED, ERROR = AssessmentStatus


def head_score(rows: str, *, threshold: float = 1.0, **options: Any) -> EvalScore:
    results = make_results(rows, threshold=threshold, **options)
    return score_eval(results.plan.evals[0], Side.HEAD, group_trials(results.trials))


@pytest.mark.parametrize(
    ("outcomes", "low", "high", "missing"),
    [
        ("pass,pass", 1.0, 1.0, 0),
        ("pass,fail", 0.5, 0.5, 0),
        ("fail,fail", 0.0, 0.0, 0),
        ("pass,judge", 0.5, 1.0, 0),
        ("fail,skip", 0.0, 0.0, 0),
        ("pass,candidate", 0.5, 0.5, 0),
        ("fail,provider", 0.0, 0.5, 0),
        ("pass,-", 0.5, 1.0, 1),
        ("-,-", 0.0, 1.0, 2),
        ("gate,provider", 0.0, 1.0, 0),
    ],
)
def test_a_fixtures_rate_is_an_interval_over_planned_repetitions(
    outcomes: str, low: float, high: float, missing: int
) -> None:
    (fixture,) = head_score(f"a-eval f head:{outcomes}").fixtures

    assert (fixture.low, fixture.high, fixture.missing) == (low, high, missing)
    assert fixture.measured is (low == high)
    assert fixture.unmeasured == round((high - low) * 2)
    assert fixture.all_passed is (low == 1.0)


@pytest.mark.parametrize(
    ("rows", "low", "high"),
    [
        ("a-eval f head:pass\na-eval g head:fail", 0.5, 0.5),
        ("a-eval f critical head:pass\na-eval g low head:fail", 4 / 4.5, 4 / 4.5),
        ("a-eval f critical head:judge\na-eval g low head:pass", 0.5 / 4.5, 1.0),
        ("a-eval f high head:pass,fail\na-eval g medium head:fail,fail", 1 / 3, 1 / 3),
        ("a-eval f head:skip\na-eval g head:pass", 0.5, 0.5),
    ],
)
def test_an_evals_score_weighs_fixtures_by_severity(rows: str, low: float, high: float) -> None:
    score = head_score(rows)

    assert score.ends == pytest.approx((low, high))
    assert score.measured is (low == high)


@pytest.mark.parametrize(
    "rows",
    [
        "a-eval f head:-\na-eval g head:provider",
        "a-eval f head:judge,gate",
        "a-eval f base:candidate head:candidate",
        "a-eval f base:skip,skip head:candidate,skip",
        "a-eval f base:new head:candidate",
        "a-eval f base:candidate head:provider",
    ],
)
def test_what_was_not_measured_has_no_score(rows: str) -> None:
    report = make(rows, threshold=0.5)
    compared = report.comparison.evals[0]
    found = (compared.head, compared.head_first)
    assert {(one.score, one.interval, one.measured) for one in found} == {
        (NotMeasured(), None, False)
    }
    assert compared.delta is None
    assert compared.head.meets is Meets.UNKNOWN
    assert report.decision.verdict is not GateVerdict.PASS


@pytest.mark.parametrize("rows", ["base:pass head:candidate", "base:candidate head:pass"])
def test_a_side_is_silent_where_the_other_one_answers_and_that_is_measured(rows: str) -> None:
    compared = make(f"a-eval f {rows}", threshold=0.5).comparison.evals[0]
    assert compared.base is not None
    assert {compared.head.score, compared.base.score} == {Measured(0.0), Measured(1.0)}


def test_an_eval_may_replace_single_weights() -> None:
    score = head_score(
        "a-eval f critical head:pass\na-eval g low head:fail",
        weights={Severity.CRITICAL: 1.0, Severity.LOW: 3.0},
    )

    assert score.ends == pytest.approx((0.25, 0.25))


@pytest.mark.parametrize(
    ("rows", "threshold", "meets"),
    [
        ("a-eval f head:pass\na-eval g head:fail", 0.5, Meets.YES),
        ("a-eval f head:pass\na-eval g head:fail", 0.51, Meets.NO),
        ("a-eval f head:pass\na-eval g head:judge", 0.5, Meets.YES),
        ("a-eval f head:pass\na-eval g head:judge", 0.51, Meets.UNKNOWN),
        ("a-eval f head:fail\na-eval g head:-", 0.51, Meets.NO),
        ("a-eval f head:fail", 0.0, Meets.YES),
    ],
)
def test_a_threshold_is_met_only_if_no_gap_could_change_that(
    rows: str, threshold: float, meets: Meets
) -> None:
    assert head_score(rows, threshold=threshold).meets is meets


def test_a_threshold_is_met_in_spite_of_rounding() -> None:
    tenths = "\n".join(
        f"a-eval f{n} head:{'pass' if n < 7 else 'fail'}" for n in range(10)
    )  # the sum of seven times 0.1 is a little less than 0.7
    assert head_score(tenths, threshold=0.7).meets is Meets.YES


def test_a_threshold_of_one_asks_for_every_fixture_however_little_it_weighs() -> None:
    heavy = "\n".join(f"a-eval f{n} critical head:pass" for n in range(1_200))
    weights = {Severity.CRITICAL: 1000.0, Severity.LOW: 0.001}
    for outcome, meets in (("pass", Meets.YES), ("judge", Meets.UNKNOWN), ("fail", Meets.NO)):
        score = head_score(f"{heavy}\na-eval g low head:{outcome}", weights=weights)
        assert (score.ends or (0,))[0] > 1 - TOLERANCE
        assert score.meets is meets


@pytest.mark.parametrize("weight", [0.0, 0.000_999, 1000.1, 1.7e308, 5e-324, -1.0, "inf", "nan"])
def test_weights_with_which_sums_are_no_numbers_are_refused(weight: float | str) -> None:
    with pytest.raises(ValidationError):
        ScoringSpec(severity_weights={Severity.HIGH: float(weight)})


@pytest.mark.parametrize("weight", [1_000_001, 1.7e308, -1.0, "inf", "nan"])
def test_an_assertion_may_have_no_weight_but_none_that_is_no_number(weight: float | str) -> None:
    with pytest.raises(ValidationError):
        AssertionSpec(type="contains", weight=float(weight), place=SourceLocation(file="f.yaml"))
    assert AssertionSpec(type="contains", weight=0, place=SourceLocation(file="f.yaml")).weight == 0


def test_sides_are_scored_apart() -> None:
    results = make_results("a-eval f base:pass head:fail")
    trials = group_trials(results.trials)

    assert score_eval(results.plan.evals[0], Side.BASE, trials).score == Measured(1.0)
    assert score_eval(results.plan.evals[0], Side.HEAD, trials).score == Measured(0.0)


def two_assertions(first: AssertionSpec, second: AssertionSpec) -> Fixture:
    fixture = make_results("a-eval f high head:pass").plan.evals[0].fixtures[0]
    return fixture.model_copy(update={"assertions": (first, second)})


def assertion(weight: float = 1.0, severity: Severity | None = None) -> AssertionSpec:
    return AssertionSpec(
        type="contains", weight=weight, severity=severity, place=SourceLocation(file="f.yaml")
    )


def assessed(*statuses: AssessmentStatus) -> tuple[Assessment, ...]:
    return tuple(make_assessment(type="contains", status=status, reason="") for status in statuses)


@pytest.mark.parametrize(
    ("first", "second", "statuses", "score"),
    [
        (assertion(), assertion(), (PASSED, PASSED), 1.0),
        (assertion(), assertion(), (PASSED, FAILED), 0.5),
        (assertion(weight=3), assertion(), (PASSED, FAILED), 0.75),
        (assertion(severity=Severity.LOW), assertion(), (PASSED, FAILED), 0.2),
        (assertion(), assertion(), (FAILED, FAILED), 0.0),
        (assertion(weight=0), assertion(), (FAILED, PASSED), 1.0),
        (assertion(weight=0), assertion(), (PASSED, FAILED), 0.0),
        (assertion(weight=0), assertion(weight=0), (PASSED, FAILED), 0.5),
        (assertion(), assertion(), (PASSED, ERROR), None),
        (assertion(), assertion(), (PASSED,), None),
    ],
)
def test_a_trials_score_is_the_weighted_share_of_passed_assertions(
    first: AssertionSpec,
    second: AssertionSpec,
    statuses: tuple[AssessmentStatus, ...],
    score: float | None,
) -> None:
    fixture = two_assertions(first, second)
    assert trial_score(fixture, assessed(*statuses), ScoringSpec()) == score


def test_severities_weigh_as_the_eval_says() -> None:
    fixture = two_assertions(assertion(severity=Severity.CRITICAL), assertion())
    scoring = ScoringSpec(severity_weights={Severity.CRITICAL: 8.0, Severity.HIGH: 2.0})
    assert trial_score(fixture, assessed(PASSED, FAILED), scoring) == 0.8


def test_a_fixtures_own_score_is_the_mean_of_its_trials() -> None:
    results = make_results("a-eval f head:pass,fail,candidate,judge")
    for number, score in enumerate((1.0, 0.5, None, None), start=1):
        results = edit(results, f"a-eval/f #{number} on head", score=score)
    (planned,) = results.plan.evals
    (found,) = score_eval(planned, Side.HEAD, group_trials(results.trials)).fixtures
    assert found.share == 0.5, "a trial without an answer has none of it, a lost one says nothing"
    assert found.low == 0.25


def test_no_score_comes_of_no_fixture() -> None:
    with pytest.raises(ValidationError, match="fixtures"):
        EvalScore(eval="a-eval", side=Side.HEAD, threshold=1, score=Measured(0), fixtures=())
