"""`isJson`: the final message is JSON."""

from __future__ import annotations

from typing import ClassVar

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import FieldPath, NoText, json_at, message, quoted
from gateval.domain.trials.trial import Assessment


class IsJson(Assertion):
    """The agent's final message is one JSON value and nothing else.

    With `field`, that field is there as well, whatever it holds. What JSON readers disagree on is
    refused: a key that stands there twice, `NaN`, text around the value such as a code fence. The
    form of the JSON is for `jsonSchema`.
    """

    type: ClassVar[str] = "isJson"

    field: FieldPath = None

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = "a final message that is JSON"
        expected += f" with the field `{self.field}`" if self.field else ""
        try:
            json_at(evidence, self.field)
        except NoText as absent:
            return self.result(met=False, expected=expected, saw=str(absent), steps=evidence.final)
        saw = quoted(message(evidence))
        return self.result(met=True, expected=expected, saw=saw, steps=evidence.final)
