"""Results in parts, what is sealed apart, and what may be told while a run goes on."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import kept_apart, parts_of
from gateval.domain.results.grouping import Grouped
from gateval.domain.results.results import Results
from gateval.domain.results.sealed_verdict import LEAST_FIXTURES, in_steps
from gateval.domain.trials.trial import Side


def result_parts(results: Results) -> Iterable[tuple[Results, int]]:
    """Yield the results of each part of the plan, with the planned trials beside it."""
    for plan, beside in parts_of(results.plan):
        names = {one.name for one in plan.evals}
        mine = tuple(one for one in results.trials if one.key.eval in names)
        trials = results.trials if len(mine) == len(results.trials) else mine
        yield results.model_copy(update={"plan": plan, "trials": trials}), beside


def sealed_agents(plan: Plan) -> frozenset[str]:
    """Return the Agents that are asked what is sealed."""
    apart = kept_apart(plan)
    return frozenset(one.agent for one in plan.evals if one.name in apart)


def is_public_warning(warning: str, plan: Plan) -> bool:
    """Whether a warning of a run is not of a candidate that was asked what is sealed.

    A warning of theirs begins with the Agent and its side.
    """
    agents = sealed_agents(plan)
    return not warning.startswith(tuple(f"{one} ({side}): " for one in agents for side in Side))


def public_rate(planned: PlannedEval, trials: Grouped) -> float | None:
    """Return the share of head's planned trials that passed, in steps; None where it is not told.

    What an earlier run found of a fixture counts as its trials.
    """
    if len(planned.fixtures) < LEAST_FIXTURES:
        return None
    owners, reps = planned.owners(), planned.execution.reps_per_fixture
    passed, measured = 0.0, 0.0
    for name, owner in owners.items():
        if known := planned.stands(name):
            passed, measured = passed + known.head_passes / known.head_trials, measured + 1
            continue
        mine = trials.get((owner, name, Side.HEAD), ())
        said = [one.passed for one in mine if one.key.repetition <= reps and one.passed is not None]
        if said:
            passed, measured = passed + sum(said) / len(said), measured + 1
    return in_steps(passed / measured) if measured else None


def unsealed(results: Results) -> Results:
    """Return opened results as those of Evals that were never sealed, to be looked at."""
    evals = tuple(one.model_copy(update={"sealed": False}) for one in results.plan.evals)
    return results.model_copy(update={"plan": results.plan.model_copy(update={"evals": evals})})
