"""`regex`: a pattern matches in the final message."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import (
    FieldPath,
    NoText,
    quoted,
    refuse_longer,
    text_at,
    where,
)
from gateval.assertions.matching.linear_regex import compiled
from gateval.domain.trials.trial import Assessment


class Regex(Assertion):
    r"""The pattern matches somewhere in the agent's final message.

    Patterns are RE2's (https://github.com/google/re2/wiki/Syntax): look-around and backreferences
    do not exist, and `\d`, `\w` and `\b` mean ASCII. `(?i)` ignores case, `(?s)` lets `.` match
    line breaks, `(?m)` lets `^` and `$` match at lines. Messages over 100,000 characters are not
    searched but reported as an error.
    """

    type: ClassVar[str] = "regex"

    pattern: str = Field(min_length=1, max_length=1000, description="The pattern to search for.")
    field: FieldPath = None
    trim: bool = Field(
        default=False, description="Whether white space around the text is left aside."
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        compiled(pattern)
        return pattern

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"a match of /{self.pattern}/ in {where(self.field)}"
        try:
            text = text_at(evidence, self.field)
            text = text.strip() if self.trim else text
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        refuse_longer(text, self.field, "`regex` searches")
        found = compiled(self.pattern).search(text)
        saw = quoted(text) if found is None else quoted(found.group())
        return self.result(met=found is not None, expected=expected, saw=saw, steps=evidence.final)
