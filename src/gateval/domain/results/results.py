"""The results of a run: the plan and its trials, complete enough to report from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import model_validator

from gateval.domain.base import Value
from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import Plan
from gateval.domain.results.trial_verdict import trial_verdict
from gateval.domain.trials.trial import Outcome, Trial


class RunInfo(Value):
    """What differs between two executions of the same plan; `started_at` is ISO 8601 in UTC.

    `ended` says in a sentence why the run ended before all was measured; empty if it did not.
    """

    run: str = ""
    started_at: str = ""
    seconds: float = 0
    gateval: str = ""
    isolation: str = ""
    ended: str = ""


class Results(Value):
    """A plan and its trials in report order. Trials that never ran are simply absent."""

    version: Literal["results.v1"] = "results.v1"
    plan: Plan
    trials: tuple[Trial, ...] = ()
    info: RunInfo = RunInfo()

    @model_validator(mode="after")
    def _only_planned_trials(self) -> Self:
        seen = set()
        most = self.plan.most_repetitions()
        for trial in self.trials:
            key = trial.key
            may_be = key.repetition <= most.get((key.eval, key.fixture, key.side), 0)
            if key in seen or not may_be:
                what = "comes twice" if trial.key in seen else "is not planned"
                raise ValueError(f"the run {trial.key} {what}")
            seen.add(trial.key)
        return self

    @model_validator(mode="after")
    def _outcomes_follow_from_assessments(self) -> Self:
        """A pass rests on every assertion of its fixture. Anything else that says so is forged."""
        asked = {
            (planned.name, fixture.name): (planned.scoring, fixture)
            for planned in self.plan.evals
            for fixture in planned.fixtures
        }
        for trial in self.trials:
            scoring, fixture = asked[trial.key.eval, trial.key.fixture]
            if scoring.weighted and not _follows(trial, scoring, fixture):
                raise ValueError(f"the score of the run {trial.key} is not that of its assertions")
            if trial.outcome is not Outcome.PASS:
                continue
            if trial_verdict(scoring, fixture, trial.assessments).outcome is not Outcome.PASS:
                raise ValueError(f"the run {trial.key} says pass, but its assertions do not")
        return self


def _follows(trial: Trial, scoring: ScoringSpec, fixture: Fixture) -> bool:
    """Whether a trial's score is what its assessments give; without any there is none."""
    if not trial.assessments:
        return trial.score is None
    return trial.score == trial_verdict(scoring, fixture, trial.assessments).score


def results_of(plan: Plan, trials: Iterable[Trial], info: RunInfo) -> Results:
    """Put trials into report order, so that no report depends on which finished first."""
    return Results(plan=plan, trials=tuple(sorted(trials, key=lambda t: t.key.order)), info=info)
