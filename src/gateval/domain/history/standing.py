"""Regressions of earlier runs stand: running again until it is green does not pay.

A finding belongs to what was compared, not to a run: head's and base's Agent, the fixture, the Eval
and its judge. Until one of these changes it holds. Anybody who may push can write a record; so it
can keep a head red, and never makes one green.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.domain.base import digest
from gateval.domain.decision.report import Report
from gateval.domain.history.record import HistoryRecord, StoredRegression
from gateval.domain.manifests.policy.words import RegressionPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import KnownRegression, PlannedEval
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.trials.trial import Side


def regressions_of(report: Report) -> Iterator[StoredRegression]:
    """Yield the fixtures that regressed, as a record keeps them; silence and broad slippage do not.

    Why an agent gave no answer may have been the machine.
    """
    plan = report.results.plan
    for compared in report.comparison.evals:
        planned = plan.eval(compared.eval)
        for fixture in compared.fixtures:
            base = fixture.base_all
            if fixture.change is FixtureChange.REGRESSED and not fixture.no_answer and base:
                yield StoredRegression(
                    key=comparison_key(plan, planned, fixture.fixture),
                    eval=compared.eval,
                    fixture=fixture.fixture,
                    base_passes=base.passes,
                    base_trials=base.trials,
                    head_passes=fixture.head_all.passes,
                    head_trials=fixture.head_all.trials,
                )


def with_standing(plan: Plan, records: Iterable[HistoryRecord]) -> Plan:
    """Return the plan with what earlier runs found regressed: it is not measured again.

    Nothing stands where the policy does not block regressions: what is not measured must not pass.
    """
    if plan.policy.regressions is not RegressionPolicy.BLOCK:
        return plan
    known = {one.key: (one, record) for record in records for one in record.regressed}
    if not known:
        return plan
    return plan.model_copy(
        update={"evals": tuple(_with_standing(plan, one, known) for one in plan.evals)}
    )


def comparison_key(plan: Plan, planned: PlannedEval, fixture: str) -> str:
    """Return the digest of what a comparison of one fixture is about."""
    closures = [
        agent.closure if (agent := plan.agent(planned.agent, side)) else ""
        for side in (Side.HEAD, Side.BASE)
    ]
    judge = planned.judge.model_dump(mode="json")
    about = [planned.own_name, fixture, planned.fixture(fixture).digest]
    scoring = [planned.scoring.pass_score] if planned.scoring.graded else []
    measured = planned.calibration.digest if planned.calibration else ""
    believed = [measured] if planned.wants_calibration else []
    return digest([*closures, *about, judge, *scoring, *believed])


def _with_standing(
    plan: Plan, planned: PlannedEval, known: dict[str, tuple[StoredRegression, HistoryRecord]]
) -> PlannedEval:
    standing = []
    for name in planned.compared:
        found = known.get(comparison_key(plan, planned, name))
        if found is not None:
            one, record = found
            standing.append(
                KnownRegression(
                    fixture=name,
                    base_passes=min(one.base_passes, one.base_trials),
                    base_trials=one.base_trials,
                    head_passes=min(one.head_passes, one.head_trials),
                    head_trials=one.head_trials,
                    found_at=record.recorded_at,
                )
            )
    return planned.model_copy(update={"standing": tuple(standing)})
