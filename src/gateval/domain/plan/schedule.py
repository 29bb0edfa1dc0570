"""Which trials to start next: the one place where further repetitions will be asked for."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Trial, TrialKey


def next_trials(plan: Plan, finished: Iterable[Trial]) -> tuple[TrialKey, ...]:
    """Return the trials to start now, in (fixture, repetition) order, base and head interleaved.

    It is asked before the first trial and whenever all that it asked for are finished; an empty
    answer ends the run. Today it returns every planned trial that is not finished.
    """
    done = {trial.key for trial in finished}
    return tuple(key for key in plan.trial_keys() if key not in done)
