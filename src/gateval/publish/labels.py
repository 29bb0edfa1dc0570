"""Carries out what was ruled about a label: recorded first, and only then does it count."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.audit.entry import AuditKind
from gateval.domain.ruling import GateLabel, Ruling, RulingStatus
from gateval.errors import ForgeError
from gateval.ports.forge import Labels
from gateval.publish.audit import AuditReceipt, Delivery
from gateval.publish.ledger import Ledger

_GRANT = {
    GateLabel.BYPASS: AuditKind.BYPASS_GRANTED,
    GateLabel.ACCEPT_BAR: AuditKind.BAR_ACCEPTED,
}


class Settled(NamedTuple):
    """A ruling as it stands in the end, and sentences about what could not be done."""

    ruling: Ruling
    warnings: tuple[str, ...] = ()


def settle(ruling: Ruling, ledger: Ledger, labels: Labels, *, carried: bool = False) -> Settled:
    """Record a ruling; take an ended label off. Raises nothing that the forge or git did.

    A grant that a required sink did not take becomes a denial. `carried` says that the label of a
    pull request is to count for its merge group.
    """
    if ruling.granted:
        return _grant(ruling, ledger, AuditKind.BYPASS_CARRIED if carried else _GRANT[ruling.label])
    if ruling.status is RulingStatus.ENDED:
        return _end(ruling, ledger, labels)
    receipt = ledger.write(AuditKind.BYPASS_DENIED, ruling)
    return Settled(_entered(ruling, receipt), _unheard(ledger, receipt))


def _grant(ruling: Ruling, ledger: Ledger, kind: AuditKind) -> Settled:
    receipt = ledger.write(kind, ruling)
    failed = ledger.failed(receipt)
    if not failed:
        return Settled(_entered(ruling, receipt), _unheard(ledger, receipt))
    why = f"It could not be recorded. {_sentence(failed[0])}"
    denied = ruling.model_copy(update={"status": RulingStatus.DENIED, "why": why[:1000]})
    ledger.write(AuditKind.BYPASS_DENIED, denied, git=receipt.entry is not None)
    return Settled(denied)


def _end(ruling: Ruling, ledger: Ledger, labels: Labels) -> Settled:
    warnings: tuple[str, ...] = ()
    try:
        labels.remove_label(ruling.pull_request, ruling.label)
    except ForgeError as error:
        warnings = (f"The label {ruling.label} could not be taken off. {error.message}",)
    receipt = ledger.write(AuditKind.BYPASS_ENDED, ruling)
    return Settled(_entered(ruling, receipt), (*warnings, *_unheard(ledger, receipt)))


def _entered(ruling: Ruling, receipt: AuditReceipt) -> Ruling:
    if receipt.entry is None:
        return ruling
    return ruling.model_copy(update={"entry": receipt.entry.number, "hash": receipt.entry.hash})


def _unheard(ledger: Ledger, receipt: AuditReceipt) -> tuple[str, ...]:
    """Return a warning for each sink that the policy names and that does not have the event."""
    named = {name.value for name in ledger.policy.sinks}
    missing = (one for one in receipt.deliveries if one.problem and one.sink in named)
    return tuple(f"The audit log is not complete. {_sentence(one)}" for one in missing)


def _sentence(delivery: Delivery) -> str:
    return f"{delivery.problem} {delivery.hint}".strip()
