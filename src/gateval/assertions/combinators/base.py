"""What `all`, `any` and `not` share: the assertions they are made of, and who decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.domain.base import JsonObject
from gateval.domain.trials.trial import Assessed, Assessment, AssessmentStatus, Cause, NotAssessed
from gateval.judging.neutral import shorten

_NAMED = 3
_REASON = 300

Parts = Sequence[Assessment]


class Combinator(Assertion, ABC):
    """An assertion made of others, which have no weight, severity or axis of their own.

    An error is neither true nor false (Kleene's logic): it counts only where it matters.
    """

    verb: ClassVar[str]

    assertions: tuple[JsonObject, ...] = Field(
        min_length=1, description="The assertions it is made of, each with its `type` and keys."
    )

    def assess(self, evidence: Evidence) -> Assessment:
        """Raise `NotMeasured`: `assertions/assess.py` assesses the parts and has them combined."""
        del evidence
        raise NotMeasured(Cause.GATE, f"`{self.type}` cannot be assessed without its parts")

    def view(self, evidence: Evidence) -> Evidence:
        """Return the evidence as the parts are to see it."""
        return evidence

    @abstractmethod
    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """Return what follows from the assessments of the parts. Raises `NotMeasured`."""

    def made(
        self, parts: Parts, *, met: bool, score: float, claimed: bool, absent: bool = False
    ) -> Assessment:
        """Return the assessment that these parts decided."""
        saw = f"that {_said(parts)}"
        steps = [step for part in parts for step in part.steps]
        found = self.result(met=met, expected=self._expected(), saw=saw, steps=steps)
        return found.model_copy(
            update={
                "score": score,
                "claimed": claimed,
                "absent": absent,
                "fatal": not met and any(part.fatal for part in parts),
                "asked": max(part.asked for part in parts),
                "parts": tuple(parts),
            }
        )

    def undecided(self, parts: Parts) -> Assessment:
        """Return the error that it is if it hangs on parts which could not be evaluated."""
        lost = unknown(parts)
        return NotAssessed(
            type=self.type,
            reason=f"Expected {self._expected()}, but {_said(lost)}.",
            cause=_cause(lost),
            parts=tuple(lost),
        )

    def _expected(self) -> str:
        count = len(self.assertions)
        return f"{self.verb} {count} assertions to pass" if count > 1 else self.one()

    def one(self) -> str:
        """What is expected where there is one part only."""
        return "its one assertion to pass"


def unknown(parts: Parts) -> Sequence[NotAssessed]:
    """Return the parts that could not be evaluated."""
    return [part for part in parts if isinstance(part, NotAssessed)]


def scores(parts: Parts) -> list[float]:
    """Return the scores of parts that have one."""
    return [part.score for part in parts if isinstance(part, Assessed)]


def _cause(lost: Sequence[NotAssessed]) -> Cause:
    """Whose fault it is: the judge's only if nothing else is, as policies may forgive that."""
    causes = [part.cause for part in lost]
    judges = (Cause.UNCALIBRATED, Cause.JUDGE)
    other = next((cause for cause in causes if cause not in judges), None)
    return other or (Cause.JUDGE if Cause.JUDGE in causes else Cause.UNCALIBRATED)


def _said(parts: Parts) -> str:
    words = {
        AssessmentStatus.PASSED: "passed",
        AssessmentStatus.FAILED: "failed",
        AssessmentStatus.ERROR: "could not be evaluated",
    }
    named = [
        f"`{part.type}` {words[part.status]} ({shorten(part.reason, _REASON).rstrip('.')})"
        for part in parts[:_NAMED]
    ]
    more = len(parts) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")
