"""Counts what runs give away of sealed files, before they do, and says what may still be told."""

from __future__ import annotations

from typing import NamedTuple

from gateval.app.action.event import ActionEvent
from gateval.app.action.labels.stored_verdicts import said_by
from gateval.domain.forge.check_run import CheckReport, Conclusion
from gateval.domain.forge.seals import Given, Room, given_in, room, seals_of
from gateval.domain.plan.plan import Plan
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep

CHECK_NAME = "gateval (sealed)"
"""The check run that a run leaves on the commit that sealed a file."""


class Counted(NamedTuple):
    """The plan with what has to be said, and what may be told of what is sealed."""

    plan: Plan
    room: Room


def counted(event: ActionEvent, plan: Plan) -> Counted:
    """Count what this run gives away of sealed files, each on the commit that sealed it.

    A head that was measured before costs nothing more. What cannot be counted is not told.
    """
    seals = seals_of(plan)
    if not seals or not event.binds or event.context.inputs.step is not ActionStep.ALL:
        return Counted(plan, Room.FREE)
    limit, left, said = plan.policy.sealed_bits, Room.FREE, list[str]()
    for path in sorted(seals):
        try:
            given, known = _of_file(event, plan, path)
            mine = Room.FREE if known and given < limit else room(given, limit)
            if not known and mine is not Room.NONE:
                _count(event, path, plan, rates=mine is not Room.VERDICTS)
        except GatevalError as error:
            mine = Room.NONE
            said.append(
                f"What runs give away of {path} cannot be counted, so what is sealed there did not "
                f"run. {said_by(error)}"
            )
        else:
            said += [_sentence(path, given, limit, mine)] if mine is not Room.FREE else []
        left = max(left, mine)
    warned = plan.model_copy(update={"warnings": (*plan.warnings, *said)})
    return Counted(warned, left)


def _of_file(event: ActionEvent, plan: Plan, path: str) -> tuple[float, bool]:
    """Return the bits given away of a file this month, and whether this head was measured."""
    context = event.context
    listed = context.forge.check_runs(_sealed_at(event, plan, path), CHECK_NAME)
    ours = [one for one in listed if f"{one.app}[bot]" == context.forge.viewer()]
    entries = [given for one in ours if (given := Given.parse(one.text)) is not None]
    known = any(one.head == event.target.head for one in entries)
    return given_in(_month(event), entries), known


def _sealed_at(event: ActionEvent, plan: Plan, path: str) -> str:
    """Return the commit of the target branch that wrote a file last."""
    tip = plan.base_tip or plan.head
    commit = tip.commit or event.target.head
    return event.context.forge.last_commit(path, commit) or commit


def _month(event: ActionEvent) -> str:
    return event.context.clock.utc_now()[:7]


def _count(event: ActionEvent, path: str, plan: Plan, *, rates: bool) -> None:
    bits = seals_of(plan, rates=rates)[path]
    given = Given(month=_month(event), head=event.target.head, bits=bits)
    report = CheckReport(
        name=CHECK_NAME,
        external_id=str(event.target.stamp),
        details_url=event.target.details_url,
        started_at=event.target.stamp.started,
        conclusion=Conclusion.NEUTRAL,
        title=f"{bits:.2f} bits of what is sealed here were told",
        summary="A run told a verdict on what this commit seals. The gate counts these by month "
        "(`policy.sealedBits`).",
        text=str(given),
    )
    event.context.forge.create_check_run(_sealed_at(event, plan, path), report)


def _sentence(path: str, given: float, limit: int, left: Room) -> str:
    """Say how much was given away, and what follows."""
    said = f"{given:,.0f} of {limit:,} bits a month of {path} were told (policy.sealedBits)"
    if left is Room.WARNED:
        return f"{said}. Beyond that, verdicts alone are told. Seal other fixtures."
    if left is Room.VERDICTS:
        return f"{said}, so verdicts alone are told. Seal other fixtures in their place."
    return (
        f"{said}, more than twice as many as may be. What is sealed there did not run: a holder of "
        "the key seals other fixtures in their place."
    )
