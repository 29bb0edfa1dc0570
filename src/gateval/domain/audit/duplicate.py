"""Whether the audit log says already what is to be recorded: compared by content. Pure.

Everybody who may push can add an entry to the log. One counts as a duplicate only if all that
matters in it is what the gate would write now, its time included; so a forged one hides nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gateval.domain.audit.entry import AuditEntry, AuditEvent, AuditKind

CLOCKS_APART = timedelta(minutes=5)
"""How far the clocks of runners and of the forge may be apart."""

_SAME = ("kind", "repository", "pull_request", "head", "base", "label", "reason", "why")
_LETS_THROUGH = {AuditKind.BYPASS_GRANTED, AuditKind.BYPASS_CARRIED, AuditKind.BAR_ACCEPTED}
_THROUGH = ("verdict", "failing", "failing_total", "bars", "bars_total", "policy")


def tells(entry: AuditEntry, event: AuditEvent) -> bool:
    """Whether an entry says all of an event: the very same one, or the same use of a label.

    For a label: who, for which head, why; its time lies between the label's and now. Where it
    counts, also what it lets through: another run, or another gate, may have found more.
    """
    names: tuple[str, ...] = _SAME + _THROUGH if event.kind in _LETS_THROUGH else _SAME
    if event.label is None or not event.label.applied_at:
        names = tuple(AuditEvent.model_fields)
    elif not _in_time(event.label.applied_at, entry.at, event.at):
        return False
    return all(getattr(entry, name) == getattr(event, name) for name in names)


def _in_time(applied: str, noted: str, now: str) -> bool:
    """Whether an entry was made after the label was put on and before now, give or take."""
    try:
        first, at, last = (datetime.fromisoformat(one) for one in (applied, noted, now))
        return first - CLOCKS_APART <= at <= last + CLOCKS_APART
    except (ValueError, TypeError):  # no time, or one without a zone
        return False
