"""What others are told of a decision: what the gate's records say of it, which are public."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Value
from gateval.domain.forge.trigger import Repository
from gateval.domain.history.verdicts import HistoryRecord, StoredEval, StoredReason
from gateval.domain.text import ShortText, first_of
from gateval.domain.verdicts import EvalsVerdict, GateVerdict

LISTED = 20
"""Evals, reasons and regressions that a notification names; the totals count all."""


class NotificationUrls(Value):
    """Where people read more; empty where there is nothing."""

    run: str = ""
    check: str = ""
    comment: str = ""
    report: str = ""


class Notification(Value):
    """A decision as a webhook gets it: no trace, no quote, nothing sealed but its verdict.

    `verdict` differs from that of the `evals` only where somebody let the change through.
    """

    version: Literal["notification.v1"] = "notification.v1"
    repository: Repository
    event: str
    pull_request: int | None = None
    head: str = Field(pattern=SHA_PATTERN)
    base: str = Field(default="", pattern=rf"{SHA_PATTERN}|^$")
    gate: str
    verdict: GateVerdict
    evals_verdict: EvalsVerdict
    headline: ShortText = ""
    reasons: Annotated[tuple[StoredReason, ...], first_of(LISTED)] = ()
    reasons_total: int = Field(default=0, ge=0)
    regressions: Annotated[tuple[ShortText, ...], first_of(LISTED)] = ()
    regressions_total: int = Field(default=0, ge=0)
    evals: Annotated[tuple[StoredEval, ...], first_of(LISTED)] = ()
    evals_total: int = Field(default=0, ge=0)
    recorded_at: str
    urls: NotificationUrls = NotificationUrls()


def notification_of(
    record: HistoryRecord,
    verdict: GateVerdict,
    *,
    repository: str,
    event: str,
    pull_request: int | None,
    gate: str,
    urls: NotificationUrls,
) -> Notification:
    """Return what is told of a decision whose evals a record holds."""
    same = (
        "head", "base", "headline", "reasons", "reasons_total", "regressions", "regressions_total",
        "evals", "evals_total", "recorded_at",
    )  # fmt: skip
    return Notification(
        repository=repository,
        event=event,
        pull_request=pull_request,
        gate=gate,
        verdict=verdict,
        evals_verdict=record.verdict,
        urls=urls,
        **{name: getattr(record, name) for name in same},
    )
