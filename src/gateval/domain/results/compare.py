"""Compares head with base: from trials to what the comparison says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import fsum
from typing import NamedTuple

from gateval.domain.manifests.fixture import Fixture, weighed_axes
from gateval.domain.plan.planned_eval import Baseline, Joint, PlannedEval
from gateval.domain.results.averages import (
    Grouped,
    outcomes,
    too_many_lost,
    unanswered,
    with_stored,
)
from gateval.domain.results.comparison import (
    AxisComparison,
    Comparison,
    EvalComparison,
    FixtureChange,
    FixtureComparison,
    Repeated,
    rises,
)
from gateval.domain.results.doubts import refusal
from gateval.domain.results.fixture_progress import FixtureProgress, axis_units
from gateval.domain.results.preferences import compare_preferences
from gateval.domain.results.progress import PlanProgress, Together, progress
from gateval.domain.results.results import Results
from gateval.domain.results.scoring import (
    FixtureScore,
    score_eval,
    threshold_repetitions,
)
from gateval.domain.results.trial_verdict import Use, axis_grades, grades, whole_mean
from gateval.domain.statistics.broad import LEAST_DROP, Broad
from gateval.domain.statistics.design import Look, LookResult
from gateval.domain.statistics.graded import (
    ESCALATION,
    LEAST_GRADED_DROP,
    axis_rose,
    graded_status,
    sample,
)
from gateval.domain.statistics.walk import CLEAR, counted, deterministic, status
from gateval.domain.trials.trial import Side, Trial


def compare_axes(
    planned: PlannedEval, trials: Grouped, together: Together
) -> tuple[AxisComparison, ...]:
    """Return the axes of an Eval with scores, in the order of the plan; none of other Evals.

    `together` is what the tests of several fixtures say.
    """
    if not planned.scoring.graded:
        return ()
    tests = {test.axis: (test, said) for test, said in together if test.axis}
    shown = [one for one in planned.fixtures if not planned.in_quarantine(one.name)]
    silent = unanswered(planned, trials)
    found = []
    for axis, names in weighed_axes(shown).items():
        fixtures = [one for one in shown if one.name in set(names)]
        head, base = (
            [] if silent else _means(planned, axis, fixtures, trials, side)
            for side in (Side.HEAD, Side.BASE)
        )
        test, said = tests.get(axis, (None, None))
        found.append(
            AxisComparison(
                axis=axis,
                change=_change(planned, trials, test, said),
                head=_mean(head),
                base=_mean(base),
                fixtures=len(fixtures),
                measured=len(head),
                measured_base=len(base),
                said=said,
            )
        )
    return tuple(found)


def without_base(baseline: Baseline) -> FixtureChange:
    """Return how something moved of which base was not measured."""
    if baseline is Baseline.SAME_AGENT:
        return FixtureChange.UNCHANGED
    return FixtureChange.NEW if baseline is Baseline.NEW_AGENT else FixtureChange.NOT_COMPARED


def _means(
    planned: PlannedEval, axis: str, fixtures: list[Fixture], trials: Grouped, side: Side
) -> list[float]:
    """The mean scores on an axis of the fixtures of which all planned repetitions were measured."""
    reps, owners = planned.execution.reps_per_fixture, planned.owners()
    found: list[float | None] = []
    for fixture in fixtures:
        own = trials.get((owners[fixture.name], fixture.name, side), ())
        found.append(whole_mean(axis_grades(axis, fixture, own), reps))
    return [one for one in found if one is not None]


def _mean(scores: list[float]) -> float | None:
    return fsum(scores) / len(scores) if scores else None


def _change(
    planned: PlannedEval, trials: Grouped, test: Joint | None, said: Broad | None
) -> FixtureChange:
    if planned.baseline is not Baseline.MERGE_BASE:
        return without_base(planned.baseline)
    if test is None:  # the only axis is the whole, which has a test of its own
        return FixtureChange.NOT_COMPARED
    if said is None or said.step is LookResult.GO_ON:
        return FixtureChange.INCONCLUSIVE
    if said.step is LookResult.REGRESSED:
        return FixtureChange.REGRESSED
    moved = said.head - said.base
    if -moved >= test.least_drop and said.p_value <= ESCALATION:
        clear = said.p_value <= CLEAR
        return FixtureChange.SUSPECT if clear else FixtureChange.NOT_CONFIRMED
    if moved < LEAST_DROP:
        return FixtureChange.UNCHANGED
    look = test.looks[said.at]
    units = axis_units(planned, test, trials)
    scores = [(one.base[: look.base], one.head[: look.head]) for one in units]
    rose = said.exact or axis_rose(scores) <= CLEAR
    return FixtureChange.IMPROVED if rose else FixtureChange.UNCHANGED


class _Found(NamedTuple):
    """All about one fixture. `standing`: it is compared; `added`: it must pass by itself.

    The first `stored` of base's trials were made before.
    """

    fixture: Fixture
    standing: bool
    added: bool
    fixture_progress: FixtureProgress
    wanted: Look
    cut: bool
    head: Sequence[Trial]
    base: Sequence[Trial]
    stored: int = 0

    @property
    def missing(self) -> int:
        """Trials of head that are asked for and did not run."""
        return _missing(self.head, self.wanted.head)

    @property
    def missing_base(self) -> int:
        """Trials of base that are asked for to be compared with, and did not run."""
        return _missing(self.base, self.wanted.base) if self.standing else 0

    @property
    def perfect(self) -> bool:
        """Whether head passed in all trials that its own rule wanted, with full scores."""
        passed = [outcome for outcome in outcomes(self.head) if outcome]
        if self.fixture_progress.graded is not None and any(
            score != 1 for score in grades(self.head)
        ):
            return False
        return self.missing == 0 and len(passed) >= self.fixture_progress.wanted.head

    @property
    def no_answer(self) -> bool:
        """Whether head answered in no trial that was asked for, and base did."""
        measured = self.missing == 0 and not too_many_lost(outcomes(self.head))
        return measured and self.fixture_progress.fell_silent


def compare(results: Results, beside: int | None = None) -> Comparison:
    """Compare head's trials with base's, by Eval and fixture; `beside` as for `trial_budget_of`."""
    trials = with_stored(results.plan, results.trials)
    far = progress(results.plan, trials, beside)
    return Comparison(
        evals=tuple(_compare_eval(planned, trials, far) for planned in results.plan.evals),
        removed=results.plan.removed,
        rises=tuple(rises(results.plan, trials)),
    )


def _compare_eval(planned: PlannedEval, trials: Grouped, far: PlanProgress) -> EvalComparison:
    planned_reps = planned.execution.reps_per_fixture
    first = score_eval(planned, Side.HEAD, trials)
    reps = threshold_repetitions(planned, trials, first)
    head = first if reps == planned_reps else score_eval(planned, Side.HEAD, trials, reps)
    base = score_eval(planned, Side.BASE, trials) if Side.BASE in planned.sides else None
    broad = far.broad[planned.name]
    ended = all(said is not None and said.step is not LookResult.GO_ON for _, said in broad)
    perfect = all(fixture.all_passed and fixture.low == 1 for fixture in first.fixtures)
    unsettled = not ended and not perfect
    scores = zip(head.fixtures, base.fixtures if base else [None] * len(head.fixtures), strict=True)
    fixtures = tuple(
        _compare_fixture(planned, found, *both, unsettled=unsettled)
        for found, both in zip(_found(planned, trials, far), scores, strict=True)
    )
    silent = unanswered(planned, trials)
    if silent:
        head, first, base = head.unscored, first.unscored, base and base.unscored
    return EvalComparison(
        eval=planned.name,
        agent=planned.agent,
        baseline=planned.baseline,
        unanswered=silent,
        head=head,
        base=base,
        fixtures=fixtures,
        broad=next((s for test, s in broad if s and not (test.family or test.axis)), None),
        families=tuple(said for test, said in broad if said and test.family),
        head_first=first,
        axes=compare_axes(planned, trials, broad),
        preference=None if silent else compare_preferences(planned, trials),
        cut=planned.name in far.cut_together,
    )


def _found(planned: PlannedEval, trials: Grouped, far: PlanProgress) -> Iterator[_Found]:
    owners, compared, added = planned.owners(), set(planned.compared), set(planned.added)
    stored = planned.stored_counts()
    for fixture, owner in zip(planned.fixtures, owners.values(), strict=True):
        yield _Found(
            fixture=fixture,
            standing=fixture.name in compared and Side.BASE in planned.sides,
            added=fixture.name in added and planned.baseline is not Baseline.NEW_AGENT,
            fixture_progress=far.courses[owner, fixture.name],
            wanted=far.wanted[owner, fixture.name],
            cut=(owner, fixture.name) in far.cut,
            head=trials.get((owner, fixture.name, Side.HEAD), ()),
            base=trials.get((owner, fixture.name, Side.BASE), ()),
            stored=stored.get(fixture.name, 0),
        )


def _compare_fixture(
    planned: PlannedEval,
    found: _Found,
    head: FixtureScore,
    base: FixtureScore | None,
    *,
    unsettled: bool,
) -> FixtureComparison:
    stands = planned.stands(found.fixture.name)
    if stands is not None:
        means = stands.means or (None, None)
        return FixtureComparison.of_known(
            fixture=found.fixture.name,
            change=FixtureChange.REGRESSED,
            head=head,
            base=base,
            head_all=Repeated(passes=stands.head_passes, trials=stands.head_trials, mean=means[1]),
            base_all=Repeated(passes=stands.base_passes, trials=stands.base_trials, mean=means[0]),
            found_at=stands.found_at,
            found_on=stands.found_on,
        )
    asked = planned.scoring.trials_pass
    ours = _repeated(found.head, found.fixture_progress.wanted.head, asked)
    theirs = _repeated(found.base, found.fixture_progress.wanted.base, asked)
    lost = found.standing and theirs.unclear and not found.perfect
    return FixtureComparison.of_known(
        fixture=found.fixture.name,
        change=_score_change(planned.baseline, found, ours, theirs),
        head=head,
        base=base,
        head_all=ours,
        base_all=theirs if base else None,
        no_answer=found.no_answer,
        baseline_gap=lost or (found.missing_base > 0 and (unsettled or not found.perfect)),
        exact=found.fixture_progress.exact,
        outdated=found.fixture_progress.outdated,
        stored=found.stored,
        missing=found.missing,
        missing_base=found.missing_base,
        cut=found.cut,
        first_passed=outcomes(found.head)[:1] == [True],
        refused=_refused(found.head) if ours.silent == ours.trials else "",
    ).lean()


def _score_change(
    baseline: Baseline, found: _Found, head: Repeated, base: Repeated
) -> FixtureChange:
    """The first row that applies counts."""
    fixture_progress, walk = found.fixture_progress, found.fixture_progress.walk
    if found.added:
        return FixtureChange.NEW
    if walk is None or fixture_progress.design is None:
        return without_base(baseline)
    if found.no_answer or fixture_progress.regressed:
        return FixtureChange.REGRESSED
    if (
        head.silent == head.trials
        or head.unclear
        or (base.unclear and not found.perfect)
        or not walk.ended
    ):
        return FixtureChange.INCONCLUSIVE
    if fixture_progress.exact and fixture_progress.rule is not None:
        risen = (head.mean or 0.0) - (base.mean or 0.0) >= LEAST_GRADED_DROP
        return FixtureChange.IMPROVED if risen else FixtureChange.UNCHANGED
    if fixture_progress.exact:
        exact = deterministic(base_passed=walk.base.passes > 0, head_passed=walk.head.passes > 0)
        return FixtureChange(exact.value)
    if fixture_progress.graded is not None and fixture_progress.rule is not None:
        scores = grades(found.base), grades(found.head)
        return FixtureChange(
            graded_status(fixture_progress.rule, fixture_progress.graded, *scores).value
        )
    return FixtureChange(status(fixture_progress.design, walk).value)


def _refused(head: Sequence[Trial]) -> str:
    calls = refusal(head)
    return calls.why if calls else ""


def _missing(trials: Sequence[Trial], wanted: int) -> int:
    return max(0, wanted - sum(trial.key.repetition <= wanted for trial in trials))


def _repeated(trials: Sequence[Trial], most: int, asked: float | None) -> Repeated:
    """Count the first `most` trials; `asked` is the score that one needs, None without scores."""
    mine = [trial for trial in trials if trial.key.repetition <= most]
    count = counted([trial.passed for trial in mine])
    scores = None if asked is None else sample(grades(mine, Use.SCORE))
    return _same(
        count.passes,
        count.trials,
        silent=sum(not trial.answered for trial in mine if trial.passed is not None),
        lost=len(mine) - count.trials,
        mean=scores.mean if scores and scores.trials else None,
        free=asked == 0,
    )


@lru_cache(4_096)
def _same(
    passes: int, trials: int, *, silent: int, lost: int, mean: float | None, free: bool
) -> Repeated:
    """Return one object for equal ones: most fixtures go alike."""
    return Repeated(passes=passes, trials=trials, silent=silent, lost=lost, mean=mean, free=free)
