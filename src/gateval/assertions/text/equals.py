"""`equals`: the final message is exactly this."""

from __future__ import annotations

import json
from typing import ClassVar

from pydantic import Field, JsonValue

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import (
    FieldPath,
    NoText,
    json_at,
    message,
    quoted,
    where,
)
from gateval.assertions.matching.json_match import json_equal
from gateval.domain.trials.trial import Assessment
from gateval.judging.neutral import shorten


class Equals(Assertion):
    """The agent's final message, or a field of it, equals the value.

    A text is compared with the whole message letter by letter, white space around it ignored. Any
    other value is compared with the message read as JSON, and with `field` every value is compared
    with that field: the order of keys does not matter, 1 equals 1.0 but not "1".
    """

    type: ClassVar[str] = "equals"

    value: JsonValue = Field(description="A text, or any JSON value.")
    field: FieldPath = None

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{where(self.field)} to equal {_shown(self.value)}"
        try:
            met, saw = self._compare(evidence)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        return self.result(met=met, expected=expected, saw=saw, steps=evidence.final)

    def _compare(self, evidence: Evidence) -> tuple[bool, str]:
        if self.field is None and isinstance(self.value, str):
            text = message(evidence)
            return text.strip() == self.value.strip(), quoted(text)
        found = json_at(evidence, self.field)
        return json_equal(self.value, found), _shown(found)


def _shown(value: JsonValue) -> str:
    """Texts in quotes, everything else as JSON: `10482` is not `"10482"`."""
    if isinstance(value, str):
        return quoted(value)
    return shorten(json.dumps(value, ensure_ascii=False))
