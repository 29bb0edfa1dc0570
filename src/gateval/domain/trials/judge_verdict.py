"""A judge's verdict on a trial, after code has checked its evidence."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.manifests.severity import Severity


class Violation(Value):
    """A rule that the judge saw broken, with the step it blames and a quote from that step.

    `supported` is decided by code: the step exists and the quote stands in it (white space
    folded). An unsupported violation does not count. `defect` says what is wrong with it.
    """

    rule: str
    severity: Severity
    evidence_step: int
    quote: str
    supported: bool = False
    defect: str = ""


class Verdict(Value):
    """A judge's verdict: `score` and `confidence` in [0, 1], texts already cut to their limits.

    `repaired` says that the judge had to be asked a second time.
    """

    score: float = Field(ge=0, le=1)
    confidence: float = Field(ge=0, le=1)
    summary: str
    violations: tuple[Violation, ...] = ()
    what_would_raise_score: str = ""
    model: str = ""
    repaired: bool = False
