"""Keeps verdicts in git between runs, and finds one that a label event need not measure again."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from gateval.adapters.age import own_key
from gateval.app.action.context import ActionContext
from gateval.app.action.event import ActionEvent
from gateval.domain.decision.report import Report
from gateval.domain.forge.check_run import CheckRun
from gateval.domain.forge.trigger import Trigger
from gateval.domain.history.record import (
    HistoryRecord,
    inputs_digest,
    outdated,
    overtaken,
    plan_digest,
    record_of,
)
from gateval.domain.history.standing import kept_findings, regressions_of
from gateval.domain.manifests.policy.gate_config import Policy, policy_digest
from gateval.domain.plan.plan import Plan
from gateval.domain.ruling import GateLabel
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.history import StoredRecords, read_stored_records, verdict_in
from gateval.pipeline.rules import read_rules
from gateval.ports.records import Stored
from gateval.publish.check import newest_check
from gateval.publish.history import store_verdict


class StoredVerdict(NamedTuple):
    """A verdict that may be restated with the check run that shows it now, or why there is none."""

    record: HistoryRecord | None
    check: CheckRun | None = None
    why_not: str = ""


def verdict_record(event: ActionEvent, report: Report, whole: Report) -> HistoryRecord | None:
    """Return what is to be stored of the verdict on a pull request's head; None if nothing is.

    `whole` has what is sealed in it.
    """
    if not event.binds or event.resolved.number is None or report.results.plan.nothing:
        return None
    return record_of(
        report,
        run=event.context.run,
        recorded_at=event.context.clock.utc_now(),
        started_at=event.target.stamp.started,
        check=event.target.check_name,
        read_from=_inputs(event),
        regressed=tuple(regressions_of(report)),
        kept=kept_findings(whole, own_key(event.context.settings.environ)),
        plan=whole.results.plan,
    )


def keep_verdict(event: ActionEvent, record: HistoryRecord | None) -> str:
    """Store a verdict; return a sentence if that failed."""
    if record is None:
        return ""
    try:
        with event.context.open_records() as records:
            store_verdict(records, record)
    except (GatevalError, OSError) as error:
        return f"{NOT_KEPT} {said_by(error)}"
    return ""


NOT_KEPT = (
    "The verdict could not be kept in git (refs/gateval/history), so what regressed stands on this "
    "commit alone, by the check run, and not at all where that cannot be written either; another "
    "commit is measured anew, and a label runs the evals again. The job needs "
    "`contents: write`; its log says what stood in the way."
)


class StoredVerdicts:
    """Looks for a verdict to restate while the run finds out what it is about.

    A stored verdict is a cache that anybody who may push can write, so the gate's own check run has
    to confirm it. It never becomes a pass: one that says so only leaves a check run alone that
    passed on this commit already. The label that
    accepts a lower bar can turn a fail into a pass, so while it is there the evals run; and so they
    do when somebody runs the job again, for that is how one asks for them.
    """

    def __init__(self, context: ActionContext, trigger: Trigger) -> None:
        self._label = trigger.label
        whole = context.inputs.step is ActionStep.ALL and trigger.trust.verified
        self._reading: Future[StoredRecords] | None = None
        if self._label is not None and whole:
            aside = ThreadPoolExecutor(1)
            self._reading = aside.submit(read_stored_records, context.open_records)
            aside.shutdown(wait=False)

    def audit(self) -> Stored | None:
        """Return the audit log as it was read, None when it is to be read later."""
        reading = self._reading
        if reading is None or reading.exception() is not None:
            return None
        return reading.result().audit

    def find(self, event: ActionEvent) -> StoredVerdict | None:
        """Return what there is to restate, whatever would run now; None if it is not asked for."""
        if self._reading is None or self._label is None:
            return None
        if event.context.run.attempt > 1:
            return StoredVerdict(None, why_not="somebody asked for another attempt")
        if GateLabel.ACCEPT_BAR in {GateLabel.named(self._label.name), *event.labels}:
            return StoredVerdict(
                None, why_not="what the label accept-bar-change accepts has to be measured"
            )
        try:
            history = self._reading.result().history
            record = verdict_in(history, event.target.head, event.target.check_name)
            if record is None:
                return StoredVerdict(None, why_not="no verdict on this revision is stored")
            check = newest_check(event.context.forge, event.target)
        except (GatevalError, OSError) as error:
            return StoredVerdict(
                None, why_not=f"the stored verdict cannot be read: {said_by(error)}"
            )
        why = overtaken(record, check)
        return StoredVerdict(None, why_not=why) if why else StoredVerdict(record, check)


def unchanged_rules(stored: StoredVerdict | None, event: ActionEvent) -> Policy | None:
    """Return the policy if a plan made now is sure to be the record's; None if it has to be made.

    A draft may have to wait, which the plan decides.
    """
    if stored is None or stored.record is None or event.resolved.draft:
        return None
    if stored.record.read_from != _inputs(event) or stored.record.head != event.target.head:
        return None
    context, tip = event.context, event.resolved.revisions.base_tip
    rules = read_rules(context.repository, tip, context.shared, context.inputs.config).rules
    same = not rules.unread and policy_digest(rules.policy) == stored.record.policy
    return rules.policy if same else None


def _inputs(event: ActionEvent) -> str:
    revisions, context = event.resolved.revisions, event.context
    return inputs_digest(
        head=revisions.head,
        base=revisions.base,
        base_tip=revisions.base_tip,
        config=context.inputs.config,
        narrowing=context.narrowing,
    )


def same_plan(stored: StoredVerdict | None, plan: Plan) -> StoredVerdict | None:
    """Return what was found if a plan made now is the record's, else why it is not."""
    if stored is None or stored.record is None:
        return stored
    head, policy = plan.head.commit or "", policy_digest(plan.policy)
    why = outdated(stored.record, head=head, policy=policy, plan=plan_digest(plan))
    return StoredVerdict(None, why_not=why) if why else stored


def said_by(error: Exception) -> str:
    """Return an error for the log: it may quote what somebody pushed."""
    from gateval.safe.sanitize import plain_line

    return plain_line(str(error), 1_000)
