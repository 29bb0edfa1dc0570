"""Trials by what they belong to, and the averages of an experiment's scorers over its golden
set.

As in the article "Evals - testing AI agents": the sum of a scorer's scores over the number of rows.
A row's score is the mean of its planned repetitions; without an answer, by the candidate's own
fault, it is 0. Rows that were not measured in full are left out and counted, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from gateval.domain.base import Count, Share, UtcTime, Value, known_of_last
from gateval.domain.manifests.messages import PEOPLE
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval, trials_of
from gateval.domain.results.trial_verdict import by_criterion, unbroken, whole_mean
from gateval.domain.statistics.walk import Outcomes
from gateval.domain.text import ShortText
from gateval.domain.trials.trial import Side, Trial

Grouped = Mapping[tuple[str, str, Side], tuple[Trial, ...]]
"""Trials by Eval, fixture and side, each in order of repetition."""

LOST_SHARE = 0.2
"""The largest part of a fixture's trials that may be lost on a side."""


def group_trials(trials: Iterable[Trial]) -> Grouped:
    """Return the trials by (Eval, fixture, side)."""
    return _grouped(tuple(trials))


@known_of_last
def _grouped(trials: tuple[Trial, ...]) -> Grouped:
    groups: dict[tuple[str, str, Side], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.key.eval, trial.key.fixture, trial.key.side), []).append(trial)
    return {
        name: tuple(sorted(group, key=lambda t: t.key.repetition)) for name, group in groups.items()
    }


def with_stored(plan: Plan, trials: Iterable[Trial]) -> Grouped:
    """Return the trials by (Eval, fixture, side), the plan's stored ones among those of base."""
    groups = dict(group_trials(trials))
    for planned in plan.evals:
        for one in planned.stored:
            where = planned.name, one.fixture, Side.BASE
            before = trials_of(planned.name, one.fixture, one.marks)
            groups[where] = (*before, *groups.get(where, ()))
    return groups


def unanswered(planned: PlannedEval, trials: Grouped) -> bool:
    """Whether an Eval's trials were measured and none of them was answered, on any side.

    A silent side is measured where the other one answers. Where neither does, nothing was: no score
    follows from it.
    """
    if planned.standing or any(mark in "pf" for one in planned.stored for mark in one.marks):
        return False
    mine = [
        trial
        for name, owner in planned.owners().items()
        for side in planned.sides
        for trial in trials.get((owner, name, side), ())
        if trial.passed is not None or trial.assessments  # of an answer, though judging was in vain
    ]
    return bool(mine) and not any(trial.answered for trial in mine)


def outcomes(trials: Sequence[Trial]) -> Outcomes:
    """Return the outcomes of a side's trials as far as no repetition is missing."""
    return [trial.passed for trial in unbroken(trials)]


def too_many_lost(trials: Outcomes) -> bool:
    """Whether more of them were lost than may be."""
    return sum(outcome is None for outcome in trials) > LOST_SHARE * len(trials)


class ScorerAverage(Value):
    """A scorer's average in [0, 1] over the `measured` of its `rows`; None if none was."""

    scorer: ShortText
    mean: Share | None = None
    rows: Count
    measured: Count = 0


def averages(planned: PlannedEval, side: Side, trials: Grouped) -> tuple[ScorerAverage, ...]:
    """Return the averages of an experiment's scorers on a side, in the order of the manifest.

    Only the planned repetitions count: further ones were added because something looked worse.
    """
    scores = scores_by_row(planned, side, trials)
    return tuple(_average(name, each) for name, each in scores.items())


def differences(planned: PlannedEval, trials: Grouped) -> Mapping[str, float]:
    """Return how far each scorer's average on head is from that on base, in [-1, 1].

    It is that of the rows that both sides measured: a row that one lost moves no average.
    """
    head, base = (scores_by_row(planned, side, trials) for side in (Side.HEAD, Side.BASE))
    found = {}
    for name, ours in head.items():
        pairs = zip(ours, base[name], strict=True)
        moved = [one - other for one, other in pairs if one is not None and other is not None]
        if moved:
            found[name] = fsum(moved) / len(moved)
    return found


def scores_by_row(
    planned: PlannedEval, side: Side, trials: Grouped
) -> dict[str, list[float | None]]:
    """Return by scorer the score of each row, None where it was not measured in full."""
    scores: dict[str, list[float | None]] = {}
    owners = planned.owners()
    silent = unanswered(planned, trials)
    for fixture in planned.fixtures:
        found = trials.get((owners[fixture.name], fixture.name, side), ())
        first = [one for one in found if one.key.repetition <= planned.execution.reps_per_fixture]
        for index, spec in enumerate(fixture.assertions):
            score = whole_mean(by_criterion(first, index), planned.execution.reps_per_fixture)
            scores.setdefault(spec.name or spec.type, []).append(None if silent else score)
    return scores


def people(planned: PlannedEval, side: Side, trials: Grouped) -> ScorerAverage | None:
    """Return the average of what people said of the answers of a side; None if they said nothing.

    Of a row it is the mean of what was said of one of these answers, or of the row alone.
    """
    if not planned.feedback:
        return None
    owners = planned.owners()
    said: dict[str, list[float]] = {}
    for one in planned.feedback:
        if one.fixture not in owners:
            continue
        answers = trials.get((owners[one.fixture], one.fixture, side), ())
        if any(trial.output is not None and one.is_about(trial.output) for trial in answers):
            said.setdefault(one.fixture, []).append(one.score)
    rows = [fsum(scores) / len(scores) for scores in said.values()]
    mean = min(1.0, fsum(rows) / len(rows)) if rows else None
    return ScorerAverage(scorer=PEOPLE, mean=mean, rows=len(planned.fixtures), measured=len(rows))


def _average(scorer: str, scores: Sequence[float | None]) -> ScorerAverage:
    known = [one for one in scores if one is not None]
    mean = min(1.0, fsum(known) / len(known)) if known else None
    return ScorerAverage(scorer=scorer, mean=mean, rows=len(scores), measured=len(known))


class EarlierSet(Value):
    """What an earlier run measured of an experiment: when (UTC), where, and the averages.

    `same` says that it had the same rows and scorers. Whoever may push can write what runs say of
    themselves, so it is shown and decides nothing.
    """

    eval: ShortText
    at: UtcTime
    revision: ShortText = ""
    run: ShortText = ""
    averages: tuple[ScorerAverage, ...] = ()
    same: bool = True
