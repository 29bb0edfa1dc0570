"""What every audit event of one run has in common: which change, under which rules, how it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gateval.domain.audit.entry import (
    EVALS_LISTED,
    AuditEvent,
    AuditKind,
    AuditRun,
    FailingEval,
    failing_evals,
)
from gateval.domain.decision.report import Report
from gateval.domain.history.record import HistoryRecord, StoredEval, StoredReason
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode

_BARS = {ReasonCode.LOWERED_BAR, ReasonCode.BAR_UNMEASURED, ReasonCode.NO_MODEL_CALLS}


class Occurrence(NamedTuple):
    """Where and when a verdict is given, and by which run. `at` is UTC to the second."""

    repository: str
    pull_request: int | None
    run: AuditRun
    at: str


def about_report(report: Report, occurrence: Occurrence) -> AuditEvent:
    """Return the event of a report's verdict, from which others are made."""
    plan, decision = report.results.plan, report.decision
    failing = [*failing_evals(report.comparison), *_sealed(report)]
    event = _event(occurrence, decision.evals, failing, decision.reasons)
    return event.model_copy(
        update={
            "head": plan.head.commit or "0" * 40,
            "base": (plan.base and plan.base.commit) or "",
            "policy": plan.policy_digest,
        }
    )


def _sealed(report: Report) -> Iterator[FailingEval]:
    """Yield the sealed Evals that do not pass; nothing is said of their fixtures."""
    results = report.results
    for planned, told in zip(results.plan.sealed, results.sealed, strict=True):
        if told.verdict is not GateVerdict.PASS:
            yield FailingEval(
                eval=planned.name, failed=0, unmeasured=0, fixtures=len(planned.fixtures)
            )


def about_record(record: HistoryRecord, occurrence: Occurrence) -> AuditEvent:
    """Return the same of a verdict that an earlier run has stored."""
    failing = tuple(_failing(one) for one in record.evals if one.failed or one.unmeasured)
    event = _event(occurrence, record.verdict, failing, record.reasons)
    return event.model_copy(
        update={
            "head": record.head,
            "base": record.base,
            "policy": record.policy,
            "stored_by": record.run,
        }
    )


def _event(
    occurrence: Occurrence,
    verdict: GateVerdict,
    failing: Sequence[FailingEval],
    reasons: Sequence[DecisionReason | StoredReason],
) -> AuditEvent:
    bars = [reason.text for reason in reasons if reason.code in _BARS]
    return AuditEvent(
        kind=AuditKind.VERDICT,
        at=occurrence.at,
        repository=occurrence.repository,
        pull_request=occurrence.pull_request,
        head="0" * 40,
        verdict=verdict,
        failing=tuple(failing[:EVALS_LISTED]),
        failing_total=len(failing),
        bars=tuple(bars[:EVALS_LISTED]),
        bars_total=len(bars),
        run=occurrence.run,
    )


def _failing(one: StoredEval) -> FailingEval:
    total = one.passed + one.failed + one.unmeasured
    return FailingEval(eval=one.eval, failed=one.failed, unmeasured=one.unmeasured, fixtures=total)
