"""Keeps the record of a run of the action in git, for `get`, `history` and later comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gateval.app.action.event import ActionEvent
from gateval.app.action.measure import ActionMeasurement
from gateval.app.action.result import ActionResult
from gateval.domain.decision.report import Report
from gateval.domain.forge.trigger import EventName
from gateval.domain.history.runs.file import newest_first
from gateval.domain.history.runs.record import RunFacts
from gateval.domain.history.runs.turning import turns
from gateval.domain.plan.plan import Plan
from gateval.domain.verdicts import GateVerdict
from gateval.errors import GatevalError
from gateval.ports.records import RUNS
from gateval.publish.history import store_run

OF_BRANCH = {EventName.PUSH, EventName.SCHEDULE}
"""Events that measure what the default branch is."""


class Kept(NamedTuple):
    """What is to be said of a kept run: since when Evals fail, and a line for the log."""

    turned: tuple[str, ...] = ()
    note: str = ""


def keep_run(event: ActionEvent, whole: Report, measured: ActionMeasurement) -> Kept:
    """Write the record of a run that binds, here and in git.

    It is in git before the job ends, and the same bytes are in the results, for an artifact.
    """
    if not event.binds:
        return Kept()
    from gateval.app.run.measure import remember

    record = remember(whole, measured.results, measured.folder, facts_of(event))
    if record is None:
        return Kept()
    turned: tuple[str, ...] = ()
    try:
        with event.context.open_records() as records:
            if event.trigger.event in OF_BRANCH and record.verdict is GateVerdict.FAIL:
                stored = records.read(RUNS)
                earlier = newest_first((stored and stored.content) or b"")
                turned = tuple(one.sentence for one in turns(record, earlier))
            store_run(records, record)
    except (GatevalError, OSError) as error:
        from gateval.safe.sanitize import plain_line

        why = plain_line(str(error), 1_000)
        return Kept(turned, f"\nThe run is not kept, so `gateval history` lacks it. {why}\n")
    return Kept(turned)


def since_when(result: ActionResult, kept: Kept) -> ActionResult:
    """Return the result with the commits between which Evals got worse, in log and summary."""
    if not kept.turned:
        return result
    from gateval.safe.sanitize import inline, plain_line

    lines = "".join(f"- {inline(one, 1_000)}\n" for one in kept.turned)
    text = "".join(f"{plain_line(one, 1_000)}\n" for one in kept.turned)
    return replace(
        result,
        summary=f"{result.summary}\n\n### Since when it fails\n\n{lines}",
        text=result.text + text,
    )


def facts_of(event: ActionEvent) -> RunFacts:
    """Return where this run happens, by the runner's word."""
    context, run = event.context, event.context.run
    number = int(run.id) if run.id.isdigit() else 0
    of_branch = event.trigger.event in OF_BRANCH
    return RunFacts(
        id=f"{number}-{run.attempt}",
        event=event.trigger.event.value,
        at=context.clock.utc_now(),
        run=number,
        url=run.url,
        workflow=context.workflow,
        branch=event.trigger.default_branch if of_branch else "",
        pull_request=event.resolved.number,
    )


def repeated(event: ActionEvent, plan: Plan) -> Plan:
    """Return the plan of a run on the default branch with the repetitions that the policy wants."""
    least = plan.policy.baseline.repetitions
    if event.trigger.event not in OF_BRANCH or least == 1:
        return plan
    evals = tuple(
        one
        if one.deterministic or one.execution.reps_per_fixture >= least
        else one.model_copy(
            update={"execution": one.execution.model_copy(update={"reps_per_fixture": least})}
        )
        for one in plan.evals
    )
    return plan.model_copy(update={"evals": evals})
