"""Head's answers are shown beside base's once, in both orders, and what came of it is compared."""

from __future__ import annotations

import asyncio
import json

import pytest

from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.plan.planned_eval import StoredTrials
from gateval.domain.problems import SourceLocation
from gateval.domain.results.averages import group_trials
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.results.preferences import compare_preferences
from gateval.domain.results.results import Results
from gateval.domain.trials.model_call import ModelReply, ModelRequest, Usage
from gateval.domain.trials.trial import AssessmentStatus, Cause, Side, Trial, TrialKey
from gateval.engine.pairs import judge_pairs
from gateval.judging.judge import Judge
from tests.helpers.assessments import make_assessment
from tests.helpers.reports import make_results
from tests.helpers.scripted_calls import says
from tests.helpers.trials import trace

PLACE = SourceLocation(file="evals/f.yaml")


class Prefers:
    """A judge that prefers a word of the answers, or a place, and keeps what it was asked."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.asked: list[str] = []

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        del model, side
        text = request.messages[1].text
        self.asked.append(text)
        answers = {
            name: json.loads(line.partition(":")[2].rstrip(","))["text"]
            for name in ("first", "second")
            for line in text.splitlines()
            if line.startswith(f'"{name}"')
        }
        if self.what == "nonsense":
            return says("I cannot say.")
        place = self.what if self.what in answers else ""
        holding = [name for name, answer in answers.items() if self.what in answer]
        chosen = place or (holding[0] if len(holding) == 1 else "tie")
        tie = chosen == "tie"
        said = {
            "preferred": chosen,
            "summary": "So it is.",
            "evidence": None if tie else chosen,
            "quote": "" if tie else answers[chosen],
        }
        return says(json.dumps(said))


def asking(rows: str, *, stored: bool = False, real: bool = True) -> Results:
    """Results of fixtures with a `contains` and a `preference`, as trials leave them."""
    results = make_results(rows, threshold=0.0, deterministic=False)
    specs = (
        AssertionSpec(type="contains", options={"value": "a"}, place=PLACE),
        AssertionSpec(
            type="preference", weight=0, options={"rubric": "Kind?"}, place=PLACE, needs_judge=True
        ),
    )
    (one,) = results.plan.evals
    changed = {
        "judge": JudgeSpec(model="openai/gpt-x" if real else "scripted/judge"),
        "fixtures": tuple(f.model_copy(update={"assertions": specs}) for f in one.fixtures),
        "preference_share": 0.01,
        "stored": tuple(StoredTrials(fixture=f.name, marks="p") for f in one.fixtures)
        if stored
        else (),
    }
    plan = results.plan.model_copy(update={"evals": (one.model_copy(update=changed),)})
    trials = tuple(map(_with_assessments, results.trials))
    return results.model_copy(update={"plan": plan, "trials": trials})


def _with_assessments(trial: Trial) -> Trial:
    if trial.passed is None:
        return trial
    status = AssessmentStatus.PASSED if trial.passed else AssessmentStatus.FAILED
    unsaid = make_assessment(
        index=1, type="preference", status=AssessmentStatus.ERROR, cause=Cause.GATE, reason="x."
    )
    side = str(trial.key.side)
    return trial.model_copy(
        update={
            "assessments": (make_assessment(type="contains", status=status, reason="x"), unsaid),
            "output": f"a {side} answer",
            "trace": trace("user: I want a refund.", f"says: a {side} answer"),
            "judge_usage": Usage(input_tokens=1, output_tokens=1),
        }
    )


def compared(
    results: Results, prefers: Prefers, doubt: str = ""
) -> tuple[dict[TrialKey, Trial], int]:
    """All trials afterwards, and how many were told anew."""
    trials = {trial.key: trial for trial in results.trials}

    async def doubts() -> str:
        return doubt

    judge = Judge(prefers)

    async def go() -> int:
        told = 0
        async for trial in judge_pairs(results.plan.evals[0], trials, lambda _: judge, doubts):
            assert trial.key.side is Side.HEAD
            trials[trial.key], told = trial, told + 1
        return told

    told = asyncio.run(go())
    return trials, told


TEN = "\n".join(f"a-eval f{number} base:pass head:pass" for number in range(10))


@pytest.mark.parametrize(
    ("prefers", "won", "places", "change"),
    [
        ("base", -1, (0, 0), FixtureChange.REGRESSED),
        ("head", 1, (0, 0), FixtureChange.UNCHANGED),
        ("answer", 0, (0, 0), FixtureChange.UNCHANGED),
        ("first", 0, (10, 0), FixtureChange.UNCHANGED),
        ("second", 0, (0, 10), FixtureChange.UNCHANGED),
    ],
)
def test_both_orders_are_one_observation(
    prefers: str, won: int, places: tuple[int, int], change: FixtureChange
) -> None:
    results, judge = asking(TEN), Prefers(prefers)
    trials, told = compared(results, judge)
    assert (told, len(judge.asked)) == (10, 20)
    before = {trial.key: trial for trial in results.trials}
    for trial in trials.values():
        assert (trial.outcome, trial.score) == (before[trial.key].outcome, before[trial.key].score)
        if trial.key.side is Side.HEAD:
            said = trial.assessments[1]
            assert said.preference is not None
            assert (said.preference.won, said.counts) == (won, False)
            assert trial.judge_usage.total == 2 + 30
    found = compare_preferences(results.plan.evals[0], group_trials(trials.values()))
    assert found is not None
    assert (found.change, found.said.pairs) == (change, 10)
    assert (found.said.first, found.said.second) == places
    again, told = compared(
        results.model_copy(update={"trials": tuple(trials.values())}), Prefers("nonsense")
    )
    assert (again, told) == (trials, 0), "what is known is not asked again"
    Results.model_validate_json(
        results.model_copy(update={"trials": tuple(trials.values())}).model_dump_json()
    )


def test_answers_that_are_the_same_are_a_tie_that_nobody_is_asked_about() -> None:
    results, judge = asking(TEN), Prefers("base")
    same = tuple(trial.model_copy(update={"output": "a"}) for trial in results.trials)
    trials, told = compared(results.model_copy(update={"trials": same}), judge)
    assert (told, judge.asked) == (10, [])
    found = compare_preferences(results.plan.evals[0], group_trials(trials.values()))
    assert found is not None
    assert (found.change, found.said.tied) == (FixtureChange.UNCHANGED, 10)


@pytest.mark.parametrize(
    ("prefers", "doubt", "stored", "cause", "why"),
    [
        ("nonsense", "", False, Cause.JUDGE, "no usable preference, asked twice"),
        ("base", "κ 0.2 is too low", False, Cause.UNCALIBRATED, "κ 0.2 is too low"),
        ("base", "", True, Cause.GATE, "stored and not made now"),
    ],
)
def test_what_cannot_be_compared_is_not_measured_and_never_a_pass(
    prefers: str, doubt: str, stored: bool, cause: Cause, why: str
) -> None:
    results, judge = asking(TEN, stored=stored), Prefers(prefers)
    trials, _ = compared(results, judge, doubt)
    if prefers != "nonsense":
        assert not judge.asked
    found = compare_preferences(results.plan.evals[0], group_trials(trials.values()))
    assert found is not None
    assert (found.change, found.cause) == (FixtureChange.INCONCLUSIVE, cause)
    assert why in found.why
    heads = [trial for trial in trials.values() if trial.key.side is Side.HEAD]
    assert all(trial.passed for trial in heads), "a lost preference decides nothing of a trial"


def test_a_few_that_are_lost_are_left_out_and_many_are_not() -> None:
    base = {number: "judge" if number < 2 else "pass" for number in range(10)}
    for lost, change in ((2, FixtureChange.REGRESSED), (3, FixtureChange.INCONCLUSIVE)):
        base = {number: "judge" if number < lost else "pass" for number in range(10)}
        rows = "\n".join(f"a-eval f{n} base:{said} head:pass" for n, said in base.items())
        results = asking(rows)
        trials, _ = compared(results, Prefers("base"))
        found = compare_preferences(results.plan.evals[0], group_trials(trials.values()))
        assert found is not None
        assert (found.said.pairs, found.change) == (10 - lost, change)
