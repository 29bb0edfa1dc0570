"""An entry of the audit log: who bent or ended which rule, for which commit, and why.

An `AuditEvent` is what happened; an `AuditEntry` is its line in the log, chained to the line
before it (`chain.py`). Whatever people or the forge wrote is cut to a size, never refused.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from gateval.domain.base import DIGEST_PATTERN, SHA_PATTERN, TIME_PATTERN, Value
from gateval.domain.results.comparison import Comparison
from gateval.domain.ruling import LabelUse
from gateval.domain.text.bounded import LongText, ShortText, first_of
from gateval.domain.verdicts import EvalsVerdict

EVALS_LISTED = 50
"""Evals, and lowered bars, named in one entry; the totals count all."""


class AuditKind(StrEnum):
    """What happened."""

    BYPASS_GRANTED = "bypass-granted"
    BYPASS_DENIED = "bypass-denied"
    BYPASS_ENDED = "bypass-ended"
    """A push ended it: the label was for another head."""
    BYPASS_WITHDRAWN = "bypass-withdrawn"
    """Somebody took off a label that counted."""
    BYPASS_CARRIED = "bypass-carried"
    """A grant for a pull request's head also counts for its group in the merge queue."""
    BAR_ACCEPTED = "bar-accepted"
    NOT_EVALUATED = "not-evaluated"
    VERDICT = "verdict"


class FailingEval(Value):
    """An Eval that keeps the gate from passing, with the fixtures that do."""

    eval: ShortText
    failed: int = Field(ge=0)
    unmeasured: int = Field(ge=0)
    fixtures: int = Field(ge=0)


class AuditRun(Value):
    """The run that wrote the entry. `triggering_actor` differs from `actor` in a re-run."""

    id: ShortText = ""
    attempt: int = Field(default=1, ge=1)
    url: ShortText = ""
    event: ShortText = ""
    actor: ShortText = ""
    triggering_actor: ShortText = ""


class AuditEvent(Value):
    """Something to be recorded.

    `reason` is what the person said, `why` what the gate says (for a denial: which rule).
    `verdict` is that of the evals, never that of a bypass; `policy` the digest of the base tip's
    policy; `bars` the lowered bars as shown to people. `failing` and `bars` hold the first
    `EVALS_LISTED`; `failing_total` and `bars_total` count all. Where `stored_by` names a run, these
    are of the verdict that it stored, and nothing was measured for this event.
    """

    version: Literal["audit.v1"] = "audit.v1"
    kind: AuditKind
    at: str = Field(pattern=TIME_PATTERN)
    repository: ShortText
    pull_request: int | None = Field(default=None, ge=1)
    head: str = Field(pattern=SHA_PATTERN)
    base: str = Field(default="", pattern=rf"{SHA_PATTERN}|^$")
    label: LabelUse | None = None
    reason: LongText = ""
    why: LongText = ""
    verdict: EvalsVerdict | None = None
    failing: Annotated[tuple[FailingEval, ...], first_of(EVALS_LISTED)] = ()
    failing_total: int = Field(default=0, ge=0)
    bars: Annotated[tuple[ShortText, ...], first_of(EVALS_LISTED)] = ()
    bars_total: int = Field(default=0, ge=0)
    policy: str = Field(default="", pattern=rf"{DIGEST_PATTERN}|^$")
    run: AuditRun = AuditRun()
    stored_by: AuditRun | None = None


class AuditEntry(AuditEvent):
    """One line of the log.

    `number` counts from 1; `id` is the digest of the event, so that no entry can pass for another;
    `previous` is the `hash` of the entry before, 64 zeros for the first; `hash` is the
    SHA-256 of the canonical form of everything else.
    """

    id: str = Field(pattern=DIGEST_PATTERN)
    number: int = Field(ge=1)
    previous: str = Field(pattern=DIGEST_PATTERN)
    hash: str = Field(pattern=DIGEST_PATTERN)


def failing_evals(comparison: Comparison) -> tuple[FailingEval, ...]:
    """Return every Eval of which not all fixtures passed on head, in the plan's order.

    A fixture failed when one of its repetitions did; it is unmeasured when none did, but one has
    no outcome.
    """
    found = []
    for compared in comparison.evals:
        scores = compared.head.fixtures
        failed = sum(score.failed > 0 for score in scores)
        unmeasured = sum(not score.failed and not score.measured for score in scores)
        if failed or unmeasured:
            found.append(
                FailingEval(
                    eval=compared.eval, failed=failed, unmeasured=unmeasured, fixtures=len(scores)
                )
            )
    return tuple(found)
