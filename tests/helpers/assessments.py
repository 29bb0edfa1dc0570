"""What came of an assertion, by its status."""

from __future__ import annotations

from typing import Any

from gateval.domain.trials.trial import Assessed, Assessment, AssessmentStatus, Cause, NotAssessed


def make_assessment(
    *,
    status: AssessmentStatus,
    score: float | None = None,
    cause: Cause | None = None,
    **fields: Any,
) -> Assessment:
    """Return an assessment; its score is 1 or 0 where none is named, its cause the gate's fault."""
    if status is AssessmentStatus.ERROR:
        return NotAssessed(cause=cause or Cause.GATE, **fields)
    passed = status is AssessmentStatus.PASSED
    return Assessed(status=status, score=float(passed) if score is None else score, **fields)
