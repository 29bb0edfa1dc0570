"""`numeric`: a number in the final message is near enough to the one expected."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import (
    FieldPath,
    NoText,
    json_at,
    message,
    quoted,
    refuse_longer,
    where,
)
from gateval.assertions.matching.numbers import exact, numbers_in, only_number
from gateval.domain.trials.trial import Assessment


class Numeric(Assertion):
    """The agent's final message, or a field of it, is the number, give or take `tolerance`.

    By default the message is the number and nothing else. `find: first` and `find: last` look for
    the first or last number in the text: `1,299.50`, `-3` and `2e-3` are numbers; what belongs to a
    word, a date or a version (`v2`, `2026-11-24`, `1.2.3`) is none. The comma parts thousands.
    Numbers are compared as decimals, so that 0.3 is within 0.1 of 0.2.
    """

    type: ClassVar[str] = "numeric"

    value: float = Field(allow_inf_nan=False, description="The number expected.")
    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="How far off it may be, either way."
    )
    find: Literal["whole", "first", "last"] = Field(
        default="whole", description="Which number of a text is meant."
    )
    field: FieldPath = None

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        return self.against(exact(self.value), f"{self.value:g}", evidence)

    def against(self, wanted: Decimal, shown: str, evidence: Evidence) -> Assessment:
        """Assess with this number, which is shown so, as the one expected."""
        off = f" within {self.tolerance:g}" if self.tolerance else ""
        expected = f"{where(self.field)} to be {shown}{off}"
        try:
            number, saw = self._number(evidence)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        if number is None:
            saw = f"no number in {saw}"
            return self.absent(expected=expected, saw=saw, steps=evidence.final)
        met = abs(number - wanted) <= exact(self.tolerance)
        return self.result(met=met, expected=expected, saw=saw, steps=evidence.final)

    def _number(self, evidence: Evidence) -> tuple[Decimal | None, str]:
        value = json_at(evidence, self.field) if self.field else message(evidence)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return exact(value), f"{value}"
        if not isinstance(value, str):
            return None, "what is no text"
        refuse_longer(value, self.field, "`numeric` looks through")
        if self.find == "whole":
            return only_number(value), quoted(value)
        found = numbers_in(value)
        if not found:
            return None, quoted(value)
        number = found[0] if self.find == "first" else found[-1]
        return number, f"{number} in {quoted(value)}"
