"""Takes the fixtures that are in quarantine today out of all that may block."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.policy.quarantine import QuarantinedFixture
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval, Quarantined
from gateval.domain.repository.place import nearest


def with_quarantine(plan: Plan, today: str, catalogues: Iterable[Catalogue]) -> Plan:
    """Return the plan with what its policy has in quarantine on a day (`2026-12-01`).

    What has ended, and what names no fixture of these catalogues, is told as a warning.
    """
    entries = plan.policy.quarantine
    if not entries or not plan.evals:
        return plan
    evals = tuple(
        one.model_copy(update={"quarantined": tuple(_of(plan, one, today))}) for one in plan.evals
    )
    fixtures = [fixture for catalogue in catalogues for fixture in catalogue.fixtures]
    known = {name for one in fixtures for name in (one.name, one.family) if name}
    told = (*_ended(entries, today), *_unknown(entries, known))
    return plan.model_copy(update={"evals": evals, "warnings": (*plan.warnings, *told)})


def _ended(entries: Iterable[QuarantinedFixture], today: str) -> Iterator[str]:
    every = tuple(entries)
    for one in every:
        others = (e for e in every if e.fixture == one.fixture and e.eval in {None, one.eval})
        if not any(other.holds(today) for other in others):
            yield (
                f"The quarantine of {one.fixture} ended on {one.until}: it blocks again. "
                f"{one.owner} owned it; take it out of policy.quarantine."
            )


def _unknown(entries: Iterable[QuarantinedFixture], known: Collection[str]) -> Iterator[str]:
    for one in entries:
        if one.fixture not in known:
            hint = nearest(one.fixture, known) or " Take it out."
            yield f"policy.quarantine names {one.fixture}, and there is no such fixture.{hint}"


def _of(plan: Plan, planned: PlannedEval, today: str) -> Iterator[Quarantined]:
    for fixture in planned.fixtures:
        for one in plan.policy.quarantine:
            if one.holds(today) and one.about(planned.own_name, fixture.name, fixture.family):
                yield Quarantined(fixture=fixture.name, owner=one.owner, until=one.until)
                break
