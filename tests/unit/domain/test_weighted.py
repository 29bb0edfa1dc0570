"""The weighted model: what a trial scores, when it passes, and how an Eval's scores come about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gateval.domain.decision.decision import make_report
from gateval.domain.history.baseline import setting_digest, wanted
from gateval.domain.manifests.evaluation import ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.plan.planned_eval import PlannedEval, StoredTrials
from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.results.doubts import without_mere_claims
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import Results, RunStatus, run_of
from gateval.domain.results.scoring import Meets
from gateval.domain.results.trial_verdict import (
    TrialVerdict,
    conclude_answer,
    criterion_score,
    trial_verdict,
)
from gateval.domain.statistics.design import LookResult
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import (
    Answer,
    Assessment,
    AssessmentStatus,
    Cause,
    Outcome,
    Side,
    Trial,
    TrialKey,
)
from gateval.domain.verdicts import GateVerdict, ReasonCode
from tests.helpers.assessments import make_assessment
from tests.helpers.reports import make_results
from tests.helpers.tiers import examples
from tests.helpers.trials import PLACE, PROMPT

WEIGHTED = ScoringSpec(model=ScoringModel.WEIGHTED)
ERROR = "error"


def specs(*weights: float, required: tuple[int, ...] = ()) -> Fixture:
    assertions = tuple(
        AssertionSpec(type="composite", weight=one, required=at in required, place=PLACE)
        for at, one in enumerate(weights)
    )
    return Fixture(name="f", input=PROMPT, assertions=assertions, place=PLACE, path="x", digest="0")


def found(*scores: float | str, least: float = 0.8, fatal: int | None = None) -> list[Assessment]:
    return [
        make_assessment(
            index=at,
            type="composite",
            status=AssessmentStatus.ERROR if score == ERROR
            else AssessmentStatus.PASSED if float(score) >= least else AssessmentStatus.FAILED,
            score=None if score == ERROR else float(score),
            reason="So it is.",
            cause=Cause.JUDGE if score == ERROR else None,
            fatal=at == fatal,
        )
        for at, score in enumerate(scores)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fixture", "assessments", "outcome", "score"),
    [
        pytest.param(specs(1, 1), found(1, 0.6), "pass", 0.8, id="mean at the limit"),
        pytest.param(specs(1, 1), found(1, 0.59), "fail", 0.795, id="below"),
        pytest.param(specs(3, 1), found(1, 0.5), "pass", 0.875, id="weights"),
        pytest.param(specs(1, 0), found(1, 0), "pass", 1.0, id="no weight"),
        pytest.param(specs(0, 0), found(1, 1), "fail", 0.0, id="nothing has weight"),
        pytest.param(specs(9, 1, required=(1,)), found(1, 0.79), "fail", 0.0, id="required"),
        pytest.param(specs(9, 0, required=(1,)), found(1, 0.5), "fail", 0.0, id="weightless"),
        pytest.param(specs(9, 1, required=(1,)), found(1, 0.8), "pass", 0.98, id="required met"),
        pytest.param(specs(1, 1), found(1, 1, fatal=0), "fail", 0.0, id="a required part"),
        pytest.param(specs(1, 1), found(1, ERROR), "error", None, id="not measured"),
        pytest.param(specs(9, 1), found(1, ERROR), "error", None, id="never a pass"),
        pytest.param(specs(1, 1), found(0.5, ERROR), "fail", None, id="cannot pass any more"),
        pytest.param(
            specs(1, 1, required=(0,)), found(0, ERROR), "fail", 0.0, id="required, with an error"
        ),
        pytest.param(specs(1, 1), found(1), "error", None, id="one lacks"),
    ],
)
def test_a_trial(
    fixture: Fixture, assessments: list[Assessment], outcome: str, score: float | None
) -> None:
    verdict = trial_verdict(WEIGHTED, fixture, assessments)
    assert verdict.outcome.value == outcome
    assert verdict.score == (None if score is None else pytest.approx(score, abs=1e-12))
    assert bool(verdict.reason) == (outcome != "pass")
    assert (verdict.cause is None) == (outcome != "error")


def test_the_limit_is_settable() -> None:
    half = ScoringSpec(model=ScoringModel.WEIGHTED, pass_score=0.5)
    assert trial_verdict(half, specs(1), found(0.5)).outcome is Outcome.PASS
    assert trial_verdict(half, specs(1), found(0.49)).outcome is Outcome.FAIL


def test_the_model_of_fixtures_is_as_it_was() -> None:
    verdict = trial_verdict(ScoringSpec(), specs(3, 1), found(1, 0.5))
    assert verdict == TrialVerdict(Outcome.FAIL, None, "composite: So it is.", 0.75)


CASE = st.lists(
    st.tuples(
        st.one_of(st.just(0.0), st.floats(1e-6, 1000)),
        st.one_of(st.none(), st.floats(0, 1)),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(500), deadline=None)
@given(CASE, st.floats(0.01, 1))
def test_against_a_second_implementation(
    case: list[tuple[float, float | None, bool]], limit: float
) -> None:
    """Written from the document alone, with nothing of ours but the values."""
    scoring = ScoringSpec(model=ScoringModel.WEIGHTED, pass_score=limit)
    fixture = specs(
        *(one[0] for one in case), required=tuple(i for i, c in enumerate(case) if c[2])
    )
    verdict = trial_verdict(
        scoring, fixture, found(*(ERROR if one[1] is None else one[1] for one in case))
    )
    if any(must and score is not None and score < 0.8 for _, score, must in case):
        assert (verdict.outcome, verdict.score) == (Outcome.FAIL, 0.0)
        return
    total, points, unknown = 0.0, 0.0, False
    for weight, score, _ in case:
        total += weight
        points += weight * (1.0 if score is None else score)
        unknown = unknown or score is None
    best = points / total if total > 0 else 0.0
    if abs(best - limit) < 1e-8:
        return
    if best < limit:
        assert verdict.outcome is Outcome.FAIL
    else:
        assert verdict.outcome is (Outcome.ERROR if unknown else Outcome.PASS)
    if unknown:
        assert verdict.score is None
    else:
        assert verdict.score == pytest.approx(best, abs=1e-12)


def weighted(rows: str, scores: dict[str, list[float | None]], **options: Any) -> Results:
    """Results whose Eval `a-eval` is weighted; `scores` are by fixture and side, each in order."""
    options = {"threshold": None, "deterministic": False} | options
    made = make_results(rows, **options)
    evals = tuple(one.model_copy(update={"scoring": WEIGHTED}) for one in made.plan.evals)
    plan = made.plan.model_copy(update={"evals": evals})
    trials = [
        scored(TrialKey(eval="a-eval", fixture=name, side=Side(side), repetition=number), one)
        for where, given in scores.items()
        for name, _, side in [where.partition(" ")]
        for number, one in enumerate(given, 1)
    ]
    return Results(plan=plan, trials=tuple(trials))


def scored(key: TrialKey, score: float | None) -> Trial:
    assessment = found(ERROR if score is None else score)[0]
    outcome = Outcome.ERROR if score is None else Outcome.PASS if score >= 0.8 else Outcome.FAIL
    return Trial(
        key=key, outcome=outcome, cause=assessment.cause, assessments=(assessment,), score=score,
        output="x", trace=Trace(),
    )  # fmt: skip


ROW = "a-eval f base:pass head:pass"


def test_an_agent_cannot_hide_that_it_got_worse_by_an_end_state_that_nobody_can_read() -> None:
    """Nothing else was measured of these runs, and it is the agent that made it so."""
    made = weighted(ROW, {"f base": [0.9] * 10, "f head": [None] * 9 + [0.9]})
    spoiled = make_assessment(
        type="composite",
        status=AssessmentStatus.ERROR,
        score=None,
        cause=Cause.CANDIDATE,
        reason="Too large to be looked at.",
    )
    trials = tuple(
        one.model_copy(update={"cause": Cause.CANDIDATE, "assessments": (spoiled,)})
        if one.score is None
        else one
        for one in made.trials
    )
    report = make_report(made.model_copy(update={"trials": trials}))
    assert report.comparison.evals[0].fixtures[0].change is FixtureChange.REGRESSED
    assert report.decision.verdict is GateVerdict.FAIL


@pytest.mark.parametrize(
    ("base", "head", "change", "wanted"),
    [
        pytest.param([0.9], [0.9], "unchanged", 0, id="as before"),
        pytest.param([0.9], [0.6], "inconclusive", 4, id="looks worse: more trials"),
        pytest.param([0.9] * 10, [0.6] * 10, "regressed", 0, id="fails now"),
        pytest.param([0.99] * 10, [0.9] * 10, "regressed", 0, id="still passes, and fell"),
        pytest.param([0.5], [0.9], "unchanged", 0, id="better, once"),
        pytest.param([0.9] * 3, [0.8, 0.9, 0.9], "unchanged", 0, id="not so much"),
        pytest.param([0.9], [None], "inconclusive", 0, id="not measured"),
    ],
)
def test_a_fixture_is_compared_by_its_scores(
    base: list[float | None], head: list[float | None], change: str, wanted: int
) -> None:
    results = weighted(ROW, {"f base": base, "f head": head})
    (compared,) = compare(results).evals
    (fixture,) = compared.fixtures
    assert fixture.change.value == change
    assert len(next_trials(results.plan, results.trials)) == wanted
    known = [score for score in head if score is not None]
    assert fixture.head_all.mean == pytest.approx(sum(known) / len(known) if known else None)


def test_passes_alone_would_not_have_seen_it() -> None:
    ninety: list[float | None] = [0.9] * 10
    full: list[float | None] = [0.99] * 10
    results = weighted(ROW, {"f base": full, "f head": ninety})
    (fixture,) = compare(results).evals[0].fixtures
    assert (fixture.head_all.passes, fixture.change) == (6, FixtureChange.REGRESSED)
    report = make_report(results)
    (reason,) = [one.text for one in report.decision.reasons if one.fixture == "f"]
    assert (
        reason == "f regressed: scored 0.99 (6 runs, 6 passed) before, 0.90 now (6 runs, 6 passed)"
    )


def test_fixtures_that_are_all_a_little_worse_are_worse_together() -> None:
    names = [f"f{number}" for number in range(12)]
    rows = "\n".join(f"a-eval {name} base:pass,pass,pass head:pass,pass,pass" for name in names)
    scores: dict[str, list[float | None]] = {}
    for number, name in enumerate(names):
        scores[f"{name} base"] = [0.9, 0.92, 0.88 + number / 1000]
        scores[f"{name} head"] = [0.84, 0.86, 0.83 - number / 1000]
    results = weighted(rows, scores)
    (compared,) = compare(results).evals
    assert compared.broad is not None
    assert compared.broad.step is LookResult.REGRESSED
    text = " ".join(one.text for one in make_report(results).decision.reasons)
    assert "90 % was the mean score before, 84 % now" in text


def test_an_evals_score_is_the_mean_of_its_trials_scores_and_names_its_model() -> None:
    rows = "a-eval f base:pass,pass head:pass,pass\na-eval g base:pass,pass head:pass,pass"
    results = weighted(
        rows,
        {"f base": [1, 1], "f head": [0.8, 1], "g base": [1, 1], "g head": [0.4, None]},
    )
    (compared,) = compare(results).evals
    assert compared.head_first.model is ScoringModel.WEIGHTED
    assert compared.head_first.ends == pytest.approx(((0.9 + 0.2) / 2, (0.9 + 0.7) / 2))
    assert (compared.base and compared.base.ends) == (1, 1)


@pytest.mark.parametrize(("score", "meets"), [(0.8, Meets.YES), (0.79, Meets.NO)])
def test_without_a_baseline_every_case_has_to_pass_not_to_be_perfect(
    score: float, meets: Meets
) -> None:
    results = weighted("a-eval f head:pass", {"f head": [score]}, threshold=1.0)
    head = compare(results).evals[0].head
    assert (head.meets, head.asks) == (meets, "all pass")
    told = make_report(results).decision.reasons
    missed = [one.text for one in told if one.code is ReasonCode.BELOW_THRESHOLD]
    wanted = ["a-eval scores 0.79, and not all of its cases pass, as it asks"]
    assert missed == ([] if meets is Meets.YES else wanted)


def test_a_threshold_below_1_is_that_of_the_score() -> None:
    results = weighted("a-eval f head:pass", {"f head": [0.9]}, threshold=1.0)
    head = compare(results).evals[0].head.model_copy(update={"threshold": 0.95})
    assert (head.meets, head.asks) == (Meets.NO, "0.95")


def test_no_answer_scores_nothing() -> None:
    results = weighted("a-eval f base:pass head:candidate", {"f base": [0.9]})
    silent = make_results("a-eval f base:pass head:candidate").trials
    crashed = [one for one in silent if one.key.side is Side.HEAD and one.key.repetition == 1]
    (fixture,) = (
        compare(results.model_copy(update={"trials": (*results.trials, *crashed)}))
        .evals[0]
        .fixtures
    )
    assert (fixture.head_all.mean, fixture.head_all.silent) == (0.0, 1)


def test_a_score_that_its_assertions_do_not_give_is_forged() -> None:
    results = weighted(ROW, {"f base": [0.9], "f head": [0.5]})
    forged = results.trials[1].model_copy(update={"score": 0.95})
    with pytest.raises(ValidationError, match="is not that of its assertions"):
        Results(plan=results.plan, trials=(results.trials[0], forged))


def test_a_score_without_assertions_is_forged_and_none_is_not() -> None:
    results = weighted(ROW, {"f base": [0.9], "f head": [0.5]})
    lost = {"outcome": Outcome.ERROR, "cause": Cause.PROVIDER, "reason": "Down.", "assessments": ()}
    bare = results.trials[1].model_copy(update={**lost, "score": None})
    assert Results(plan=results.plan, trials=(results.trials[0], bare)).trials[1].score is None
    forged = bare.model_copy(update={"score": 0.95})
    with pytest.raises(ValidationError, match="is not that of its assertions"):
        Results(plan=results.plan, trials=(results.trials[0], forged))


def test_a_trial_keeps_what_it_was_made_of() -> None:
    spent, judged = Usage(input_tokens=10), Usage(input_tokens=7)
    answer = Answer(output="Hello", usage=spent, seconds=2.5)
    key = TrialKey(eval="a-eval", fixture="f", side=Side.HEAD, repetition=1)
    made = conclude_answer(key, specs(1), answer, found(0.9), judged, WEIGHTED)
    assert (made.outcome, made.score, made.output, made.seconds) == (
        Outcome.PASS,
        0.9,
        "Hello",
        2.5,
    )
    assert (made.usage, made.judge_usage) == (spent, judged)
    assert not made.output_truncated


def test_a_criterion_whose_required_part_failed_scores_nothing() -> None:
    told = found(0.9, 0.9, ERROR, fatal=1)
    assert [criterion_score(one) for one in told] == [0.9, 0.0, 1.0]


def tasks(rows: str, scores: dict[str, list[float | None]], **info: Any) -> Results:
    """The results of a benchmark with these tasks."""
    results = weighted(rows, scores)
    scoring = {"scoring": ScoringSpec(model=ScoringModel.BENCHMARK)}
    evals = tuple(one.model_copy(update=scoring) for one in results.plan.evals)
    plan = results.plan.model_copy(update={"evals": evals})
    return results.model_copy(update={"plan": plan, "info": results.info.model_copy(update=info)})


def test_a_benchmark_s_score_is_the_mean_of_its_tasks() -> None:
    results = tasks("a-eval f head:pass\na-eval g head:pass", {"f head": [1.0], "g head": [0.5]})
    run = run_of(results, results.plan.evals[0])
    assert (run.status, run.score, run.verdict) == (RunStatus.COMPLETED, 0.75, "partial")
    assert [(one.score, one.verdict) for one in run.tasks] == [(1.0, "pass"), (0.5, "partial")]


def test_of_a_benchmark_that_was_cancelled_no_score_is_known() -> None:
    results = tasks("a-eval f head:pass\na-eval g head:pass", {"f head": [1.0]}, interrupted=True)
    run = run_of(results, results.plan.evals[0])
    assert (run.status, run.score, run.verdict) == (RunStatus.CANCELLED, None, None)
    assert [one.score for one in run.tasks] == [1.0, None]


def test_part_of_a_score_that_is_merely_claimed_does_not_count_either() -> None:
    results = weighted(ROW, {"f base": [0.9], "f head": [0.5]})
    base, head = results.trials
    seen = base.model_copy(update={"trace": Trace(source="gateway", model_calls=1)})
    claimed = head.assessments[0].model_copy(update={"claimed": True})
    told = head.model_copy(update={"assessments": (claimed,)})
    found = without_mere_claims(results.model_copy(update={"trials": (seen, told)}))
    assert (found.trials[1].outcome, found.trials[1].score) == (Outcome.ERROR, None)


@pytest.mark.parametrize(
    ("base", "head", "change", "wanted"),
    [
        ([0.99], [0.9], "inconclusive", 2),
        ([0.99] * 2, [0.9] * 2, "regressed", 0),
        ([0.82], [0.79], "inconclusive", 2),
        ([0.9], [0.87], "unchanged", 0),
        ([0.5], [0.9], "improved", 0),
        ([0.5], [0.4], "inconclusive", 2),
    ],
)
def test_an_agent_that_does_the_same_each_time_is_worse_by_one_score(
    base: list[float | None], head: list[float | None], change: str, wanted: int
) -> None:
    results = weighted(ROW, {"f base": base, "f head": head}, deterministic=True)
    (fixture,) = compare(results).evals[0].fixtures
    assert fixture.change.value == change
    assert len(next_trials(results.plan, results.trials)) == wanted


UNBELIEVED = make_assessment(
    index=1, type="rubric", status=AssessmentStatus.ERROR, reason="No.", cause=Cause.UNCALIBRATED
)


@pytest.mark.parametrize(
    ("fixture", "first", "outcome", "score"),
    [
        (specs(1, 9), 0.9, "pass", 0.9),
        (specs(1, 9), 0.5, "fail", 0.5),
        (specs(1, 9, required=(1,)), 0.9, "pass", 0.9),
        (specs(0, 9), 0.9, "error", None),
    ],
)
def test_what_a_judge_says_that_is_not_calibrated_has_no_weight(
    fixture: Fixture, first: float, outcome: str, score: float | None
) -> None:
    verdict = trial_verdict(WEIGHTED, fixture, [*found(first), UNBELIEVED])
    assert (verdict.outcome.value, verdict.score) == (outcome, score)


def test_nothing_but_such_a_judge_is_an_error() -> None:
    alone = UNBELIEVED.model_copy(update={"index": 0})
    assert trial_verdict(WEIGHTED, specs(1), [alone]).outcome is Outcome.ERROR


def test_stored_trials_hold_no_scores() -> None:
    (planned,) = weighted(ROW, {}).plan.evals
    stored = (StoredTrials(fixture="f", marks="ppp"),)
    with pytest.raises(ValidationError, match="no scores"):
        PlannedEval.model_validate({**planned.model_dump(), "stored": stored})
    plan = weighted(ROW, {}).plan
    assert wanted(plan) == {}
    assert wanted(make_results(ROW, threshold=None, deterministic=False).plan).keys() == {"a-eval"}


def test_passes_by_scores_and_passes_by_all_are_stored_apart() -> None:
    plans = [make_results(ROW).plan, weighted(ROW, {}).plan]
    assert len({setting_digest(plan, plan.evals[0], Side.BASE) for plan in plans}) == 2


def test_where_nothing_has_weight_it_says_so() -> None:
    verdict = trial_verdict(WEIGHTED, specs(0, 0), found(1, 1))
    assert verdict.reason == "scores 0.00, below 0.80: nothing that was looked at has weight."
