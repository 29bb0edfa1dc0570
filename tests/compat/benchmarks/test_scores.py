"""Scores and verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.evaluation import SCORE_FROM, ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import DEFAULT_AXIS, AssertionSpec, Fixture
from gateval.domain.results.averages import group_trials
from gateval.domain.results.results import Results
from gateval.domain.results.scoring import score_eval
from gateval.domain.results.trial_verdict import axis_scores, trial_verdict
from gateval.domain.trials.trial import (
    Assessment,
    AssessmentStatus,
    Cause,
    Outcome,
    Side,
    Trial,
    TrialKey,
)
from tests.compat.benchmarks import second
from tests.compat.rows import states
from tests.helpers.assessments import make_assessment
from tests.helpers.benchmarks import bench, ran, scores
from tests.helpers.reports import make_results
from tests.helpers.tiers import examples
from tests.helpers.trials import PLACE, PROMPT

BENCHMARK = ScoringSpec(model=ScoringModel.BENCHMARK, pass_score=SCORE_FROM)

weights = st.one_of(st.just(0.0), st.floats(0.001, 1000))
some_scores = st.one_of(st.sampled_from([0.0, 1.0, 0.9, 0.5]), st.floats(1e-12, 1))
"""Not the least number above 0 that a float can be: half of that is 0, and no check scores it."""
criteria = st.lists(
    st.builds(
        second.Criterion,
        weights,
        st.one_of(some_scores, st.none()),
        st.sampled_from([None, "safety", "correctness", "efficiency"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


def task(asked: list[second.Criterion]) -> tuple[Fixture, tuple[Assessment, ...]]:
    """The fixture and the assessments that these criteria are."""
    specs = tuple(
        AssertionSpec(type="contains", name=f"c{at}", weight=one.weight, axis=one.axis, place=PLACE)
        for at, one in enumerate(asked)
    )
    made = Fixture(name="t", input=PROMPT, assertions=specs, place=PLACE, path="x", digest="0")
    return made, tuple(assessment(at, one) for at, one in enumerate(asked))


def assessment(at: int, one: second.Criterion) -> Assessment:
    if one.score is None:
        status, cause = AssessmentStatus.ERROR, Cause.GATE
        return make_assessment(
            index=at, type="contains", status=status, cause=cause, reason="No state."
        )
    failed = one.fatal or one.score < 1
    return make_assessment(
        index=at,
        type="contains",
        status=AssessmentStatus.FAILED if failed else AssessmentStatus.PASSED,
        score=one.score,
        reason="So.",
        fatal=one.fatal,
    )


@given(criteria)
@settings(max_examples=examples(500), deadline=None)
def test_tasks_score_as_a_second_implementation_says(asked: list[second.Criterion]) -> None:
    asked = [one._replace(fatal=one.fatal and one.score is not None) for one in asked]
    fixture, found = task(asked)
    verdict = trial_verdict(BENCHMARK, fixture, found)
    wanted = second.task(asked)
    if wanted is None:
        assert verdict.score is None
        best = float(second.mean(asked))
        assert verdict.outcome is (Outcome.ERROR if best >= 0.9 - 1e-9 else Outcome.FAIL)
    else:
        assert verdict.score == pytest.approx(wanted, abs=1e-12)
        assert (verdict.outcome is Outcome.PASS) is (second.verdict(wanted) == "pass")
        assert ScoringModel.BENCHMARK.called(verdict.score or 0.0) == second.verdict(wanted)


@given(criteria)
@settings(max_examples=examples(300), deadline=None)
def test_axes_score_as_a_second_implementation_says(asked: list[second.Criterion]) -> None:
    asked = [one._replace(fatal=one.fatal and one.score is not None) for one in asked]
    fixture, found = task(asked)
    made = axis_scores(fixture, trial(fixture, found))
    wanted = second.axes(asked)
    assert made.keys() == wanted.keys()
    for axis, (score, weight) in wanted.items():
        assert made[axis].weight == pytest.approx(weight, abs=1e-9)
        assert made[axis].score == (None if score is None else pytest.approx(score, abs=1e-12))


def trial(fixture: Fixture, found: tuple[Assessment, ...]) -> Trial:
    outcome, cause, _, score = trial_verdict(BENCHMARK, fixture, found)
    key = TrialKey(eval="a-eval", fixture=fixture.name, side=Side.HEAD, repetition=1)
    return Trial(key=key, outcome=outcome, cause=cause, assessments=found, score=score, output="x")


@given(st.lists(st.one_of(some_scores, st.just("late")), min_size=1, max_size=12))
@settings(max_examples=examples(200), deadline=None)
@states("The score of a benchmark run is the mean of its tasks' scores")
@states("A task over its time is `fail` with score 0")
def test_a_run_is_the_mean_of_its_tasks(given_scores: list[float | str]) -> None:
    rows = [f"a-eval t{n:02} head:skip" for n in range(len(given_scores))]
    made = make_results("\n".join(rows), threshold=None, deterministic=False)
    planned = made.plan.evals[0].model_copy(update={"scoring": BENCHMARK})
    plan = made.plan.model_copy(update={"evals": (planned,)})
    late = {one.key.fixture: one for one in made.trials if one.key.repetition == 1}
    trials = []
    for fixture, score in zip(planned.fixtures, given_scores, strict=True):
        if isinstance(score, str):
            trials.append(late[fixture.name])
        else:
            trials.append(trial(fixture, (assessment(0, second.Criterion(1, score)),)))
    results = Results(plan=plan, trials=tuple(trials))
    run = score_eval(planned, Side.HEAD, group_trials(results.trials))
    known = [0.0 if isinstance(one, str) else one for one in given_scores]
    assert run.ends == pytest.approx((second.run(known),) * 2, abs=1e-12)


TABLE = """\
tasks:
  - name: all
    instruction: Hello
    criteria:
      - {label: a, check: {type: contains, value: Hello}}
      - {label: b, weight: 0, check: {type: contains, value: Never}}
  - name: most
    instruction: Hello
    criteria:
      - {label: a, weight: 9, axis: correctness, check: {type: contains, value: Hello}}
      - {label: b, axis: safety, check: {type: contains, value: Never}}
  - name: some
    instruction: Hello
    criteria:
      - {label: a, weight: 3, axis: correctness, check: {type: contains, value: Hello}}
      - {label: b, axis: correctness, check: {type: contains, value: Never}}
      - {label: c, check: {type: contains, value: Never}}
  - name: none
    instruction: Hello
    criteria:
      - {label: a, check: {type: contains, value: Never}}
"""


@states("Every criterion produces a score in [0, 1]")
@states("The score of a task is the weighted mean of its criteria: "
        "sum(score_i * weight_i) / sum(weight_i)")  # fmt: skip
@states("`pass` when the aggregate is >= 0.9, `partial` when it is above zero, `fail` otherwise")
def test_the_table_of_scores(tmp_path: Path) -> None:
    results = ran(bench(tmp_path / "shop", TABLE))
    found = scores(results)
    assert found == {"all": 1.0, "most": 0.9, "some": 0.6, "none": 0.0}
    verdicts = {name: ScoringModel.BENCHMARK.called(score or 0.0) for name, score in found.items()}
    assert verdicts == {"all": "pass", "most": "pass", "some": "partial", "none": "fail"}
    outcomes = {one.key.fixture: one.outcome for one in results.trials}
    assert [outcomes[f"desk.{n}"] for n in ("all", "most", "some", "none")] == [
        "pass", "pass", "fail", "fail",
    ]  # fmt: skip
    (planned,) = results.plan.evals
    run = score_eval(planned, Side.HEAD, group_trials(results.trials))
    assert (run.ends or (0,))[0] == pytest.approx(0.625)
    assert ScoringModel.BENCHMARK.called((run.ends or (0,))[0]) == "partial"


def test_a_task_whose_criteria_weigh_nothing_says_so(tmp_path: Path) -> None:
    tasks = TABLE[: TABLE.index("  - name: most")].replace("label: a,", "label: a, weight: 0,")
    (trial,) = ran(bench(tmp_path / "shop", tasks)).trials
    assert (trial.outcome, trial.score) == ("fail", 0.0)
    assert trial.reason == "fail, scores 0: none of its criteria has weight, whatever they say."


@states("Criteria that share an axis are aggregated into a weighted mean per axis; those without "
        "one are in `__default__`")  # fmt: skip
@states("Axes are, for example, correctness, safety and efficiency")
def test_the_table_of_axes(tmp_path: Path) -> None:
    results = ran(bench(tmp_path / "shop", TABLE))
    (planned,) = results.plan.evals
    found = {
        one.key.fixture: {
            axis: (score.score, score.weight)
            for axis, score in axis_scores(planned.fixture(one.key.fixture), one).items()
        }
        for one in results.trials
        if one.key.repetition == 1
    }
    assert found["desk.most"] == {"correctness": (1.0, 9), "safety": (0.0, 1)}
    assert found["desk.some"] == {"correctness": (0.75, 4), DEFAULT_AXIS: (0.0, 1)}
    assert found["desk.all"] == {DEFAULT_AXIS: (1.0, 1)}


LATE = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [sleep, "30"]}
"""


@states("A task has a time of its own; over it, it is timed out, `fail`, with score 0")
def test_a_task_over_its_time(tmp_path: Path) -> None:
    tasks = """\
    tasks:
      - name: slow
        instruction: Hello
        timeoutSeconds: 0.5
        criteria: [{label: none, check: {type: notContains, value: Never}}]
    """
    shop = bench(tmp_path / "shop", tasks)
    shop.write("agents/support.yaml", LATE)
    shop.commit("Be slow")
    results = ran(shop)
    (planned,) = results.plan.evals
    trial = results.trials[0]
    assert (trial.outcome, trial.cause) == ("skip", "candidate")
    run = score_eval(planned, Side.HEAD, group_trials(results.trials))
    assert run.ends == (0.0, 0.0)
