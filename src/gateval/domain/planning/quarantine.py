"""Takes the fixtures that are in quarantine today out of all that may block."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval, Quarantined


def with_quarantine(plan: Plan, today: str) -> Plan:
    """Return the plan with what its policy has in quarantine on a day (`2026-12-01`).

    What has ended, and what names no fixture of the plan's Evals, is told as a warning.
    """
    entries = plan.policy.quarantine
    if not entries or not plan.evals:
        return plan
    evals = tuple(
        one.model_copy(update={"quarantined": tuple(_of(plan, one, today))}) for one in plan.evals
    )
    ended = tuple(
        f"The quarantine of {one.fixture} ended on {one.until}: it blocks again. {one.owner} owned "
        "it; take it out of policy.quarantine."
        for one in entries
        if not one.holds(today)
    )
    return plan.model_copy(update={"evals": evals, "warnings": (*plan.warnings, *ended)})


def _of(plan: Plan, planned: PlannedEval, today: str) -> Iterator[Quarantined]:
    for fixture in planned.fixtures:
        for one in plan.policy.quarantine:
            if one.holds(today) and one.about(planned.own_name, fixture.name, fixture.family):
                yield Quarantined(fixture=fixture.name, owner=one.owner, until=one.until)
                break
