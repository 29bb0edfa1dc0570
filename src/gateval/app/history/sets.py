"""The sets of experiments that this clone knows of, to hold a new one against."""

from __future__ import annotations

from gateval.adapters.git import GitRepository
from gateval.domain.plan.plan import Plan
from gateval.domain.results.models.averages import EarlierSet


def sets_here(repository: GitRepository, plan: Plan) -> tuple[EarlierSet, ...]:
    """Return the newest set of each experiment of a plan, without a word to the remote."""
    from gateval.app.history.sources import stored_runs
    from gateval.domain.history.runs.sets import earlier_sets, experiments

    names = [one.own_name for one in experiments(plan)]
    return earlier_sets(plan, stored_runs(repository).newest(names)) if names else ()
