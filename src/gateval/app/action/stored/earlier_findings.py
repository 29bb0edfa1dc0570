"""What earlier runs found regressed: by the records in git, and by our check runs on this head."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.adapters.age import identities, own_key
from gateval.app.action.event import ActionEvent
from gateval.app.action.labels.stored_verdicts import said_by
from gateval.app.action.progress import ActionProgress
from gateval.domain.decision.report import Report
from gateval.domain.forge.announcement import Announcement
from gateval.domain.forge.check_run import CheckRun
from gateval.domain.forge.trigger import EventName
from gateval.domain.history.file import all_records
from gateval.domain.history.record import HistoryRecord
from gateval.domain.history.standing import (
    UNREADABLE,
    findings_of,
    remembered,
    with_spent_budget,
    with_standing,
)
from gateval.domain.plan.plan import Plan
from gateval.errors import ForgeError, GatevalError, MissingPermission, RecordsError
from gateval.ports.records import HISTORY, RUNS
from gateval.publish.target import PublishTarget


def with_earlier_findings(
    event: ActionEvent, plan: Plan, progress: ActionProgress
) -> tuple[Plan, str]:
    """Return the plan with what earlier runs found regressed, and lines for the log, if any.

    A comment goes on with what was found and never starts over: where the records cannot be read,
    it raises `RecordsError`. Other events go by the check runs then, and where neither can be read
    there is no pass.
    """
    if not event.binds or not plan.evals:
        return plan, ""
    records, unread = _records(event)
    checks, unlisted, doubtful = _checks(progress, event.target, records)
    if doubtful or (unread and unlisted):
        plan = plan.model_copy(update={"findings_lost": UNREADABLE})
    secrets = _secrets(event)
    own = own_key(event.context.settings.environ)
    found = remembered(records, checks, secrets, own, event.target.head)
    plan = with_spent_budget(with_standing(plan, found, secrets), records, found.spent)
    return plan, unread + unlisted


def remembering(event: ActionEvent, said: Announcement, report: Report) -> Announcement:
    """Return what is said with what its check run is to remember."""
    if not event.binds:
        return said
    return said.model_copy(
        update={"findings": findings_of(report, own_key(event.context.settings.environ))}
    )


def _secrets(event: ActionEvent) -> Sequence[str]:
    return identities(event.context.settings.environ)


def _records(event: ActionEvent) -> tuple[Sequence[HistoryRecord], str]:
    """Return the records in git, and a line if they cannot be read."""
    try:
        with event.context.open_records() as records:
            records.preload(HISTORY, RUNS)
            stored = records.read(HISTORY)
    except (GatevalError, OSError) as error:
        why = said_by(error)
        if event.trigger.event is EventName.COMMENT:
            raise RecordsError(
                f"Earlier findings on this head cannot be read, so nothing is run. {why}",
                hint="Ask again when they can be, or push.",
            ) from error
        return (), f"Records in git cannot be read, so check runs tell what was found. {why}\n"
    return all_records(stored.content) if stored and stored.content else (), ""


def _checks(
    progress: ActionProgress, target: PublishTarget, records: Sequence[HistoryRecord]
) -> tuple[Sequence[CheckRun], str, bool]:
    """Return our check runs on head; a line if they cannot be listed; and whether they may know
    more than the records: not if one of those is of this head, nor where the job may write none.
    """
    try:
        return progress.earlier_checks(target), "", False
    except ForgeError as error:
        note = f"Check runs on this commit cannot be listed. {said_by(error)}\n"
        there = any((one.head, one.check) == (target.head, target.check_name) for one in records)
        return (), note, not there and not isinstance(error, MissingPermission)
