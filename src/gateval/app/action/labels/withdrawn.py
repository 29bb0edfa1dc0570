"""Records that somebody took back what a label had let through."""

from __future__ import annotations

from gateval.app.action.labels.review import LabelReview
from gateval.domain.audit.entry import AuditEvent, AuditKind
from gateval.domain.labels.withdrawn import open_grant, taken_off
from gateval.domain.ruling import GateLabel
from gateval.errors import ForgeError


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
