"""What stands for a score where there is none: each cell of the table, by what really comes of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gateval.domain.manifests.evaluation import (
    MODELS,
    ExecutionSpec,
    JudgeSpec,
    ScoringModel,
    ScoringSpec,
)
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.plan.planned_eval import Baseline, PlannedEval, Reason
from gateval.domain.results.averages import averages, group_trials, outcomes
from gateval.domain.results.results import RunStatus, _task
from gateval.domain.results.scoring import score_fixture
from gateval.domain.results.trial_verdict import (
    STANDS_FOR,
    StandIn,
    State,
    Use,
    axis_grades,
    grades,
    trial_verdict,
    whole_mean,
)
from gateval.domain.statistics.broad import broad_step, first
from gateval.domain.statistics.design import Look, LookResult, design
from gateval.domain.statistics.graded import graded_broad_step, graded_rule, graded_walk
from gateval.domain.statistics.walk import walk
from gateval.domain.trials.trial import (
    AssessmentStatus,
    Cause,
    Outcome,
    Side,
    Trial,
    TrialKey,
)
from tests.helpers.assessments import make_assessment
from tests.helpers.trials import PLACE, PROMPT

REPS = 4
LOOK = Look(base=REPS, head=REPS)
FIXTURE = Fixture(
    name="lab.row",
    input=PROMPT,
    assertions=(
        AssertionSpec(type="judge", name="tone", axis="tone", place=PLACE),
        AssertionSpec(type="contains", name="fact", axis="tone", place=PLACE),
    ),
    place=PLACE,
    path="x",
    digest="0",
)


def planned(model: ScoringModel) -> PlannedEval:
    return PlannedEval(
        name="lab",
        place=PLACE,
        agent="lab",
        judge=JudgeSpec(),
        scoring=ScoringSpec(model=model),
        execution=ExecutionSpec(reps_per_fixture=REPS),
        baseline=Baseline.NONE,
        why=(Reason(where="lab"),),
        fixtures=(FIXTURE,),
    )


def assessed(scoring: ScoringSpec, key: TrialKey, *scores: float, **tone: object) -> Trial:
    found = [
        make_assessment(
            index=at,
            type=spec.type,
            status=AssessmentStatus.PASSED if score else AssessmentStatus.FAILED,
            score=score,
            reason="So.",
        )
        for at, (spec, score) in enumerate(zip(FIXTURE.assertions, scores, strict=True))
    ]
    found[0] = make_assessment(**{**dict(found[0]), **tone})
    said = trial_verdict(scoring, FIXTURE, found)
    return Trial(key=key, assessments=tuple(found), output="x", **said._asdict())


def trials(model: ScoringModel, side: Side, state: State, others: float = 1.0) -> list[Trial]:
    """Three trials that score so much by all, and a last one in this state."""
    scoring = ScoringSpec(model=model)
    keys = [
        TrialKey(eval="lab", fixture=FIXTURE.name, side=side, repetition=repetition)
        for repetition in range(1, REPS + 1)
    ]
    made = [assessed(scoring, key, others, others) for key in keys[:-1]]
    if state is State.SILENT:
        made.append(Trial(key=keys[-1], outcome=Outcome.FAIL, cause=Cause.CANDIDATE, reason="No."))
    elif state in {State.LOST, State.SPOILED}:
        cause = Cause.JUDGE if state is State.LOST else Cause.CANDIDATE
        lost = {"status": AssessmentStatus.ERROR, "score": None, "cause": cause}
        made.append(assessed(scoring, keys[-1], 0.0, 1.0, **lost))
    elif state is State.UNCOUNTED:
        unheard = {"status": AssessmentStatus.ERROR, "score": None, "cause": Cause.UNCALIBRATED}
        made.append(assessed(scoring, keys[-1], 0.0, 1.0, **unheard))
    return made


def score(model: ScoringModel, state: State) -> StandIn:
    found = score_fixture(planned(model), FIXTURE, Side.HEAD, trials(model, Side.HEAD, state), REPS)
    known: Mapping[tuple[float, float], StandIn] = {
        (0.75, 0.75): StandIn.ZERO,
        (0.75, 1.0): StandIn.BOTH_ENDS,
        (1.0, 1.0): StandIn.LEFT_OUT,
    }
    return known[found.low, found.high]


def in_a_test(model: ScoringModel, side: Side, state: State) -> StandIn:
    """Find out what a test takes the last trial for, where head fails and base passes otherwise:
    there it finds a regression if and only if the last one agrees with the others.
    """
    ours = trials(model, side, state, others=float(side is Side.BASE))
    theirs = [float(side is Side.HEAD)] * REPS
    if model.graded:
        base, head = (theirs, grades(ours)) if side is Side.HEAD else (grades(ours), theirs)
        step = graded_walk(graded_rule((LOOK,), 0.05, 0.8), base, head).step
    else:
        passed: list[bool | None] = [bool(one) for one in theirs]
        sides = (passed, outcomes(ours)) if side is Side.HEAD else (outcomes(ours), passed)
        step = walk(design((LOOK,), 0.05), *sides).step
    if len(ours) < REPS:
        assert step is LookResult.GO_ON
        return StandIn.UNKNOWN
    zero = (step is LookResult.REGRESSED) is (side is Side.HEAD)
    if None in (grades(ours) if model.graded else outcomes(ours)):
        assert zero is (side is Side.BASE)
        return StandIn.HARMLESS
    return StandIn.ZERO if zero else StandIn.LEFT_OUT


def in_a_test_of_several(model: ScoringModel, side: Side, state: State) -> StandIn:
    """Find out what a test of several fixtures takes the last trial for: its means say it."""
    ours = trials(model, side, state)
    others = trials(model, Side.BASE if side is Side.HEAD else Side.HEAD, State.SILENT)[:-1]
    if len(ours) < REPS:
        return StandIn.UNKNOWN  # no look is taken before all of its trials are there
    whole = [Trial(**{**dict(others[0]), "key": one.key}) for one in ours]
    sides = (whole, ours) if side is Side.HEAD else (ours, whole)
    if model.graded:
        base, head = (grades(one) for one in sides)
        said = graded_broad_step((LOOK,), 0, [(base, head)], 0.05)
    else:
        base, head = (outcomes(one) for one in sides)
        said = broad_step((LOOK,), 0, [first(LOOK, base, head)], 0.05)
    return {0.75: StandIn.ZERO, 1.0: StandIn.LEFT_OUT}[
        said.head if side is Side.HEAD else said.base
    ]


def task(state: State) -> StandIn:
    """Find out what the score of a benchmark's task takes the last trial for."""
    one = planned(ScoringModel.EXPERIMENT)
    mine = _task("row", trials(ScoringModel.EXPERIMENT, Side.HEAD, state), one,
                 RunStatus.COMPLETED, begun=True, silent=False)  # fmt: skip
    return {None: StandIn.UNKNOWN, 0.75: StandIn.ZERO, 1.0: StandIn.LEFT_OUT}[mine.score]


def means(state: State, *, scorer: bool) -> StandIn:
    model = ScoringModel.EXPERIMENT
    mine = trials(model, Side.HEAD, state)
    if scorer:
        mean = averages(planned(model), Side.HEAD, group_trials(mine))[0].mean
    else:
        mean = whole_mean(axis_grades("tone", FIXTURE, mine), REPS)
    return {None: StandIn.UNKNOWN, 0.75: StandIn.ZERO, 1.0: StandIn.LEFT_OUT}[mean]


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
@pytest.mark.parametrize("state", State)
def test_each_state_means_for_each_use_what_the_table_says(
    model: ScoringModel, state: State
) -> None:
    row = STANDS_FOR[state]
    spoiled = state is State.SPOILED and not model.graded
    assert score(model, state) is (StandIn.ZERO if spoiled else row[Use.SCORE])
    assert in_a_test(model, Side.HEAD, state) is row[Use.HEAD]
    assert in_a_test(model, Side.BASE, state) is row[Use.BASE]
    assert in_a_test_of_several(model, Side.HEAD, state) is row[Use.TOGETHER]
    assert in_a_test_of_several(model, Side.BASE, state) is row[Use.TOGETHER]
    assert task(state) is row[Use.TASK]
    assert means(state, scorer=False) is row[Use.AXIS]
    assert means(state, scorer=True) is row[Use.SCORER]
