"""The judge's noise is told apart from the agent's: it is shown the same outputs again."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from gateval.candidates.team import Candidates
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.problems import SourceLocation
from gateval.domain.results.results import Results
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import AssessmentStatus, Cause, Side, Trial, TrialKey
from gateval.engine.pairs import SHOWN
from gateval.engine.run import RunContext, judge_again
from gateval.judging.judge import Judge
from tests.helpers.assessments import make_assessment
from tests.helpers.reports import make_results
from tests.helpers.scripted_calls import ScriptedCalls, Turn, outage, says
from tests.helpers.trials import trace

PLACE = SourceLocation(file="evals/f.yaml")
STATUS = {True: AssessmentStatus.PASSED, False: AssessmentStatus.FAILED}


class Kept:
    """A trial log in memory."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []

    def append(self, trial: Trial) -> Trial:
        """Fulfil `TrialLog.append`."""
        self.trials.append(trial)
        return trial


def verdict(score: float) -> str:
    violation = {"rule": "r", "severity": "high", "evidence_step": 1, "quote": "want a refund"}
    return json.dumps(
        {
            "score": score,
            "confidence": 1,
            "summary": "So it is.",
            "violations": [violation] if score < 0.5 else [],
            "what_would_raise_score": "Ask.",
        }
    )


def judged(rows: str, model: str = "openai/gpt-x") -> Results:
    """Results of fixtures with a `contains` and, after it, a `judge`."""
    results = make_results(rows, threshold=0.0, deterministic=False)
    specs = (
        AssertionSpec(type="contains", options={"value": "a"}, place=PLACE),
        AssertionSpec(type="judge", options={"rubric": "Ask."}, place=PLACE, needs_judge=True),
    )
    evals = tuple(
        one.model_copy(
            update={
                "judge": JudgeSpec(model=model),
                "fixtures": tuple(f.model_copy(update={"assertions": specs}) for f in one.fixtures),
            }
        )
        for one in results.plan.evals
    )
    plan = results.plan.model_copy(update={"evals": evals})
    return results.model_copy(
        update={"plan": plan, "trials": tuple(map(_with_assessments, results.trials))}
    )


def _with_assessments(trial: Trial) -> Trial:
    if trial.passed is None:
        return trial
    said = make_assessment(index=1, type="judge", status=STATUS[trial.passed], reason="x")
    first = make_assessment(type="contains", status=AssessmentStatus.PASSED, reason="x")
    return trial.model_copy(
        update={
            "assessments": (first, said),
            "output": "an answer",
            "trace": trace("user: I want a refund.", "says: an answer"),
            "judge_usage": Usage(input_tokens=1, output_tokens=1),
        }
    )


def again(
    results: Results, turns: list[Turn], *, forever: bool = False
) -> tuple[dict[TrialKey, Trial], list[Trial], int]:
    """All trials afterwards, those that were stored anew, and how often the judge was asked."""
    trials = {trial.key: trial for trial in results.trials}
    calls, log = ScriptedCalls(turns, forever=forever), Kept()
    nobody = cast("Candidates", None)  # what judges again asks no candidate
    context = RunContext(nobody, Judge(calls), log, lambda _: None)
    asyncio.run(judge_again(results.plan.evals, trials, context))
    return trials, log.trials, len(calls.asked)


FLIPPED = "a-eval f base:pass head:fail+pass"


@pytest.mark.parametrize(
    ("score", "wavered"), [(0.9, {Side.HEAD: True, Side.BASE: False}), (0.1, {Side.HEAD: False, Side.BASE: True})]
)  # fmt: skip
def test_another_verdict_on_the_same_output_is_kept_beside_the_first(
    score: float, wavered: dict[Side, bool]
) -> None:
    results = judged(FLIPPED)
    trials, stored, asked = again(results, [says(verdict(score))], forever=True)
    assert asked == len(stored) == 4
    for trial in stored:
        first, said = trial.assessments
        assert first.again is None
        assert said.again is STATUS[score > 0.5]
        assert said.wavered is wavered[trial.key.side]
        assert trials[trial.key] == trial
        assert trial.judge_usage == Usage(input_tokens=11, output_tokens=6)
    before = {trial.key: trial for trial in results.trials}
    for trial in trials.values():
        assert (trial.passed, trial.score) == (before[trial.key].passed, before[trial.key].score)


def test_a_judge_that_gives_no_verdict_does_not_waver() -> None:
    _, stored, _ = again(judged(FLIPPED), [outage()], forever=True)
    assert stored
    assert all(one.again is None and not one.wavered for t in stored for one in t.assessments)


@pytest.mark.parametrize(
    "rows",
    [
        "a-eval f base:pass head:pass",
        "a-eval f base:fail head:fail",
        "a-eval f base:fail head:pass",
        "a-eval f base:pass head:judge",
        "a-eval f base:new head:fail",
    ],
)
def test_only_flipped_fixtures_are_shown_again(rows: str) -> None:
    assert again(judged(rows), []) == ({t.key: t for t in judged(rows).trials}, [], 0)


def test_scripted_judges_do_not_waver() -> None:
    assert again(judged(FLIPPED, model="scripted/judge"), [])[2] == 0


def test_at_most_three_outputs_of_each_side_are_shown() -> None:
    rows = "a-eval f base:pass,pass,pass,pass,pass head:fail,fail,fail,fail,fail"
    _, stored, asked = again(judged(rows), [says(verdict(0.1))], forever=True)
    assert asked == len(stored) == 2 * SHOWN
    assert {trial.key.repetition for trial in stored} == {1, 2, 3}


@pytest.mark.parametrize(
    "cut",
    [
        {"output": None},
        {"output_truncated": True},
        {"trace": None},
        {"trace": Trace(steps=(trace("says: a").steps[0].model_copy(update={"truncated": True}),))},
    ],
)
def test_what_is_not_there_in_full_cannot_be_shown_again(cut: dict[str, Any]) -> None:
    results = judged(FLIPPED)
    trials = tuple(
        t.model_copy(update=cut) if t.key.side is Side.HEAD else t for t in results.trials
    )
    assert again(results.model_copy(update={"trials": trials}), [])[2] == 0


def test_a_candidate_that_crashed_has_nothing_to_show() -> None:
    results = judged("a-eval f base:pass head:candidate")
    trials = tuple(
        t.model_copy(update={"output": None, "cause": Cause.CANDIDATE}) if t.passed is False else t
        for t in results.trials
    )
    assert again(results.model_copy(update={"trials": trials}), [])[2] == 0
