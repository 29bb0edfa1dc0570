"""Keeps the record of a run of the action in git, for `get`, `history` and later comparisons."""

from __future__ import annotations

from gateval.adapters.results_folder import ResultsFolder
from gateval.app.action.event import ActionEvent
from gateval.app.run.remember import remember
from gateval.domain.decision.report import Report
from gateval.domain.forge.trigger import EventName
from gateval.domain.history.run_record import RunFacts
from gateval.errors import GatevalError
from gateval.publish.history import store_run

OF_BRANCH = {EventName.PUSH, EventName.SCHEDULE}
"""Events that measure what the default branch is."""


def keep_run(event: ActionEvent, report: Report, folder: ResultsFolder) -> str:
    """Write the record of a run that binds, here and in git; return a line for the log if need be.

    It is in git before the job ends, and the same bytes are in the results, for an artifact.
    """
    if not event.binds:
        return ""
    record = remember(report, folder, facts_of(event))
    if record is None:
        return ""
    try:
        with event.context.open_records() as records:
            store_run(records, record)
    except (GatevalError, OSError) as error:
        from gateval.safe.sanitize import plain_line

        why = plain_line(str(error), 1_000)
        return f"\nThe run is not kept, so `gateval history` lacks it. {why}\n"
    return ""


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
