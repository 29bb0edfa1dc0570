"""Reviews the gate's labels in one run, and decides: reads what bears on them, rules, and
records.

Labels are read after the evals, right before the decision: what was put on or taken off meanwhile
counts as it is then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gateval.app.action.context import ActionEvent
from gateval.domain.audit import AuditEntry, AuditEvent, AuditKind
from gateval.domain.decision.decision import Report, make_report
from gateval.domain.forge.trigger import PullRequest
from gateval.domain.history.verdicts import about_report
from gateval.domain.label_decision import (
    GateLabel,
    LabelDecision,
    LabelDecisions,
    LabelStatus,
    LabelUse,
)
from gateval.domain.labels import newest_event, open_grant, rule_on, taken_off
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.results.results import Results
from gateval.domain.verdicts import GateVerdict
from gateval.errors import ForgeError, GatevalError
from gateval.pipeline.resolved_event import (
    PullFacts,
    entries_in,
    labels_of,
    read_label,
    read_pull,
)
from gateval.ports.storage import AUDIT_LOG
from gateval.publish.audit import AuditWriter, settle

if TYPE_CHECKING:
    from gateval.safe.redaction import Redactor


@dataclass
class LabelReview:
    """The labels of the pull requests that a run is about: one, or those of a merge group."""

    event: ActionEvent
    policy: Policy
    pulls: tuple[PullRequest, ...]
    warnings: list[str] = field(default_factory=list)
    _found: list[LabelDecision] = field(default_factory=list)
    _recorded: tuple[AuditEntry, ...] | None = None
    _unreadable: str = ""
    _pulls: dict[int, PullFacts] = field(default_factory=dict)

    @property
    def label_decisions(self) -> LabelDecisions:
        """The rulings so far."""
        return LabelDecisions(found=tuple(self._found))

    def on(self, label: GateLabel) -> bool:
        """Whether any of the pull requests has the label."""
        return any(label in labels_of(pull) for pull in self.pulls)

    def rule(self, label: GateLabel, about: AuditEvent, *, matters: bool) -> None:
        """Rule on a label and carry that out. `about` is what the evals say.

        One that does not matter is looked at, too: a push may have ended it, and then it goes.
        """
        there = [pull for pull in self.pulls if label in labels_of(pull)]
        ruled = [self._rule(pull, label) for pull in there if not self._gone(pull, label)]
        resolved = self.event.resolved
        group = bool(resolved.group)
        if len(ruled) < len(self.pulls) or (group and not resolved.group_known):
            ruled = [_denied(one) if one.granted else one for one in ruled]
        for decided in ruled:
            if matters or decided.status is LabelStatus.ENDED:
                ledger, forge = self.ledger(about), self.event.context.forge
                ruling, warnings = settle(decided, ledger, forge, carried=group)
                self._found.append(ruling)
                self.warnings += warnings

    def _gone(self, pull: PullRequest, label: GateLabel) -> bool:
        """Whether somebody, or another run, took the label off since the pull request was read."""
        newest = newest_event(label, self._known(pull).events)
        if newest is None or newest.added:
            return False
        try:
            return label not in labels_of(self.event.context.forge.pull_request(pull.number))
        except ForgeError:
            return False

    def ledger(self, about: AuditEvent) -> AuditWriter:
        """Return the audit log for what happens to this verdict."""
        context = self.event.context
        return AuditWriter(
            policy=self.policy.audit,
            about=about,
            open_records=context.open_records,
            others=context.sinks,
            now=context.clock.utc_now,
            clean=self._redactor().value,
            recorded=self._recorded or (),
        )

    def note(
        self, about: AuditEvent, kind: AuditKind, *, use: LabelUse | None = None, why: str = ""
    ) -> AuditEntry | None:
        """Record what no ruling is about; return its entry, None if git has none."""
        ledger = self.ledger(about)
        receipt = ledger.write(kind, use=use, why=why)
        self.warnings += ledger.unheard(receipt)
        return receipt.entry

    def _rule(self, pull: PullRequest, label: GateLabel) -> LabelDecision:
        facts = read_label(
            self.event.context.forge,
            pull,
            label,
            self.event.trigger,
            self.entries(),
            self._known(pull),
            attempt=self.event.context.run.attempt,
        )
        if self._unreadable:
            facts = facts.replace(unknown=self._unreadable)
        return self._redactor().value(rule_on(facts, self.policy.bypass))

    def _known(self, pull: PullRequest) -> PullFacts:
        """Ask GitHub once for all labels of a pull request."""
        if pull.number not in self._pulls:
            self._pulls[pull.number] = read_pull(self.event.context.forge, pull)
        return self._pulls[pull.number]

    def _redactor(self) -> Redactor:
        from gateval.safe.redaction import Redactor

        return Redactor(self.event.context.secrets)

    def entries(self) -> tuple[AuditEntry, ...]:
        """Return what the audit log held when it was read; nothing if it cannot be."""
        if self._recorded is None:
            try:
                if self.event.audit is not None:
                    self._recorded = entries_in(self.event.audit)
                else:
                    with self.event.context.open_records() as records:
                        self._recorded = entries_in(records.read(AUDIT_LOG))
            except GatevalError as error:
                self._recorded, self._unreadable = (), error.sentence
            except OSError as error:
                self._recorded = ()
                self._unreadable = f"The audit log cannot be read: {error.strerror}."
        return self._recorded


def review_of(event: ActionEvent, policy: Policy, verdict: GateVerdict) -> LabelReview:
    """Read the pull requests as they are now, where a label can matter.

    GitHub is asked only when the evals do not pass, or one of the gate's labels was there when the
    run began. Pull requests that have moved on from the measured head have no say; nor has one that
    the token may not read, which is a warning.
    """
    resolved, pulls, warnings = event.resolved, [], []
    numbers: tuple[int, ...] = ()
    if event.binds and (event.labels or verdict is not GateVerdict.PASS):
        seen = resolved.pull_request
        numbers = resolved.group or ((seen.number,) if seen is not None else ())
    for number in numbers:
        try:
            pulls.append(event.context.forge.pull_request(number))
        except ForgeError as error:
            warnings.append(f"Labels do not count in this run. {error.sentence}")
    moved = not resolved.group and any(pull.head.sha != event.target.head for pull in pulls)
    return LabelReview(event, policy, () if warnings or moved else tuple(pulls), warnings)


def _denied(decided: LabelDecision) -> LabelDecision:
    why = (
        "The merge group holds other pull requests, or may hold some, that nobody has let through. "
        "Queue this one by itself, or put the label on each of them."
    )
    return decided.replace(status=LabelStatus.DENIED, why=why)


def note_withdrawals(review: LabelReview, about: AuditEvent) -> None:
    """Record each label that counted and is gone. Only label events are looked at.

    What cannot be read or written is a warning: nothing hangs on it, for the label counts no more.
    """
    if review.event.trigger.label is None:
        return
    for pull in review.pulls:
        there = GateLabel.among(pull.labels)
        for label in GateLabel:
            grant = open_grant(label, pull.number, review.entries())
            if label in there or grant is None:
                continue
            try:
                events = review.event.context.forge.label_events(pull.number)
            except ForgeError as error:
                review.warnings.append(f"Nobody recorded who took off {label}. {error.sentence}")
                return
            if use := taken_off(label, events, pull.author):
                why = f"This takes back entry {grant.number}."
                review.note(about, AuditKind.BYPASS_WITHDRAWN, use=use, why=why)


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
        plan = results.plan.replace(bar_accepted="somebody")
        accepted = make_report(results.replace(plan=plan))
        changes = [r.verdict for r in accepted.decision.reasons] != [
            r.verdict for r in report.decision.reasons
        ]
        review.rule(GateLabel.ACCEPT_BAR, about, matters=changes)
        report = make_report(results, review.label_decisions)
    if review.on(GateLabel.BYPASS):
        matters = report.decision.evals is not GateVerdict.PASS
        review.rule(GateLabel.BYPASS, about_report(report, occurrence), matters=matters)
        report = make_report(results, review.label_decisions)
    return report
