"""`not`: none of its assertions passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import JsonValue, field_validator

from gateval.assertions.combinators.base import Combinator, Parts, scores, unknown
from gateval.assertions.evidence import Evidence
from gateval.domain.base import JsonObject
from gateval.domain.trials.trial import Assessment

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

    type: ClassVar[str] = "not"
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
