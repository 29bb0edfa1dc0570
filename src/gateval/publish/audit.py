"""Writes an audit event to every sink, git first, and says which of them have it.

Git first, because its entry carries the number and the hash that the others repeat. Whether a
failed sink matters is for the caller: a bypass is denied when a required one failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gateval.domain.audit.chain import append
from gateval.domain.audit.entry import AuditEntry, AuditEvent
from gateval.errors import GatevalError
from gateval.ports.records import AUDIT_LOG, Edit, Records

GIT = "git"
REQUIRED = (GIT,)
"""The sinks without which there is no bypass, unless the policy names others."""


class AuditSink(NamedTuple):
    """A sink besides git. `write` takes the entry, or the bare event when git has none.

    It raises `GatevalError` or OSError when the sink did not take it.
    """

    name: str
    write: Callable[[AuditEvent], None]


class Delivery(NamedTuple):
    """The outcome at one sink: `problem` and `hint` are sentences, empty when it has the event."""

    sink: str
    problem: str = ""
    hint: str = ""


class AuditReceipt(NamedTuple):
    """The entry in git, or None; and each sink in the order of writing."""

    entry: AuditEntry | None
    deliveries: tuple[Delivery, ...]

    def failed(self, required: Iterable[str] = REQUIRED) -> tuple[Delivery, ...]:
        """Those of the required sinks that do not have it, one that was never tried included."""
        found = {delivery.sink: delivery for delivery in self.deliveries}
        asked = (found.get(name) or Delivery(name, _UNKNOWN.format(name)) for name in required)
        return tuple(delivery for delivery in asked if delivery.problem)


_UNKNOWN = "There is no audit sink {} in this run."
_NO_REMOTE = "There is no remote repository to keep the audit log in."


def record_event(
    event: AuditEvent, records: Records | None, others: Sequence[AuditSink] = ()
) -> AuditReceipt:
    """Write `event` to git and then to the others; one that fails keeps none of the rest from it.

    Secrets have to be out of the event before. `records` is None where there is no remote.
    """
    if records is None:
        return deliver(event, None, others)
    try:
        return deliver(event, append_entry(records, event), others)
    except (GatevalError, OSError) as error:
        return deliver(event, None, others, why_not=error)


def deliver(
    event: AuditEvent,
    entry: AuditEntry | None,
    others: Sequence[AuditSink],
    *,
    why_not: GatevalError | OSError | None = None,
) -> AuditReceipt:
    """Tell the other sinks of an event, and of its entry in git, or else why there is none."""
    if why_not is not None:
        deliveries = [_failed(GIT, why_not)]
    else:
        deliveries = [Delivery(GIT) if entry else Delivery(GIT, _NO_REMOTE)]
    for sink in others:
        try:
            sink.write(entry or event)
            deliveries.append(Delivery(sink.name))
        except (GatevalError, OSError) as error:
            deliveries.append(_failed(sink.name, error))
    return AuditReceipt(entry, tuple(deliveries))


def append_entry(records: Records, event: AuditEvent) -> AuditEntry:
    """Add an event to the log in git and return its entry. Raises `RecordsError`."""
    made: list[AuditEntry] = []

    def edit(content: bytes) -> Edit | None:
        grown, entry = append(content, event)
        made.append(entry)
        return None if grown == content else Edit(grown, _message(entry))

    records.change(AUDIT_LOG, edit)
    return made[-1]


def _message(entry: AuditEntry) -> str:
    """The commit's message: numbers and our own words only, for a forge acts on others."""
    where = f", pull request {entry.pull_request}" if entry.pull_request else ""
    return f"Entry {entry.number}: {entry.kind.replace('-', ' ')}{where}, head {entry.head[:12]}\n"


def _failed(sink: str, error: GatevalError | OSError) -> Delivery:
    if isinstance(error, GatevalError):
        return Delivery(sink, error.message, error.hint)
    return Delivery(sink, f"The audit sink {sink} cannot be written: {error.strerror or error}.")
