"""From results to a decision: the labels are reviewed, and what the policy wants is recorded."""

from __future__ import annotations

from typing import NamedTuple

from gateval.app.action.event import ActionEvent
from gateval.app.action.labels.review import LabelReview, review_of
from gateval.app.action.labels.withdrawn import note_withdrawals
from gateval.domain.audit.entry import AuditEntry, AuditKind
from gateval.domain.decision.report import Report, make_report
from gateval.domain.history.audited import about_report
from gateval.domain.results.results import Results
from gateval.domain.ruling import GateLabel
from gateval.domain.verdicts import GateVerdict

_NOT_EVALUATED = {GateVerdict.INCOMPLETE, GateVerdict.INCONCLUSIVE}


class Decided(NamedTuple):
    """A report with the labels that count, and the same without any label.

    `whole` is that with what is sealed in it. `entry` is the audit log's entry about the verdict,
    None if there is none.
    """

    report: Report
    without_labels: Report
    whole: Report
    entry: AuditEntry | None = None
    warnings: tuple[str, ...] = ()


def decide(event: ActionEvent, results: Results, whole: Results) -> Decided:
    """Compare, review the labels, decide, and record what the policy wants recorded."""
    report = make_report(results)
    hidden = report if whole is results else make_report(whole)
    policy = results.plan.policy
    nothing = results.plan.nothing and report.decision.evals is GateVerdict.PASS
    if not event.binds or (nothing and not event.labels):
        return Decided(report, report, hidden)
    review = review_of(event, policy, report.decision.evals)
    labelled = _with_labels(review, results, report, event)
    about = about_report(labelled, event.occurrence(event.context.clock.utc_now()))
    entry = None
    if labelled.decision.verdict in _NOT_EVALUATED:
        entry = review.note(about, AuditKind.NOT_EVALUATED)
    elif policy.audit.verdicts:
        entry = review.note(about, AuditKind.VERDICT)
    return Decided(labelled, report, hidden, entry, tuple(review.warnings))


def _with_labels(
    review: LabelReview, results: Results, report: Report, event: ActionEvent
) -> Report:
    """Review the label about the bar first: what it accepts may be all there is to bypass."""
    occurrence = event.occurrence(event.context.clock.utc_now())
    note_withdrawals(review, about_report(report, occurrence))
    if review.on(GateLabel.ACCEPT_BAR):
        about = about_report(report, occurrence)
        review.rule(GateLabel.ACCEPT_BAR, about, matters=_bar_binds(results, report))
        report = make_report(results, review.rulings)
    if review.on(GateLabel.BYPASS):
        matters = report.decision.evals is not GateVerdict.PASS
        review.rule(GateLabel.BYPASS, about_report(report, occurrence), matters=matters)
        report = make_report(results, review.rulings)
    return report


def _bar_binds(results: Results, report: Report) -> bool:
    """Whether accepting a lower bar would change anything."""
    plan = results.plan.model_copy(update={"bar_accepted": "somebody"})
    accepted = make_report(results.model_copy(update={"plan": plan}))
    return [r.verdict for r in accepted.decision.reasons] != [
        r.verdict for r in report.decision.reasons
    ]
