"""How large a drop a run could have missed: the honest headline of a green one."""

from __future__ import annotations

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import Comparison
from gateval.domain.statistics.design import design
from gateval.domain.statistics.power import smallest_drop

STEADY_RATE = 0.95
"""The pass rate of a fixture for which a drop is stated."""


def unseen_drop(plan: Plan, comparison: Comparison) -> float | None:
    """Return the drop of one fixture's pass rate below which a run finds it in under 4 of 5 cases.

    It is that of the least sure Eval, for a fixture that passes in 95 % of its trials; 1.0 where no
    drop is found that often. None where nothing is compared by chance: no baseline, or candidates
    that are deterministic.
    """
    by_chance = {
        compared.eval
        for compared in comparison.evals
        if any(fixture.base_all and not fixture.exact for fixture in compared.fixtures)
    }
    drops = [found_drop(one) for one in plan.evals if one.compared and one.name in by_chance]
    return max(drops, default=None)


def found_drop(planned: PlannedEval) -> float:
    """Return the smallest drop of a steady fixture that is found in 4 of 5 cases; 1.0 if none."""
    rule = design(planned.looks(planned.compared[0]), planned.fixture_share)
    return smallest_drop(rule, STEADY_RATE) or 1.0
