"""Keeps verdicts in git between runs, and finds one that a label event need not measure again."""

from __future__ import annotations

from typing import NamedTuple

from gateval.adapters.clock import SystemClock
from gateval.app.action.case import Case
from gateval.domain.check_run import CheckRun, Conclusion
from gateval.domain.history import HistoryRecord, outdated, plan_digest, record_of
from gateval.domain.manifests.gate_config import policy_digest
from gateval.domain.plan import Plan
from gateval.domain.report import Report
from gateval.domain.rulings.facts import GateLabel
from gateval.domain.trigger import Labeled, PullRequestSubject, Trigger
from gateval.domain.verdicts import GateVerdict
from gateval.errors import GatevalError
from gateval.formats.action_inputs import Step
from gateval.pipeline.history import stored_verdict
from gateval.publish.check import newest_check
from gateval.publish.history import store_verdict


class Kept(NamedTuple):
    """A verdict that may be restated with the check run that shows it now, or why there is none."""

    record: HistoryRecord | None
    check: CheckRun | None = None
    why_not: str = ""


def keep_verdict(case: Case, report: Report) -> str:
    """Store the verdict on a pull request's head; return a line for the log if that failed."""
    if not case.binds or case.occasion.number is None or report.results.plan.nothing:
        return ""
    record = record_of(
        report,
        run=case.scene.run,
        recorded_at=SystemClock().utc_now(),
        started_at=case.target.stamp.started,
        check=case.target.check_name,
    )
    if record is None:
        return ""
    try:
        with case.scene.open_records() as records:
            store_verdict(records, record)
    except (GatevalError, OSError) as error:
        return f"\nThe verdict is not kept, so a label event runs the evals again. {_said(error)}\n"
    return ""


def told_label(trigger: Trigger) -> Labeled | None:
    """Return the label that this run was started by; None when it was something else."""
    subject = trigger.subject
    return subject.labeled if isinstance(subject, PullRequestSubject) else None


def find_kept(case: Case, plan: Plan) -> Kept | None:
    """Return what a label event can restate; None when this run is not about a label.

    A stored verdict is a cache that anybody who may push can write. It never becomes a pass: one
    that says so only leaves a check run alone that passed on this commit already. The label that
    accepts a lower bar can turn a fail into a pass, so while it is there the evals run; and so they
    do when somebody runs the job again, for that is how one asks for them.
    """
    told, seen = told_label(case.trigger), case.occasion.pull_request
    whole = case.binds and case.scene.inputs.step is Step.ALL
    if told is None or not whole or plan.nothing:
        return None
    if case.scene.run.attempt > 1:
        return Kept(None, why_not="somebody asked for another attempt")
    if GateLabel.ACCEPT_BAR in {told.name, *(seen.labels if seen else ())}:
        return Kept(None, why_not="what the label accept-bar-change accepts has to be measured")
    try:
        with case.scene.open_records() as records:
            record = stored_verdict(records, case.target.head, case.target.check_name)
        if record is None:
            return Kept(None, why_not="no verdict on this revision is stored")
        check = newest_check(case.scene.forge, case.target)
    except (GatevalError, OSError) as error:
        return Kept(None, why_not=f"the stored verdict cannot be read: {_said(error)}")
    why = outdated(
        record, head=case.target.head, policy=policy_digest(plan.policy), plan=plan_digest(plan)
    ) or _overtaken(record, check)
    return Kept(None, why_not=why) if why else Kept(record, check)


def _said(error: Exception) -> str:
    """Return an error for the log: it may quote what somebody pushed."""
    from gateval.render.sanitize import plain_line

    return plain_line(str(error), 1_000)


def _overtaken(record: HistoryRecord, check: CheckRun | None) -> str:
    """Return why the check run on the commit does not go with the record; empty if it does."""
    if check is not None and not check.completed:
        return "another run is evaluating this revision now"
    if record.accepted:
        return "a lowered bar was accepted, and whether it still is has to be seen"
    if record.verdict is not GateVerdict.PASS:
        return ""
    if check is None or check.conclusion != Conclusion.SUCCESS:
        return "a pass is given by evals that ran, never by a stored verdict"
    return ""
