"""Head against base, fixture by fixture. The fixture is the unit; repetitions stay inside it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from gateval.domain.base import Value
from gateval.domain.plan.planned_eval import Baseline, PlannedEval, Removed
from gateval.domain.results.results import Grouped, Results, group_trials
from gateval.domain.results.scoring import EvalScore, FixtureScore, score_eval
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial


class FixtureChange(StrEnum):
    """How a fixture moved from base to head."""

    REGRESSED = "regressed"
    SUSPECT = "suspect"
    UNCHANGED = "unchanged"
    IMPROVED = "improved"
    NEW = "new"
    REMOVED = "removed"
    UNRELIABLE_BASELINE = "unreliable baseline"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARED = "not compared"


class FixtureComparison(Value):
    """One fixture, head against base.

    `no_answer` marks the deterministic break in which head gives no answer at all where base was
    measured. `baseline_gap` says that missing base trials could have changed the verdict.
    """

    fixture: str
    change: FixtureChange
    head: FixtureScore
    base: FixtureScore | None = None
    no_answer: bool = False
    baseline_gap: bool = False

    @property
    def may_hide_break(self) -> bool:
        """Whether a deterministic break shows if all unmeasured trials take the worst outcome."""
        return self.base is not None and self.head.passed == 0 and self.base.failed == 0


class EvalComparison(Value):
    """One Eval, head against base; `fixtures` in the plan's order."""

    eval: str
    agent: str
    baseline: Baseline
    head: EvalScore
    base: EvalScore | None = None
    fixtures: tuple[FixtureComparison, ...]

    @property
    def delta(self) -> float | None:
        """Head's score minus base's, in [-1, 1]; None unless both were fully measured."""
        if self.base is None or not (self.base.measured and self.head.measured):
            return None
        return self.head.low - self.base.low


class Comparison(Value):
    """All Evals of a run, in the plan's order, and what head no longer runs."""

    evals: tuple[EvalComparison, ...] = ()
    removed: tuple[Removed, ...] = ()


def compare(results: Results) -> Comparison:
    """Compare head's trials with base's, per Eval and fixture."""
    trials = group_trials(results.trials)
    return Comparison(
        evals=tuple(_compare_eval(planned, trials) for planned in results.plan.evals),
        removed=results.plan.removed,
    )


def _compare_eval(planned: PlannedEval, trials: Grouped) -> EvalComparison:
    head = score_eval(planned, Side.HEAD, trials)
    base = score_eval(planned, Side.BASE, trials) if Side.BASE in planned.sides else None
    fixtures = []
    for position, head_score in enumerate(head.fixtures):
        base_score = base.fixtures[position] if base else None
        name = head_score.fixture
        mine = trials.get((planned.measured_by(name), name, Side.HEAD), ())
        silent = silent_head(head_score.planned, mine)
        fixtures.append(
            compare_fixture(head_score, base_score, planned.baseline, head_is_silent=silent)
        )
    return EvalComparison(
        eval=planned.name,
        agent=planned.agent,
        baseline=planned.baseline,
        head=head,
        base=base,
        fixtures=tuple(fixtures),
    )


def silent_head(planned: int, trials: Sequence[Trial]) -> bool:
    """Whether the candidate itself is why none of its planned repetitions was answered."""
    return len(trials) == planned and all(
        trial.cause is Cause.CANDIDATE and trial.outcome in {Outcome.ERROR, Outcome.SKIP}
        for trial in trials
    )


def compare_fixture(
    head: FixtureScore, base: FixtureScore | None, baseline: Baseline, *, head_is_silent: bool
) -> FixtureComparison:
    """Compare one fixture.

    A *deterministic break* is `regressed`: all base repetitions pass and all head repetitions
    fail, or head is silent where base was measured. A worse rate otherwise is `suspect`. A gap in
    the baseline matters only where head does not pass every repetition: with a perfect head, no
    baseline could show a regression.
    """
    if base is None:
        return FixtureComparison(fixture=head.fixture, change=_without_base(baseline), head=head)
    no_answer = head_is_silent and base.measured
    return FixtureComparison(
        fixture=head.fixture,
        change=FixtureChange.REGRESSED if no_answer else _with_base(head, base),
        head=head,
        base=base,
        no_answer=no_answer,
        baseline_gap=not base.measured and not head.all_passed,
    )


def _without_base(baseline: Baseline) -> FixtureChange:
    if baseline is Baseline.SAME_AGENT:
        return FixtureChange.UNCHANGED
    return FixtureChange.NEW if baseline is Baseline.NEW_AGENT else FixtureChange.NOT_COMPARED


def _with_base(head: FixtureScore, base: FixtureScore) -> FixtureChange:
    if base.all_passed and head.all_failed:
        return FixtureChange.REGRESSED
    if not head.measured:
        return FixtureChange.INCONCLUSIVE
    if not base.measured:  # only a base that failed for certain can have been improved on
        return (
            FixtureChange.IMPROVED
            if head.all_passed and base.failed
            else FixtureChange.UNRELIABLE_BASELINE
        )
    if head.passed == base.passed:
        return FixtureChange.UNCHANGED
    return FixtureChange.IMPROVED if head.passed > base.passed else FixtureChange.SUSPECT
