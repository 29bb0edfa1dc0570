"""Juries of which a juror was out of reach: it is left out on both sides of what is compared.

Else head would be judged by two and base by three, and what they differ in would look like a
change. A fixture is what is compared, so it is left out in all trials of that fixture. Where base
was judged before, by the whole jury, or where a calibration has measured the whole jury, nothing is
left out: the trial stays an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import group_trials
from gateval.domain.results.trial_verdict import reassessed
from gateval.domain.trials.jury import jury_assessment
from gateval.domain.trials.trial import Assessment, Juror, NotAssessed, Side, Trial


def without_absent_jurors(plan: Plan, trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return the trials, those of a fixture judged anew by the jurors that all of them had."""
    every = trials if isinstance(trials, tuple) else tuple(trials)
    changed = {
        one.key: _judged_by_others(planned, one, absent)
        for planned, absent, mine in _incomplete(plan, every)
        for one in mine
    }
    return tuple(changed.get(one.key, one) for one in every) if changed else every


def absence_warnings(plan: Plan, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield which jurors are left out of an Eval; of which fixtures is not told, as they may be
    sealed.
    """
    found: dict[tuple[str, str], None] = {}
    for planned, absent, _ in _incomplete(plan, trials):
        found |= dict.fromkeys((planned.own_name, model) for model in sorted(absent))
    for name, model in found:
        yield (
            f"The provider of {model} was out of reach, so {name} has fixtures that the rest of "
            "the jury judged, on head and base alike; where its vote would decide, they are errors."
        )


def _incomplete(
    plan: Plan, trials: Iterable[Trial]
) -> Iterator[tuple[PlannedEval, set[str], Sequence[Trial]]]:
    """Yield each fixture's trials of which jurors are left out, and these."""
    juries = [one for one in plan.evals if one.judge.models and not one.judge.wants_measure]
    grouped = group_trials(trials) if juries else {}
    for planned in juries:
        before = {one.fixture for one in planned.stored}
        for name in (one.name for one in planned.fixtures):
            mine = [one for side in Side for one in grouped.get((planned.name, name, side), ())]
            absent = {model for trial in mine for model in _absent(trial)}
            is_jury = 2 * len(absent) < len(planned.judge.models)
            if absent and is_jury and name not in before:
                yield planned, absent, mine


def _absent(trial: Trial) -> Iterator[str]:
    """The jurors whose provider was out of reach, where that left a trial without a verdict."""
    for one in trial.assessments:
        if isinstance(one, NotAssessed) and one.verdict is not None:
            yield from (juror.model for juror in one.verdict.jurors if juror.outage)


def _judged_by_others(planned: PlannedEval, trial: Trial, absent: set[str]) -> Trial:
    if not any(_jurors(one) for one in trial.assessments):
        return trial
    every = tuple(_anew(planned, one, absent) for one in trial.assessments)
    return reassessed(trial, planned.fixture(trial.key.fixture), every, planned.scoring)


def _anew(planned: PlannedEval, one: Assessment, absent: set[str]) -> Assessment:
    jurors = _jurors(one)
    if not jurors:
        return one
    found = jury_assessment(one.type, planned.judge, jurors, absent)
    return found.replace(index=one.index, claimed=one.claimed, again=one.again)


def _jurors(one: Assessment) -> Sequence[Juror]:
    return one.verdict.jurors if one.verdict is not None else ()
