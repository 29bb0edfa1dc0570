"""Head against base, fixture by fixture. The fixture is the unit; repetitions stay inside it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from gateval.domain.base import Value
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.planned_eval import Baseline, PlannedEval, Removed
from gateval.domain.results.broad_slippage import broad_slippage
from gateval.domain.results.course import Course, course_of, is_silent, outcomes, too_many_lost
from gateval.domain.results.grouping import Grouped, group_trials
from gateval.domain.results.results import Results
from gateval.domain.results.scoring import EvalScore, FixtureScore, score_eval
from gateval.domain.results.threshold import threshold_repetitions
from gateval.domain.statistics.broad import Broad
from gateval.domain.statistics.design import Step
from gateval.domain.statistics.status import deterministic, status
from gateval.domain.statistics.walk import Count, counted
from gateval.domain.trials.trial import Side, Trial


class FixtureChange(StrEnum):
    """How a fixture moved from base to head."""

    REGRESSED = "regressed"
    SUSPECT = "suspect"
    NOT_CONFIRMED = "not confirmed"
    UNCHANGED = "unchanged"
    IMPROVED = "improved"
    NEW = "new"
    REMOVED = "removed"
    UNRELIABLE_BASELINE = "unreliable baseline"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARED = "not compared"


class Repeated(Value):
    """All trials of one fixture on one side that the rule looked at.

    `passes` of `trials` measured ones; in `silent` of these the candidate gave no answer; `lost`
    ones say nothing.
    """

    passes: int = 0
    trials: int = 0
    silent: int = 0
    lost: int = 0


class FixtureComparison(Value):
    """One fixture, head against base.

    `head` and `base` count the repetitions that make up the score; `head_all` and `base_all` those
    that the comparison rests on. `no_answer` says that head gave no answer at all where base did.
    `baseline_gap` says that lost or missing base trials could have changed the status. `exact` says
    that the candidates proved to be deterministic. `found_at` is when an earlier run found it
    regressed, which stands; empty if this run measured it. `missing` planned trials of head did
    not run.
    """

    fixture: str
    change: FixtureChange
    head: FixtureScore
    base: FixtureScore | None = None
    head_all: Repeated = Repeated()
    base_all: Repeated | None = None
    no_answer: bool = False
    baseline_gap: bool = False
    exact: bool = False
    missing: int = 0
    first_passed: bool = False
    found_at: str = ""

    @property
    def may_hide_break(self) -> bool:
        """Whether head might turn out broken, if all that was lost took the worst outcome."""
        return self.base is not None and self.head.passed == 0 and self.base.failed == 0

    @property
    def inconclusive(self) -> bool:
        """Whether too many of head's trials were lost, or of base's where these matter."""
        return self.change is FixtureChange.INCONCLUSIVE


class EvalComparison(Value):
    """One Eval, head against base; `fixtures` in the plan's order.

    `head` is the score that decides. `head_first` is made of the planned repetitions, as `base`
    is. `broad` is what all fixtures together say, None where that was not looked at.
    """

    eval: str
    agent: str
    baseline: Baseline
    head: EvalScore
    base: EvalScore | None = None
    fixtures: tuple[FixtureComparison, ...]
    broad: Broad | None = None
    head_first: EvalScore

    @property
    def delta(self) -> float | None:
        """Head's score minus base's on equal repetitions, in [-1, 1]; None unless measured."""
        if self.base is None or not (self.base.measured and self.head_first.measured):
            return None
        return self.head_first.low - self.base.low

    @property
    def regressed(self) -> bool:
        """Whether a fixture of it regressed, or all together."""
        return self.slipped or any(
            fixture.change is FixtureChange.REGRESSED for fixture in self.fixtures
        )

    @property
    def slipped(self) -> bool:
        """Whether its fixtures together are worse than before."""
        return self.broad is not None and self.broad.step is Step.REGRESSED


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
    reps = threshold_repetitions(planned, trials)
    head = score_eval(planned, Side.HEAD, trials, reps)
    planned_reps = planned.execution.reps_per_fixture
    base = score_eval(planned, Side.BASE, trials, planned_reps) if _has_base(planned) else None
    fixtures = []
    for position, fixture in enumerate(planned.fixtures):
        name = planned.measured_by(fixture.name)
        ours, theirs = (
            trials.get((name, fixture.name, side), ()) for side in (Side.HEAD, Side.BASE)
        )
        scores = head.fixtures[position], base.fixtures[position] if base else None
        fixtures.append(_compare_fixture(planned, fixture, scores, ours, theirs))
    return EvalComparison(
        eval=planned.name,
        agent=planned.agent,
        baseline=planned.baseline,
        head=head,
        base=base,
        fixtures=tuple(fixtures),
        broad=broad_slippage(planned, trials),
        head_first=score_eval(planned, Side.HEAD, trials, planned_reps),
    )


def _has_base(planned: PlannedEval) -> bool:
    return Side.BASE in planned.sides


def _compare_fixture(
    planned: PlannedEval,
    fixture: Fixture,
    scores: tuple[FixtureScore, FixtureScore | None],
    head: Sequence[Trial],
    base: Sequence[Trial],
) -> FixtureComparison:
    score, base_score = scores
    stands = planned.stands(fixture.name)
    if stands is not None:
        return FixtureComparison(
            fixture=fixture.name,
            change=FixtureChange.REGRESSED,
            head=score,
            base=base_score,
            head_all=Repeated(passes=stands.head_passes, trials=stands.head_trials),
            base_all=Repeated(passes=stands.base_passes, trials=stands.base_trials),
            found_at=stands.found_at,
        )
    course = course_of(planned, fixture, base, head)
    silent = is_silent(head) and any(trial.answered for trial in base if trial.passed is not None)
    most = course.wanted
    return FixtureComparison(
        fixture=fixture.name,
        change=_change(planned, fixture, course, silent, head, base),
        head=score,
        base=base_score,
        head_all=_repeated(head, most.head),
        base_all=_repeated(base, most.base) if base_score else None,
        no_answer=silent,
        baseline_gap=_gap(planned, base, most.base) and not score.all_passed,
        exact=course.exact,
        missing=_missing(head, most.head),
        first_passed=bool(outcomes(head)[:1] == [True]),
    )


def _change(
    planned: PlannedEval,
    fixture: Fixture,
    course: Course,
    silent: bool,  # noqa: FBT001 - a table of facts, in the order in which they count
    head: Sequence[Trial],
    base: Sequence[Trial],
) -> FixtureChange:
    if fixture.name in planned.added and planned.baseline is not Baseline.NEW_AGENT:
        return FixtureChange.NEW
    if course.walk is None:
        return _without_base(planned.baseline)
    if silent or course.walk.step is Step.REGRESSED:
        return FixtureChange.REGRESSED
    new, old = outcomes(head), outcomes(base)
    if too_many_lost(new) or (too_many_lost(old) and not all(new)):
        return FixtureChange.INCONCLUSIVE
    if not course.walk.ended or course.design is None:
        return FixtureChange.INCONCLUSIVE
    if course.exact:
        exact = deterministic(base_passed=bool(old[0]), head_passed=bool(new[0]))
        return FixtureChange(exact.value)
    return FixtureChange(status(course.design, course.walk).value)


def _gap(planned: PlannedEval, base: Sequence[Trial], wanted: int) -> bool:
    if Side.BASE not in planned.sides:
        return False
    found = outcomes(base)
    return len(found) < wanted or too_many_lost(found)


def _missing(trials: Sequence[Trial], wanted: int) -> int:
    return max(0, wanted - sum(trial.key.repetition <= wanted for trial in trials))


def _repeated(trials: Sequence[Trial], most: int) -> Repeated:
    mine = [trial for trial in trials if trial.key.repetition <= most]
    count: Count = counted([trial.passed for trial in mine])
    measured = [trial for trial in mine if trial.passed is not None]
    return Repeated(
        passes=count.passes,
        trials=count.trials,
        silent=sum(not trial.answered for trial in measured),
        lost=len(mine) - count.trials,
    )


def _without_base(baseline: Baseline) -> FixtureChange:
    if baseline is Baseline.SAME_AGENT:
        return FixtureChange.UNCHANGED
    return FixtureChange.NEW if baseline is Baseline.NEW_AGENT else FixtureChange.NOT_COMPARED
