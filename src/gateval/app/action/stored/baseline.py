"""Takes what the default branch measured in place of base, as far as the forge confirms it."""

from __future__ import annotations

from gateval.app.action.event import ActionEvent
from gateval.app.action.stored.proof import home_of, proven, said
from gateval.domain.history.baseline import donors, wanted, with_stored
from gateval.domain.history.runs.file import newest_first
from gateval.domain.plan.plan import Plan
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.ports.records import RUNS


def with_baseline(event: ActionEvent, plan: Plan) -> tuple[Plan, str]:
    """Return the plan with the stored base trials that are proven, and lines for the log.

    Without any, base is measured beside head, as ever. Runs in parts plan twice, and one that is
    not trusted proves nothing: neither uses what is stored.
    """
    policy, context = plan.policy.baseline, event.context
    if not event.binds or context.inputs.step is not ActionStep.ALL or not policy.trials:
        return plan, ""
    asked = wanted(plan)
    if not asked or not event.trigger.default_branch:
        return plan, ""
    try:
        with context.open_records() as records:
            stored = records.read(RUNS)
        if not stored or not stored.content:
            return plan, ""
        home, since = home_of(event, plan)
        offered = donors(asked, newest_first(stored.content), home, since=since, most=policy.trials)
        confirmed, notes = proven(event, offered, home)
    except (GatevalError, OSError) as error:
        return plan, f"Base is measured beside head: {said(error)}\n"
    filled = with_stored(plan, asked, confirmed, most=policy.trials)
    if filled.baseline is not None:
        runs = len(filled.baseline.runs)
        notes += (
            f"Stored trials of {runs} {'run' if runs == 1 else 'runs'} on the default branch stand "
            f"for base (baseline {filled.baseline.digest[:12]}).\n"
        )
    return filled, notes
