"""From trials to scores: a fixture's rate, an Eval's score, and how sure either is.

The fixture model: a trial passes when every assertion passes. A fixture's rate is passes over
*planned* repetitions, the Eval's score is the severity-weighted mean of the rates. What could not
be measured stays in the denominator, so both are intervals: `low` counts it as failed, `high` as
passed. Beside that, `interval` says how far chance alone may have moved the score. Repetitions that
were added because something looked worse never count: they are selected.

In the weighted model a fixture's rate is the mean of its trials' scores in place of the share that
passes; a trial without an answer scores 0. A threshold of 1 still asks that every trial passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import fsum

from pydantic import Field

from gateval.domain.base import Positive, Share, Value, plentiful
from gateval.domain.manifests.evaluation import TOLERANCE, ScoringModel
from gateval.domain.manifests.fixture import Fixture, Severity
from gateval.domain.plan.planned_eval import CONFIRMING, PlannedEval
from gateval.domain.results.averages import Grouped
from gateval.domain.results.trial_verdict import grade
from gateval.domain.statistics.walk import wilson_rate
from gateval.domain.text import show_threshold
from gateval.domain.trials.trial import Outcome, Side, Trial
from gateval.domain.verdicts import Measured, NotMeasured, Partly, Score, ends


class Meets(StrEnum):
    """Whether an interval meets a threshold."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@plentiful
class FixtureScore(Value):
    """One fixture on one side: how its planned repetitions ended. `missing` ones never ran.

    `silent` counts those of the failed ones in which the candidate gave no answer. `share` is the
    mean score of those that were measured: how much of its assertions, by weight, passed. It
    decides nothing. In the weighted model `points` is the sum of the scores of the `graded` trials;
    None in the other.
    """

    fixture: str
    severity: Severity
    weight: float
    planned: Positive
    passed: int = 0
    failed: int = 0
    silent: int = 0
    errors: int = 0
    skips: int = 0
    share: Share | None = None
    points: float | None = Field(default=None, ge=0)
    graded: int = 0

    @property
    def missing(self) -> int:
        """Planned repetitions without a trial."""
        return self.planned - self.passed - self.failed - self.errors - self.skips

    @property
    def unmeasured(self) -> int:
        """Repetitions that say nothing: errors, skips and missing ones."""
        return self.planned - self.passed - self.failed

    @property
    def low(self) -> float:
        """The rate if everything unmeasured had failed, in [0, 1]."""
        return self.passes[0] if self.points is None else min(1.0, self.points / self.planned)

    @property
    def high(self) -> float:
        """The rate if everything unmeasured had passed, in [0, 1]."""
        if self.points is None:
            return self.passes[1]
        return min(1.0, (self.points + (self.planned - self.graded)) / self.planned)

    @property
    def own(self) -> tuple[float, float] | None:
        """What every view calls the score of this fixture, as an interval in [0, 1].

        It is the share of its assertions that passed, by their weights, over the planned
        repetitions; in the models with scores, their mean. None where nothing was measured.
        """
        if self.points is not None:
            return (self.low, self.high) if self.graded else None
        if self.share is None:
            return None
        known = self.share * (self.passed + self.failed)
        return min(1.0, known / self.planned), min(1.0, (known + self.unmeasured) / self.planned)

    @property
    def passes(self) -> tuple[float, float]:
        """The share that passes, in [0, 1], if everything unmeasured had failed, and passed."""
        return self.passed / self.planned, (self.passed + self.unmeasured) / self.planned

    @property
    def all_passed(self) -> bool:
        """Every planned repetition passed."""
        return self.passed == self.planned

    @property
    def measured(self) -> bool:
        """Every planned repetition was measured."""
        return self.unmeasured == 0 and (self.points is None or self.graded == self.planned)


EVERY_CASE = "all pass"
"""The threshold of 1 where trials have scores."""


class EvalScore(Value):
    """An Eval on one side: its score in [0, 1], over `fixtures`.

    `model` is how it came about. `threshold` is None where none decides; `written` says that the
    Eval's manifest has it. `left_out` were not looked at: the score counts them as unmeasured.
    """

    eval: str
    side: Side
    model: ScoringModel = ScoringModel.FIXTURES
    threshold: float | None
    written: bool = True
    score: Score
    fixtures: tuple[FixtureScore, ...] = Field(min_length=1)
    left_out: tuple[FixtureScore, ...] = ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the highest that the score can be; None where nothing was measured."""
        return ends(self.score)

    @property
    def measured(self) -> bool:
        """The score is one number, not an interval."""
        return isinstance(self.score, Measured)

    @property
    def in_quarantine(self) -> bool:
        """Whether nothing of it counts, as all of its fixtures are in quarantine."""
        return not any(fixture.weight for fixture in self._all)

    @property
    def unscored(self) -> EvalScore:
        """The same, known to say nothing."""
        return self.replace(score=NotMeasured())

    @property
    def _all(self) -> tuple[FixtureScore, ...]:
        return (*self.fixtures, *self.left_out)

    @property
    def meets(self) -> Meets:
        """Whether the score reaches the threshold, however the unmeasured trials would end.

        A threshold of 1 asks for every fixture, however little one weighs.
        """
        counted = [fixture for fixture in self._all if fixture.weight]
        if self.threshold is None or not counted:
            return Meets.YES
        if self.ends is None:
            return Meets.UNKNOWN if self.threshold > 0 else Meets.YES
        low, high = self.ends
        if self._reaches(low, [fixture.passes[0] for fixture in counted]):
            return Meets.YES
        may = self._reaches(high, [fixture.passes[1] for fixture in counted])
        return Meets.UNKNOWN if may else Meets.NO

    @property
    def asks(self) -> str:
        """What it has to reach, in words: where trials have scores, a threshold of 1 asks that all
        of them pass, which a score below 1 does not contradict. One of 0 asks for nothing where
        that is usual.
        """
        every = self.model.graded and self.threshold is not None and self.threshold >= 1
        return (
            EVERY_CASE if every else show_threshold(None if self.asks_nothing else self.threshold)
        )

    @property
    def asks_nothing(self) -> bool:
        """Whether it has no threshold because its model usually has none."""
        return not self.threshold and not self.model.usual_threshold

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the true score may lie, in [0, 1]: about 95 %, for a score measured in full.

        Wilson's limits at the effective number of trials, (Σ w)² / Σ (w² / repetitions) (Kish).
        None where nothing was measured.
        """
        if self.ends is None:
            return None
        total = sum(fixture.weight for fixture in self.fixtures)
        if not total:
            return (0.0, 1.0)
        spread = sum(fixture.weight**2 / fixture.planned for fixture in self.fixtures)
        return wilson_rate(self.ends[0], total**2 / spread)

    @property
    def close(self) -> bool:
        """Whether it misses its threshold by no more than chance may do."""
        if self.threshold is None or self.threshold >= 1 or self.meets is not Meets.NO:
            return False
        return self.interval is not None and self.interval[1] >= self.threshold

    def _reaches(self, score: float, rates: Sequence[float]) -> bool:
        threshold = 1.0 if self.threshold is None else self.threshold
        if threshold >= 1:
            return all(rate == 1 for rate in rates)
        return score >= threshold - TOLERANCE


def score_fixture(
    planned: PlannedEval,
    fixture: Fixture,
    side: Side,
    trials: Iterable[Trial],
    repetitions: int,
) -> FixtureScore:
    """Count the outcomes of one fixture's first `repetitions` trials on one side.

    What stands as regressed is not measured: it counts as passed on base and as failed on head,
    with the scores that it had when it was.
    """
    counted = [trial for trial in trials if trial.key.repetition <= repetitions]
    if (stands := planned.stands(fixture.name)) is not None:
        fell = not stands.scores or stands.head_passes < stands.head_trials
        passed = repetitions if side is Side.BASE or not fell else 0
        own = stands.scores[side is Side.HEAD] if stands.scores else None
        mean = float(side is Side.BASE) if own is None else own
        return FixtureScore.of_known(
            fixture=fixture.name,
            severity=fixture.severity,
            weight=planned.weight(fixture),
            planned=repetitions,
            passed=passed,
            failed=repetitions - passed,
            share=own,
            points=mean * repetitions if planned.scoring.graded else None,
            graded=repetitions if planned.scoring.graded else 0,
        ).lean()
    lost = [trial.outcome for trial in counted if trial.passed is None]
    measured = [trial for trial in counted if trial.passed is not None] if lost else counted
    failed = [trial for trial in measured if not trial.passed]
    weighted = planned.scoring.graded
    grades = [score for score in map(grade, counted) if score is not None] if weighted else []
    return FixtureScore.of_known(
        fixture=fixture.name,
        severity=fixture.severity,
        weight=planned.weight(fixture),
        planned=repetitions,
        passed=len(measured) - len(failed),
        failed=len(failed),
        silent=sum(not trial.answered for trial in failed),
        errors=lost.count(Outcome.ERROR),
        skips=lost.count(Outcome.SKIP),
        share=_mean_score(measured),
        points=fsum(grades) if weighted else None,
        graded=len(grades) if weighted else 0,
    ).lean()


def _mean_score(trials: Iterable[Trial]) -> float | None:
    """Return the mean of the known scores; a trial without an answer has 0."""
    scores = [trial.score if trial.answered else 0.0 for trial in trials]
    known = [score for score in scores if score is not None]
    return fsum(known) / len(known) if known else None


def score_eval(
    planned: PlannedEval, side: Side, trials: Grouped, repetitions: int | None = None
) -> EvalScore:
    """Score one Eval on one side from the first `repetitions` of each fixture in `trials`.

    Without `repetitions`, those that were planned count, on base all that are stored.
    """
    many = repetitions or planned.execution.reps_per_fixture
    owners = planned.owners()
    stored = planned.stored_counts() if side is Side.BASE else {}
    fixtures = tuple(
        score_fixture(
            planned,
            fixture,
            side,
            trials.get((owners[fixture.name], fixture.name, side), ()),
            max(many, stored.get(fixture.name, 0)),
        )
        for fixture in planned.fixtures
    )
    left = tuple(
        FixtureScore(
            fixture=gone.name,
            severity=gone.severity,
            weight=planned.scoring.weight(gone.severity),
            planned=many,
            points=0.0 if planned.scoring.graded else None,
        )
        for gone in planned.left_out
    )
    return EvalScore(
        eval=planned.name,
        side=side,
        model=planned.scoring.model,
        threshold=planned.threshold,
        written=planned.scoring.pass_threshold is not None,
        score=mean_rate((*fixtures, *left)),
        fixtures=fixtures,
        left_out=left,
    )


def mean_rate(fixtures: Sequence[FixtureScore]) -> Score:
    """Return the weighted mean of the fixtures' rates; where no trial that counts says anything, as
    where all are in quarantine, there is none.
    """
    if not any(one.unmeasured < one.planned for one in fixtures if one.weight):
        return NotMeasured()
    low, high = _mean_rate(fixtures, high=False), _mean_rate(fixtures, high=True)
    if all(one.measured for one in fixtures):
        return Measured(low)
    planned = sum(one.planned for one in fixtures)
    return Partly(low, high, planned - sum(one.unmeasured for one in fixtures), planned)


def _mean_rate(fixtures: Sequence[FixtureScore], *, high: bool) -> float:
    """The weighted mean of the lowest or highest rates that fixtures can have."""
    total = sum(fixture.weight for fixture in fixtures)
    rates = [fixture.high if high else fixture.low for fixture in fixtures]
    weighted = sum(fixture.weight * rate for fixture, rate in zip(fixtures, rates, strict=True))
    return min(1.0, weighted / total)


def threshold_repetitions(
    planned: PlannedEval, trials: Grouped, first: EvalScore | None = None
) -> int:
    """Return how many repetitions of head's fixtures decide about the threshold.

    Those that are planned; but a score that misses it by no more than chance may do is judged again
    on three of each fixture. That is done once, and never for a threshold of 1, nor where an agent
    does the same each time. `first` is head's score on the planned repetitions, where it is known.
    """
    reps = planned.execution.reps_per_fixture
    written = planned.threshold is not None and planned.threshold < 1
    if not written or planned.deterministic or reps >= CONFIRMING:
        return reps
    if first is None and _none_fails(planned, trials):
        return reps
    score = first or score_eval(planned, Side.HEAD, trials)
    return CONFIRMING if score.measured and score.close else reps


def _none_fails(planned: PlannedEval, trials: Grouped) -> bool:
    """Whether no trial of head can have lowered the score: cheaper than to work it out."""
    if planned.scoring.graded or planned.standing:
        return False
    heads = (trials.get((owner, name, Side.HEAD), ()) for name, owner in planned.owners().items())
    return not any(trial.passed is False for several in heads for trial in several)
