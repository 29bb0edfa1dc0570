"""The sets of an experiment: what each run says of its scorers, the newest first."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.history.runs.record import FIXTURES_LISTED, RunEval, RunRecord
from gateval.domain.history.runs.setting import fixture_digest
from gateval.domain.history.runs.status import PULL_REQUESTS
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import EarlierSet


def experiments(plan: Plan) -> tuple[PlannedEval, ...]:
    """Return the experiments of a plan, without the target branch's versions."""
    return tuple(one for one in plan.evals if one.scoring.model.scorers and one.bar is None)


def earlier_sets(plan: Plan, records: Iterable[RunRecord]) -> tuple[EarlierSet, ...]:
    """Return the newest set of each experiment of a plan; `records` come the newest first.

    Runs of pull requests are left out: they measure what somebody proposes.
    """
    wanted = {one.own_name: one for one in experiments(plan)}
    found: dict[str, EarlierSet] = {}
    for record in records:
        if len(found) == len(wanted):
            break
        if record.event in PULL_REQUESTS:
            continue
        for run in record.evals:
            if run.averages and run.eval in wanted and run.eval not in found:
                found[run.eval] = _set(record, run, wanted[run.eval])
    return tuple(found[name] for name in wanted if name in found)


def _set(record: RunRecord, run: RunEval, planned: PlannedEval) -> EarlierSet:
    then = {(one.fixture, one.digest) for one in run.fixtures}
    now = [(one.name, fixture_digest(one)) for one in planned.fixtures[:FIXTURES_LISTED]]
    return EarlierSet(
        eval=run.eval,
        at=record.at,
        revision=record.revision,
        run=record.id,
        averages=run.averages,
        same=then == set(now) and run.total == len(planned.fixtures),
    )
