"""Writes audit events, rulings and records to every sink, git first, and says which have them.

Git first, because its entry carries the number and the hash that the others repeat. Whether a
failed sink matters is for the caller: a bypass is denied when a required one failed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

from gateval.domain.audit import AuditEntry, AuditEvent, AuditKind, append, tells
from gateval.domain.history.run_record import RunRecord, add_run
from gateval.domain.history.verdicts import HistoryRecord, add_record
from gateval.domain.label_decision import GateLabel, LabelDecision, LabelStatus, LabelUse
from gateval.domain.manifests.gate_config import AuditPolicy, AuditSinkName
from gateval.errors import ForgeError, GatevalError
from gateval.ports.forge import LabelSource
from gateval.ports.storage import AUDIT_LOG, HISTORY, RUNS, Edit, RecordFile, Records

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

    @property
    def sentence(self) -> str:
        """The problem and the next step, as one line."""
        return f"{self.problem} {self.hint}".strip()


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


@dataclass(frozen=True)
class AuditWriter:
    """The audit log as one run writes it.

    `about` is what all its events have in common. `now` gives the time of an event, and `clean`
    takes secrets out of it. `recorded` are the entries that were there when the run read the log.
    """

    policy: AuditPolicy
    about: AuditEvent
    open_records: Callable[[], AbstractContextManager[Records]]
    others: Sequence[AuditSink]
    now: Callable[[], str]
    clean: Callable[[AuditEvent], AuditEvent]
    recorded: tuple[AuditEntry, ...] = ()

    def write(
        self,
        kind: AuditKind,
        decided: LabelDecision | None = None,
        *,
        use: LabelUse | None = None,
        why: str = "",
        git: bool = True,
    ) -> AuditReceipt:
        """Record that something happened; what the log holds already is not written there again.

        `use` is what somebody did with a label where there is no ruling. With `git` false, only the
        other sinks hear of it.
        """
        event = self.clean(self._event(kind, decided, use, why))
        others = [sink for sink in self.others if sink.name in self.policy.sinks]
        if not git or AuditSinkName.GIT not in self.policy.sinks:
            return deliver(event, None, others)
        known = next((entry for entry in self.recorded if tells(entry, event)), None)
        if known is not None:
            return deliver(event, known, others)
        with contextlib.ExitStack() as stack:
            try:
                records = stack.enter_context(self.open_records())
            except (GatevalError, OSError) as error:
                return deliver(event, None, others, why_not=error)
            return record_event(event, records, others)

    def failed(self, receipt: AuditReceipt) -> tuple[Delivery, ...]:
        """Return the required sinks that do not have an event."""
        return receipt.failed([name.value for name in self.policy.required])

    def unheard(self, receipt: AuditReceipt) -> list[str]:
        """Return a warning for each sink that the policy names and that does not have the event."""
        named = {name.value for name in self.policy.sinks}
        missing = (one for one in receipt.deliveries if one.problem and one.sink in named)
        return [f"The audit log is not complete. {one.sentence}" for one in missing]

    def _event(
        self, kind: AuditKind, decided: LabelDecision | None, use: LabelUse | None, why: str
    ) -> AuditEvent:
        event = {**self.about.model_dump(), "kind": kind, "at": self.now(), "why": why}
        event |= {"label": use.model_dump() if use else None}
        if decided is not None:
            event |= {"label": decided.use.model_dump(), "reason": decided.reason}
            event |= {"why": why or decided.why, "pull_request": decided.pull_request}
        return AuditEvent.model_validate(event)


_GRANT = {
    GateLabel.BYPASS: AuditKind.BYPASS_GRANTED,
    GateLabel.ACCEPT_BAR: AuditKind.BAR_ACCEPTED,
}


def settle(
    decided: LabelDecision, ledger: AuditWriter, labels: LabelSource, *, carried: bool = False
) -> tuple[LabelDecision, Sequence[str]]:
    """Record a ruling; take an ended label off. Raises nothing that the forge or git did.

    Return the ruling as it stands in the end, and sentences about what could not be done.

    A grant that a required sink did not take becomes a denial. `carried` says that the label of a
    pull request is to count for its merge group.
    """
    kind, warnings = AuditKind.BYPASS_DENIED, list[str]()
    if decided.granted:
        kind = AuditKind.BYPASS_CARRIED if carried else _GRANT[decided.label]
    elif decided.status is LabelStatus.ENDED:
        kind = AuditKind.BYPASS_ENDED
        try:
            labels.remove_label(decided.pull_request, decided.label)
        except ForgeError as error:
            warnings.append(f"The label {decided.label} could not be taken off. {error.message}")
    receipt = ledger.write(kind, decided)
    if decided.granted and (failed := ledger.failed(receipt)):
        why = f"It could not be recorded. {failed[0].sentence}"
        denied = decided.replace(status=LabelStatus.DENIED, why=why[:1000])
        ledger.write(AuditKind.BYPASS_DENIED, denied, git=receipt.entry is not None)
        return denied, ()
    if entry := receipt.entry:
        decided = decided.replace(entry=entry.number, hash=entry.hash)
    return decided, (*warnings, *ledger.unheard(receipt))


def store_verdict(records: Records, record: HistoryRecord) -> None:
    """Add a record to the history, in place of an older one of the same head.

    Raises `RecordsError`; the verdict holds all the same.
    """
    message = f"Verdict on {record.head[:12]}: {record.verdict}\n"
    _grow(records, HISTORY, lambda content: add_record(content, record), message)


def store_run(records: Records, record: RunRecord) -> None:
    """Add a run to those that are kept. Raises `RecordsError`; its verdict holds all the same."""
    message = f"Run {record.id} on {record.revision}: {record.verdict}\n"
    _grow(records, RUNS, lambda content: add_run(content, record), message)


def _grow(records: Records, file: RecordFile, add: Callable[[bytes], bytes], message: str) -> None:
    def edit(content: bytes) -> Edit | None:
        grown = add(content)
        return None if grown == content else Edit(grown, message)

    records.change(file, edit)
