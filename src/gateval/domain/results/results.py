"""The results of a run: the plan and its trials, complete enough to report from."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from gateval.domain.base import Value
from gateval.domain.calibration.replay import CalibrationReplay
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import EarlierSet
from gateval.domain.results.sealed_verdict import SealedVerdict
from gateval.domain.results.trial_verdict import trial_verdict
from gateval.domain.trials.trial import Assessment, Outcome, Side, Trial, TrialKey


class RunInfo(Value):
    """What differs between two executions of the same plan; `started_at` is ISO 8601 in UTC.

    `ended` says in a sentence why the run ended before all was measured; empty if it did not.
    `over_budget` says why no model was asked any more, if the policy gave the run no more calls,
    tokens or dollars. `interrupted` says that somebody cancelled it; `started` names trials begun
    and not finished.
    `warnings` tell what went wrong beside the trials, such as an `after` that failed.
    """

    run: str = ""
    started_at: str = ""
    seconds: float = 0
    gateval: str = ""
    isolation: str = ""
    ended: str = ""
    over_budget: str = ""
    interrupted: bool = False
    started: tuple[TrialKey, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def cut(self) -> str:
        """Why trials that were asked for did not run, as sentences; empty where nobody knows."""
        stopped = "The run was interrupted." if self.interrupted else ""
        return " ".join(filter(None, (stopped, self.ended, self.over_budget)))


class Results(Value):
    """A plan and its trials in report order. Trials that never ran are simply absent.

    `calibrations` are the replays by which the word of judges counts, or does not; `earlier` are
    the sets of experiments that were known when the run began. `sealed` is what everybody may know
    of the sealed Evals that ran: their trials are not there.
    """

    version: Literal["results.v1"] = "results.v1"
    plan: Plan
    trials: tuple[Trial, ...] = ()
    calibrations: tuple[CalibrationReplay, ...] = ()
    earlier: tuple[EarlierSet, ...] = ()
    sealed: tuple[SealedVerdict, ...] = Field(default=(), exclude_if=operator.not_)
    info: RunInfo = RunInfo()

    @model_validator(mode="after")
    def _every_sealed_eval_has_its_verdict(self) -> Self:
        """What ran and has no trials here has a verdict, so that none is lost on the way."""
        if [one.eval for one in self.sealed] != [one.name for one in self.plan.sealed]:
            raise ValueError("the verdicts of sealed Evals are not those of its plan")
        return self

    @model_validator(mode="after")
    def _only_planned_trials(self) -> Self:
        seen = set()
        most = self.plan.most_repetitions()
        stored = {one.name: one.stored_counts() for one in self.plan.evals if one.stored}
        for trial in self.trials:
            key = trial.key
            may_be = key.repetition <= most.get((key.eval, key.fixture, key.side), 0)
            if key.side is Side.BASE and key.eval in stored:
                may_be &= key.repetition > stored[key.eval].get(key.fixture, 0)
            if key in seen or not may_be:
                what = "comes twice" if trial.key in seen else "is not planned"
                raise ValueError(f"the run {trial.key} {what}")
            seen.add(trial.key)
        return self

    @model_validator(mode="after")
    def _outcomes_follow_from_assessments(self) -> Self:
        """A pass rests on every assertion of its fixture. Anything else that says so is forged."""
        assertions = {
            (planned.name, fixture.name): (planned, fixture)
            for planned in self.plan.evals
            for fixture in planned.fixtures
        }
        for trial in self.trials:
            planned, fixture = assertions[trial.key.eval, trial.key.fixture]
            if planned.scoring.graded and not _scores_as_it_says(planned, fixture, trial):
                raise ValueError(f"the score of the run {trial.key} is not that of its assertions")
            if trial.outcome is not Outcome.PASS:
                continue
            if not _passes(planned, fixture, trial.assessments):
                raise ValueError(f"the run {trial.key} says pass, but its assertions do not")
        return self


def _passes(planned: PlannedEval, fixture: Fixture, found: Sequence[Assessment]) -> bool:
    """Whether a trial passes by its assertions; only a judge's may not count, and never all."""
    if len(found) != len(fixture.assertions) or not any(one.counts for one in found):
        return False
    judged = all(
        one.counts or (asked.needs_judge and planned.wants_calibration)
        for asked, one in zip(fixture.assertions, found, strict=True)
    )
    return judged and trial_verdict(planned.scoring, fixture, found).outcome is Outcome.PASS


def _scores_as_it_says(planned: PlannedEval, fixture: Fixture, trial: Trial) -> bool:
    """Whether a trial's score is what its assessments give; without any there is none."""
    if not trial.assessments:
        return trial.score is None
    return trial.score == trial_verdict(planned.scoring, fixture, trial.assessments).score


def results_of(
    plan: Plan,
    trials: Iterable[Trial],
    info: RunInfo,
    calibrations: Iterable[CalibrationReplay] = (),
) -> Results:
    """Put trials into report order, so that no report depends on which finished first."""
    return Results(
        plan=plan,
        trials=tuple(sorted(trials, key=lambda t: t.key.order)),
        calibrations=tuple(sorted(calibrations, key=lambda one: one.binding.digest)),
        info=info,
    )
