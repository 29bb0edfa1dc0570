"""`contains`: a text stands in the final message."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import FieldPath, NoText, quoted, text_at, where
from gateval.domain.trials.trial import Assessment


class Contains(Assertion):
    """The text stands somewhere in the agent's final message, letter by letter.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    type: ClassVar[str] = "contains"

    value: str = Field(min_length=1, description="The text to find.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{quoted(self.value)} in {where(self.field)}"
        try:
            text = text_at(evidence, self.field)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        met = holds(text, self.value, ignore_case=self.ignore_case)
        return self.result(met=met, expected=expected, saw=quoted(text), steps=evidence.final)


def holds(text: str, part: str, *, ignore_case: bool) -> bool:
    """Whether `part` stands in `text`."""
    return part.casefold() in text.casefold() if ignore_case else part in text
