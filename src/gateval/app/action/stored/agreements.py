"""Takes agreements of judges that the default branch measured, as far as the forge confirms it."""

from __future__ import annotations

from gateval.app.action.event import ActionEvent
from gateval.app.action.stored.proof import home_of, proven, said
from gateval.domain.history.agreements import (
    agreement_donors,
    wanted_agreements,
    with_agreements,
)
from gateval.domain.history.runs.file import newest_first
from gateval.domain.plan.plan import Plan
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.ports.records import RUNS


def with_stored_agreements(event: ActionEvent, plan: Plan) -> tuple[Plan, str]:
    """Return the plan with the agreements that are proven, and lines for the log.

    Calibrations without one are replayed in this run: where the change touches judge, rubric or
    examples, and where nothing is stored, too old, or not confirmed.
    """
    if not any(one.wants_calibration for one in plan.evals):
        return plan, ""
    context = event.context
    whole = event.binds and context.inputs.step is ActionStep.ALL
    if not whole or not event.trigger.default_branch:
        return plan, ""
    from gateval.judging.replay import prompt_digest

    asked = wanted_agreements(plan, prompt_digest())
    try:
        with context.open_records() as records:
            stored = records.read(RUNS)
        if not asked or not stored or not stored.content:
            return plan, ""
        home, since = home_of(event, plan)
        offered = agreement_donors(asked, newest_first(stored.content), home, since=since)
        confirmed, notes = proven(event, offered, home)
    except (GatevalError, OSError) as error:
        return plan, f"Calibrations are replayed in this run: {said(error)}\n"
    filled = with_agreements(plan, asked, confirmed)
    for one in filled.agreements:
        notes += (
            f"The judge {one.binding.model} was calibrated by {one.calibration} in {one.run}.\n"
        )
    return filled, notes
