"""Audit events as the gate would write them, and logs of any length."""

from __future__ import annotations

from gateval.domain.audit import AuditEvent, AuditKind, AuditRun, FailingEval, append, read_log
from gateval.domain.label_decision import AuditPerson, LabelUse
from gateval.domain.verdicts import GateVerdict

HEAD = "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334"
BASE = "b" * 40


def event(reason: str = "Provider outage, hotfix for checkout.", text: str = "") -> AuditEvent:
    """A granted bypass; with `text`, that stands in every field of free text."""
    return AuditEvent(
        kind=AuditKind.BYPASS_GRANTED,
        at="2026-11-21T13:05:00Z",
        repository=text or "acme/shop",
        pull_request=12,
        head=HEAD,
        base=BASE,
        label=LabelUse(
            name=text or "force-eval-bypass",
            by=AuditPerson(login=text or "alice", id=583231, role=text or "admin"),
            applied_at=text or "2026-11-21T13:04:40Z",
            event=text or "9871",
        ),
        reason=text or reason,
        why=text,
        verdict=GateVerdict.FAIL,
        failing=(FailingEval(eval=text or "refunds", failed=2, unmeasured=1, fixtures=9),),
        failing_total=1,
        bars=(text,) if text else (),
        policy="c" * 64,
        run=AuditRun(
            id=text or "4711",
            url=text or "https://github.com/acme/shop/actions/runs/4711",
            event=text or "pull_request",
            actor=text or "alice",
            triggering_actor=text or "bob",
        ),
    )


def log(length: int) -> bytes:
    """A whole log of this many entries."""
    content = b""
    for number in range(1, length + 1):
        content, _ = append(content, event(f"Reason {number}"))
    return content


def reasons(content: bytes) -> list[str]:
    """The reasons in a log that has to be whole."""
    found = read_log(content)
    assert found.broken is None, found.broken
    return [entry.reason for entry in found.entries]
