"""`notContains`: a text does not stand in the final message."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import FieldPath, NoText, quoted, text_at, where
from gateval.assertions.text.contains import holds
from gateval.domain.trials.trial import Assessment


class NotContains(Assertion):
    """The text stands nowhere in the agent's final message.

    With `field`, a message that is no JSON or lacks the field fails too: where there is nothing to
    look at, nothing can be shown to be absent.
    """

    type: ClassVar[str] = "notContains"

    value: str = Field(min_length=1, description="The text that must not be there.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"no {quoted(self.value)} in {where(self.field)}"
        try:
            text = text_at(evidence, self.field)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        met = not holds(text, self.value, ignore_case=self.ignore_case)
        return self.result(met=met, expected=expected, saw=quoted(text), steps=evidence.final)
