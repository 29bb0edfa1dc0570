"""What the budget of a run leaves for repetitions that come after the planned ones.

Stopping a fixture earlier than its rule would can only take alarms away: a look is reached by going
on at all looks before it, and the chance of ever meeting the cut is bounded over all of them. So
the budget may end any fixture, whatever the trials said, and the bound on false alarms holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf

from gateval.domain.manifests.policy.spending import BudgetPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealed_eval import planned_trials
from gateval.domain.trials.trial import Side, Trial

_MINUTE = 60


class Purse:
    """So many more trials may be asked for; None without a limit. Small and mutable."""

    def __init__(self, trials: float | None) -> None:
        self._left = inf if trials is None else trials

    @property
    def left(self) -> float:
        """How many may still be asked for; infinite without a limit."""
        return self._left

    def take(self, trials: int) -> bool:
        """Take so many, if they are there, and say whether they were.

        What was refused is refused again when it is asked for later: what is left only falls.
        """
        if trials > self._left:
            return False
        self._left -= trials
        return True


def purse_of(plan: Plan, trials: Iterable[Trial], beside: int | None = None) -> Purse:
    """Return what the budget leaves after the trials of a run, each counted at their mean cost.

    Of tokens and money, what is known counts. `beside` is how many planned trials share the budget
    and are decided apart, so that what is spent on the ones tells nothing of the others; None is
    those of the sealed Evals of published results.
    """
    budget: BudgetPolicy = plan.policy.budget
    every = list(trials)
    if not budget.is_set or not every:
        return Purse(None)
    share = _share(plan, beside)
    limits: list[float] = []
    if budget.repetitions is not None:
        limits.append(budget.repetitions * share - len(every))
    if budget.tokens is not None:
        limits.append(_left(budget.tokens * share, [_tokens(trial) for trial in every]))
    if budget.usd is not None:
        limits.append(_left(budget.usd * share, [_usd(trial) for trial in every]))
    if budget.minutes is not None:
        waited = waited_seconds(plan, every)
        limits.append(_left(_MINUTE * budget.minutes * share, [waited / len(every)] * len(every)))
    return Purse(max(0.0, min(limits)))


def _share(plan: Plan, beside: int | None) -> float:
    """Return how much of the budget is for the Evals of this plan, by planned trials."""
    others = sum(one.trials for one in plan.sealed) if beside is None else beside
    own = sum(map(planned_trials, plan.evals))
    return own / (own + others) if others else 1


def left_after_planned(plan: Plan, trials: Iterable[Trial]) -> float:
    """Return how many trials the budget left when the planned ones were made.

    Stored trials, which cost nothing now, are not among `trials`.
    """
    evals = {one.name: (one.execution.reps_per_fixture, one.stored_counts()) for one in plan.evals}

    def _is_planned(trial: Trial) -> bool:
        reps, stored = evals[trial.key.eval]
        known = stored.get(trial.key.fixture, 0) if trial.key.side is Side.BASE else 0
        return trial.key.repetition <= max(reps, known)

    return purse_of(plan, filter(_is_planned, trials)).left


def waited_seconds(plan: Plan, trials: Iterable[Trial]) -> float:
    """Return how long agents were waited for, side by side: that of the slowest Eval."""
    parallel = {planned.name: planned.execution.parallel for planned in plan.evals}
    sums: dict[str, float] = defaultdict(float)
    for trial in trials:
        sums[trial.key.eval] += trial.seconds
    return max((total / parallel.get(name, 1) for name, total in sums.items()), default=0.0)


def _left(limit: float, costs: list[float]) -> float:
    """Return how many trials of the mean cost are left; without any cost, there is no limit."""
    spent = sum(costs)
    return (limit - spent) * len(costs) / spent if spent else inf


def _tokens(trial: Trial) -> float:
    return (trial.spent.total or 0) + (trial.judge_usage.total or 0)


def _usd(trial: Trial) -> float:
    return (trial.spent.usd or 0.0) + (trial.judge_usage.usd or 0.0)
