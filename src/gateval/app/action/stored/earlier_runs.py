"""What earlier runs measured, for a new one: base's trials, judges' agreements, experiments' sets.

Trials and agreements decide something, so they count as far as the forge confirms that the default
branch measured them.
"""

from __future__ import annotations

from gateval.app.action.event import ActionEvent
from gateval.app.action.stored.proof import home_of, proven, said
from gateval.domain.history.agreements import (
    agreement_donors,
    wanted_agreements,
    with_agreements,
)
from gateval.domain.history.baseline import donors, wanted, with_stored
from gateval.domain.history.runs.sets import earlier_sets, experiments
from gateval.domain.plan.plan import Plan
from gateval.domain.results.averages import EarlierSet
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep


def with_baseline(event: ActionEvent, plan: Plan) -> tuple[Plan, str]:
    """Return the plan with the stored base trials that are proven, and lines for the log.

    Without any, base is measured beside head, as ever. Runs in parts plan twice, and one that is
    not trusted proves nothing: neither uses what is stored.
    """
    policy = plan.policy.baseline
    if not event.binds or event.context.inputs.step is not ActionStep.ALL or not policy.trials:
        return plan, ""
    asked = wanted(plan)
    if not asked or not event.trigger.default_branch:
        return plan, ""
    try:
        stored = event.stored_runs()
        home, since = home_of(event, plan)
        offered = donors(asked, stored, home, since=since, most=policy.trials)
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


def with_stored_agreements(event: ActionEvent, plan: Plan) -> tuple[Plan, str]:
    """Return the plan with the agreements that are proven, and lines for the log.

    Calibrations without one are replayed in this run: where the change touches judge, rubric or
    examples, and where nothing is stored, too old, or not confirmed.
    """
    if not any(one.wants_calibration for one in plan.evals):
        return plan, ""
    whole = event.binds and event.context.inputs.step is ActionStep.ALL
    if not whole or not event.trigger.default_branch:
        return plan, ""
    from gateval.judging.replay import prompt_digest

    asked = wanted_agreements(plan, prompt_digest())
    try:
        stored = event.stored_runs()
        home, since = home_of(event, plan)
        offered = agreement_donors(asked, stored, home, since=since)
        confirmed, notes = proven(event, offered, home)
    except (GatevalError, OSError) as error:
        return plan, f"Calibrations are replayed in this run: {said(error)}\n"
    filled = with_agreements(plan, asked, confirmed)
    for one in filled.agreements:
        notes += (
            f"The judge {one.binding.model} was calibrated by {one.calibration} in {one.run}.\n"
        )
    return filled, notes


def sets_stored(event: ActionEvent, plan: Plan) -> tuple[EarlierSet, ...]:
    """Return the newest set of each experiment of a plan; none where the file cannot be read.

    They are shown and decide nothing, so that no proof is asked for.
    """
    names = [one.own_name for one in experiments(plan)]
    if not names or not event.binds:
        return ()
    try:
        return earlier_sets(plan, event.stored_runs(names))
    except (GatevalError, OSError):
        return ()
