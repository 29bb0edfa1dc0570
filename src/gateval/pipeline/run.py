"""The second half of the way: from a plan to results and a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateval.domain.decision.report import Report, make_report
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import Results, RunInfo, sort_trials
from gateval.domain.ruling import NO_RULINGS, Rulings
from gateval.domain.trials.trial import Trial

if TYPE_CHECKING:
    from gateval.engine.run import RunContext


async def run_a_plan(
    plan: Plan, context: RunContext, info: RunInfo, finished: tuple[Trial, ...] = ()
) -> Results:
    """Run all trials of a plan; nothing is started when there is nothing to evaluate."""
    from gateval.engine.run import run_trials  # a report on stored results does without

    trials = await run_trials(plan, context, finished) if plan.evals else ()
    return results_of(plan, trials, info)


def results_of(plan: Plan, trials: tuple[Trial, ...], info: RunInfo) -> Results:
    """Put trials into report order, so that no report depends on which finished first."""
    return Results(plan=plan, trials=sort_trials(trials), info=info)


def report_on(results: Results, rulings: Rulings = NO_RULINGS) -> Report:
    """Compare and decide; labels count as ruled."""
    return make_report(results, rulings)
