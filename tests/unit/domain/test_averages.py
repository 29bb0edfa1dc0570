"""Averages of scorers, beside the article's own way to make them, written a second time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.evaluation import ExecutionSpec, JudgeSpec, ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.messages import Feedback, answer_digest
from gateval.domain.plan.planned_eval import Baseline, PlannedEval, Reason
from gateval.domain.results.averages import averages, group_trials, people
from gateval.domain.results.trial_verdict import trial_verdict
from gateval.domain.trials.trial import (
    AssessmentStatus,
    Cause,
    Outcome,
    Side,
    Trial,
    TrialKey,
)
from tests.helpers.assessments import make_assessment
from tests.helpers.tiers import examples
from tests.helpers.trials import PLACE, PROMPT

SCORING = ScoringSpec(model=ScoringModel.EXPERIMENT, pass_score=0.0)
SILENT, LOST = "silent", "lost"

Cell = float | None
"""What a scorer gives: a score, or nothing where it breaks."""

Run = list[Cell] | str
"""One trial of a row: the scores, no answer (`silent`), or nothing measured (`lost`)."""


def fixture(row: int, names: list[str], weights: list[float]) -> Fixture:
    specs = tuple(
        AssertionSpec(type="exactMatch", name=name, axis=name, weight=weight, place=PLACE)
        for name, weight in zip(names, weights, strict=True)
    )
    name = f"lab.row{row}"
    return Fixture(name=name, input=PROMPT, assertions=specs, place=PLACE, path="x", digest="0")


def trial(one: Fixture, repetition: int, run: Run) -> Trial:
    key = TrialKey(eval="lab", fixture=one.name, side=Side.HEAD, repetition=repetition)
    if isinstance(run, str):
        lost = run == LOST
        return Trial(
            key=key,
            outcome=Outcome.ERROR if lost else Outcome.FAIL,
            cause=Cause.PROVIDER if lost else Cause.CANDIDATE,
            reason="No answer.",
        )
    found = [
        make_assessment(
            index=at,
            type="exactMatch",
            status=AssessmentStatus.ERROR if score is None else AssessmentStatus.PASSED,
            score=score,
            reason="So.",
            cause=Cause.CHECK if score is None else None,
        )
        for at, score in enumerate(run)
    ]
    said = trial_verdict(SCORING, one, found)
    return Trial(
        key=key, outcome=said.outcome, cause=said.cause, reason=said.reason, score=said.score,
        assessments=tuple(found), output="HELLO",
    )  # fmt: skip


def planned(fixtures: list[Fixture], repetitions: int, **more: Any) -> PlannedEval:
    return PlannedEval(
        kind="Experiment",
        name="lab",
        place=PLACE,
        agent="lab",
        judge=JudgeSpec(),
        scoring=SCORING,
        execution=ExecutionSpec(reps_per_fixture=repetitions),
        baseline=Baseline.NONE,
        why=(Reason(where="lab"),),
        fixtures=tuple(fixtures),
        **more,
    )


def by_the_article(runs: list[dict[str, Fraction]], names: list[str]) -> dict[str, Fraction]:
    """`averageScores` of the article, with exact numbers: reduce to a total, over `runs.length`."""
    average_scores: dict[str, Fraction] = {}
    for name in names:
        total = Fraction(0)
        for run in runs:
            total += run[name]
        average_scores[name] = total / len(runs)
    return average_scores


def exact(run: Run, at: int) -> Fraction:
    return Fraction(0) if run == SILENT or isinstance(run, str) else Fraction(run[at] or 0)


SCORES = st.floats(0, 1, allow_nan=False)
WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-6, 10))
"""Not the least number above 0 that a float can be: half of that is 0."""

CELLS = st.one_of(SCORES, SCORES, SCORES, st.none())


@st.composite
def experiments(draw: st.DrawFn) -> tuple[list[str], list[float], list[list[Run]]]:
    names = [f"scorer{n}" for n in range(draw(st.integers(1, 4)))]
    weights = draw(st.lists(WEIGHTS, min_size=len(names), max_size=len(names)))
    row = st.lists(CELLS, min_size=len(names), max_size=len(names))
    repetitions = draw(st.integers(1, 3))
    run = st.one_of(row, row, row, st.sampled_from([SILENT, LOST]))
    rows = draw(
        st.lists(st.lists(run, min_size=repetitions, max_size=repetitions), min_size=1, max_size=6)
    )
    return names, weights, rows


@settings(max_examples=examples(300))
@given(experiments())
def test_averages_are_those_of_the_article(
    drawn: tuple[list[str], list[float], list[list[Run]]],
) -> None:
    names, weights, rows = drawn
    fixtures = [fixture(at, names, weights) for at in range(len(rows))]
    trials = [
        trial(one, number, run)
        for one, runs in zip(fixtures, rows, strict=True)
        for number, run in enumerate(runs, 1)
    ]
    found = averages(planned(fixtures, len(rows[0])), Side.HEAD, group_trials(trials))
    assert [one.scorer for one in found] == names
    for at, one in enumerate(found):
        known = [
            row
            for row in rows
            if all(r == SILENT or (r != LOST and r[at] is not None) for r in row)
        ]
        if all(run in (SILENT, LOST) for row in rows for run in row):
            known = []  # nothing answers at all: nothing was measured
        assert (one.rows, one.measured) == (len(rows), len(known))
        runs = [
            {one.scorer: sum((exact(run, at) for run in row), Fraction(0)) / len(row)}
            for row in known
        ]
        if not runs:
            assert one.mean is None
            continue
        assert one.mean is not None
        assert math.isclose(one.mean, by_the_article(runs, [one.scorer])[one.scorer], abs_tol=1e-12)


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(SCORES, WEIGHTS), min_size=1, max_size=5))
def test_a_row_scores_the_weighted_mean_of_its_scorers(pairs: list[tuple[float, float]]) -> None:
    one = fixture(0, [f"s{n}" for n in range(len(pairs))], [weight for _, weight in pairs])
    found = trial(one, 1, [score for score, _ in pairs])
    total = sum(Fraction(weight) for _, weight in pairs)
    exact = sum(Fraction(score) * Fraction(weight) for score, weight in pairs)
    assert found.score is not None
    assert math.isclose(found.score, exact / total if total else 0, abs_tol=1e-12)
    assert found.outcome is Outcome.PASS


def test_further_repetitions_do_not_count() -> None:
    """They were added because something looked worse: they are selected."""
    one = fixture(0, ["s"], [1])
    trials = [trial(one, 1, [1.0]), trial(one, 2, [0.0]), trial(one, 3, [0.0])]
    (found,) = averages(planned([one], 1), Side.HEAD, group_trials(trials))
    assert found.mean == 1


def test_people_speak_of_the_answers_they_saw() -> None:
    rows = [fixture(at, ["s"], [1]) for at in range(3)]
    said = [("HELLO", 0, 1.0), ("HELLO ", 0, 0.0), ("Other", 1, 0.0), ("", 2, 0.25)]
    feedback = tuple(
        Feedback(fixture=f"lab.row{row}", score=score, answer=answer_digest(text) if text else "")
        for text, row, score in said
    )
    trials = group_trials([trial(one, 1, [1.0]) for one in rows])
    found = people(planned(rows, 1, feedback=feedback), Side.HEAD, trials)
    assert found is not None
    assert (found.mean, found.measured, found.rows) == ((0.5 + 0.25) / 2, 2, 3)
    assert people(planned(rows, 1), Side.HEAD, trials) is None
