"""Records what happens to one run's verdict, in every sink that the policy names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from gateval.domain.audit.duplicate import tells
from gateval.domain.audit.entry import AuditEntry, AuditEvent, AuditKind
from gateval.domain.manifests.policy.gate_config import AuditPolicy
from gateval.domain.manifests.policy.words import AuditSinkName
from gateval.domain.ruling import LabelUse, Ruling
from gateval.errors import GatevalError
from gateval.ports.records import Records
from gateval.publish.audit import AuditReceipt, AuditSink, Delivery, deliver, record_event


@dataclass(frozen=True)
class Ledger:
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
        ruling: Ruling | None = None,
        *,
        use: LabelUse | None = None,
        why: str = "",
        git: bool = True,
    ) -> AuditReceipt:
        """Record that something happened; what the log holds already is not written there again.

        `use` is what somebody did with a label where there is no ruling. With `git` false, only the
        other sinks hear of it.
        """
        event = self.clean(self._event(kind, ruling, use, why))
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

    def _event(
        self, kind: AuditKind, ruling: Ruling | None, use: LabelUse | None, why: str
    ) -> AuditEvent:
        event = {**self.about.model_dump(), "kind": kind, "at": self.now(), "why": why}
        event |= {"label": use.model_dump() if use else None}
        if ruling is not None:
            event |= {"label": ruling.use.model_dump(), "reason": ruling.reason}
            event |= {"why": why or ruling.why, "pull_request": ruling.pull_request}
        return AuditEvent.model_validate(event)
