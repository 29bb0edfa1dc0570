"""A label that counted and that somebody took off: found from the log and the label's events. Pure.

The log only says what there is to take back. A forged grant leads to one more line about a label
that was taken off, and to nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateval.domain.audit.entry import AuditEntry, AuditKind
from gateval.domain.labels.facts import LabelEvent, newest_event
from gateval.domain.ruling import GateLabel, LabelUse

_COUNTS = {AuditKind.BYPASS_GRANTED, AuditKind.BAR_ACCEPTED}
_OVER = {AuditKind.BYPASS_ENDED, AuditKind.BYPASS_WITHDRAWN}


def open_grant(
    label: GateLabel, pull_request: int, entries: Iterable[AuditEntry]
) -> AuditEntry | None:
    """Return the grant for a pull request that nothing has ended as yet; None if there is none."""
    found = None
    for entry in entries:
        if entry.pull_request != pull_request or entry.label is None or entry.label.name != label:
            continue
        if entry.kind in _COUNTS | _OVER:
            found = entry if entry.kind in _COUNTS else None
    return found


def taken_off(label: GateLabel, events: Sequence[LabelEvent], author: str) -> LabelUse | None:
    """Return who took a label off and when; None if it is there, or never was.

    `author` is the pull request's.
    """
    newest = newest_event(label, events)
    if newest is None or newest.added:
        return None
    return newest.use(label, author)
