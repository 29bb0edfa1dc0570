"""The audit log for people and for logs: one line per entry, a part of the job summary."""

from __future__ import annotations

import re

from gateval.domain.audit import AuditEntry, AuditEvent, AuditKind
from gateval.domain.base import ascii_json
from gateval.domain.label_decision import LabelUse
from gateval.domain.text import Safe, markdown, quote
from gateval.safe.sanitize import code, inline, plain_line

LINE = 600
"""Characters of a line."""

_PLAIN = re.compile(r"[\w./\[\]-]{1,100}", re.ASCII)

_WORDS = {
    AuditKind.BYPASS_GRANTED: "bypass granted",
    AuditKind.BYPASS_DENIED: "bypass denied",
    AuditKind.BYPASS_ENDED: "bypass ended by a push",
    AuditKind.BYPASS_WITHDRAWN: "bypass taken back",
    AuditKind.BYPASS_CARRIED: "bypass carried into the merge queue",
    AuditKind.BAR_ACCEPTED: "lowered bar accepted",
    AuditKind.NOT_EVALUATED: "could not evaluate",
    AuditKind.VERDICT: "verdict",
}


def log_line(event: AuditEvent) -> str:
    """Return an event or entry as one line of JSON that does nothing to the log it stands in.

    It is plain ASCII. A runner takes `##[` anywhere for a command, so `#` is written as an escape,
    which means the same in JSON.
    """
    return ascii_json(event.model_dump(mode="json")).replace("#", "\\u0023")


def entry_line(entry: AuditEntry) -> str:
    """Return an entry as one line for a terminal: when, what, where, who, why."""
    when = entry.at.replace("T", " ").replace("Z", " UTC")
    return plain_line(f"{entry.number:>4}  {when}  {sentence(entry)}", LINE + 30)


def sentence(event: AuditEvent) -> str:
    """Return what happened in one sentence, not yet sanitised."""
    what = _WORDS[event.kind]
    if event.kind is AuditKind.VERDICT and event.verdict:
        what = f"{what} {event.verdict}"
    where = _name(event.repository)
    if event.pull_request:
        where += f" pull request {event.pull_request}"
    parts = [f"{what} on {where} at {event.head[:7]}"]
    if event.label:
        parts.append(_by(event.label))
    if event.reason:
        short = len(event.reason) <= 60
        shown = quote(event.reason) if short else f'"{event.reason[:200]}"'
        parts.append(f"reason {shown}")
    parts += filter(None, (event.why, _failing(event), _bars(event)))
    if event.stored_by is not None:
        run = _name(event.stored_by.id or "without a number")
        parts.append(f"as run {run} had measured before")
    return "; ".join(parts)


def summary_section(event: AuditEvent) -> Safe:
    """Return the job summary's part about an event; an entry shows its hash besides."""
    kept = markdown("not in the audit log")
    if isinstance(event, AuditEntry):
        shown = code(event.hash, 64)
        kept = markdown("entry {} of the audit log, hash {}", event.number, shown)
    return markdown("### Audit\n\n- {}\n- {}\n", inline(sentence(event), LINE), kept)


def _name(text: str) -> str:
    """Return a name as it is; one that could be taken for more than a name stands in quotes."""
    return text if _PLAIN.fullmatch(text) else quote(text)


def _by(label: LabelUse) -> str:
    role = f" ({_name(label.by.role)})" if label.by.role else ""
    own = ", author of the change" if label.own else ""
    return f"label {_name(label.name)} by {_name(label.by.login)}{role}{own}"


def _failing(event: AuditEvent) -> str:
    if not event.failing:
        return ""
    named = ", ".join(
        f"{_name(one.eval)} {one.failed} of {one.fixtures} failed"
        + (f" and {one.unmeasured} not measured" if one.unmeasured else "")
        if one.failed or one.unmeasured
        else f"{_name(one.eval)}, which is sealed,"
        for one in event.failing[:3]
    )
    total = max(event.failing_total, len(event.failing))
    more = f" and {total - 3} more Evals" if total > 3 else ""
    return f"{named}{more}"


def _bars(event: AuditEvent) -> str:
    if not event.bars:
        return ""
    total = max(event.bars_total, len(event.bars))
    more = f" and {total - 3} more" if total > 3 else ""
    return f"bars: {', '.join(quote(bar) for bar in event.bars[:3])}{more}"
