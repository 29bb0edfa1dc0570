"""Assertions that are made of others: `all`, `any` and `not`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic import Field, JsonValue, field_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.domain.base import JsonObject
from gateval.domain.trials.trial import Assessed, Assessment, AssessmentStatus, Cause, NotAssessed
from gateval.judging.prompt import shorten

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
        """Raise `CannotEvaluate`: `assertions/assess.py` assesses the parts and combines them."""
        del evidence
        raise CannotEvaluate(Cause.GATE, f"`{self.type}` cannot be assessed without its parts")

    def view(self, evidence: Evidence) -> Evidence:
        """Return the evidence as the parts are to see it."""
        return evidence

    @abstractmethod
    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """Return what follows from the assessments of the parts. Raises `CannotEvaluate`."""

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


class All(Combinator):
    """All of the assertions in it pass.

    It is of use inside `any` and `not`, and to weigh several assertions as one. One that fails
    decides; without one, an error in it is its error. Its score is the lowest among them.
    """

    verb: ClassVar[str] = "all"

    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """See the class. Rests on what the parts rest on that failed, else on all."""
        del evidence
        failed = [part for part in parts if part.failed]
        if not failed and unknown(parts):
            return self.undecided(parts)
        deciding = failed or parts
        return self.made(
            deciding,
            met=not failed,
            score=min(scores(parts)),
            claimed=any(part.claimed for part in deciding),
            absent=any(part.absent for part in failed),
        )


class Any(Combinator):
    """At least one of the assertions in it passes.

    One that passes decides; without one, an error in it is its error. Its score is the highest
    among them. All of them are evaluated, so that a judge in it is asked in any case.
    """

    verb: ClassVar[str] = "at least one of"

    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """See the class. Rests on what the parts rest on that passed, else on all."""
        del evidence
        passed = [part for part in parts if part.passed]
        if not passed and unknown(parts):
            return self.undecided(parts)
        deciding = passed or parts
        return self.made(
            deciding,
            met=bool(passed),
            score=max(scores(parts)),
            claimed=all(part.claimed for part in deciding),
            absent=any(part.absent for part in deciding) and not passed,
        )


_ELSE = {
    "not": "two of them cancel out, so leave both away",
    "toolNotCalled": "write `toolCalled` beside it",
    "notContains": "write `contains` beside it",
    "judge": "a verdict that passes proves nothing; word the rubric the other way round",
}
"""What may not stand in a `not`, and what to do instead."""


class Not(Combinator):
    """None of the assertions in it passes.

    One that passes decides; without one, an error in it is its error. Where there is nothing to
    look at (no such `field`, no number), nothing is shown: the assertion in it fails, and so does
    `not`. A refused tool call counts as a call, as asking for a forbidden tool is what is asked
    about, and a claimed trace without a step is an error. In a `not`, at any depth, may stand no
    other `not`, no `toolNotCalled`, `notContains` or `judge`. Its score is 1 minus the highest.
    """

    verb: ClassVar[str] = "none of"

    @field_validator("assertions")
    @classmethod
    def _can_be_turned_round(cls, assertions: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
        for kind in _types(list(assertions)):
            if kind in _ELSE:
                raise ValueError(f"`{kind}` may not stand in a `not`: {_ELSE[kind]}")
        return assertions

    def one(self) -> str:
        """See `Combinator`."""
        return "its one assertion not to pass"

    def view(self, evidence: Evidence) -> Evidence:
        """Return the evidence with each refused tool call as one that was made."""
        return evidence.with_refused_calls

    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """See the class. Rests on what the parts rest on that passed, else on all."""
        passed = [part for part in parts if part.passed]
        claimed = any(part.claimed for part in passed or parts)
        if not passed and unknown(parts):
            return self.undecided(parts)
        if not passed and claimed:
            evidence.refuse_empty_claim()
        absent = [part for part in parts if part.absent]
        met = not passed and not absent
        return self.made(
            passed or absent or parts,
            met=met,
            score=1 - max(scores(parts)) if met or passed else 0.0,
            claimed=claimed,
            absent=bool(absent) and not passed,
        )


def _types(values: list[JsonValue]) -> Iterator[str]:
    for value in values:
        if isinstance(value, dict):
            kind, parts = value.get("type"), value.get("assertions")
            if isinstance(kind, str):
                yield kind
            if isinstance(parts, list):
                yield from _types(parts)
