"""`numericExpected`: the number in the final message is the expected one."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.numbers import exact, only_number
from gateval.assertions.scorers.base import Scorer
from gateval.assertions.text.numeric import Numeric
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.trials.trial import Assessment


class NumericExpected(Scorer):
    """1 if the agent's final message is the expected number, give or take `tolerance`, else 0.

    The expected answer is a number, or a text that is one; how numbers are read says `numeric`. In
    an experiment this is the scorer `numeric`.
    """

    type: ClassVar[str] = "numericExpected"

    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="How far off it may be, either way."
    )
    find: Literal["whole", "first", "last"] = Field(
        default="whole", description="Which number of a text is meant."
    )

    def wants(self, reference: Reference) -> str:
        """See `Scorer`. The expected answer has to be a number."""
        lack = super().wants(reference)
        if not lack and _number(reference.wanted) is None:
            return f"`{self.type}` compares numbers, and the expected answer is none."
        return lack

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        wanted = _number(expected) or Decimal()
        inner = Numeric(value=0, tolerance=self.tolerance, find=self.find)
        return self.taken(inner.against(wanted, f"{wanted:.17g}", evidence))


def _number(value: JsonValue) -> Decimal | None:
    if isinstance(value, str):
        return only_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(value) if isinstance(value, int) else exact(value)
