"""What `startsWith` and `endsWith` share: a text at one end of the final message."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import FieldPath, NoText, quoted, text_at, where
from gateval.domain.trials.trial import Assessment


class Edge(Assertion, ABC):
    """A text at one end of the final message, white space around the message ignored."""

    verb: ClassVar[str]

    value: str = Field(min_length=1, description="The text to find.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{where(self.field)} to {self.verb} {quoted(self.value)}"
        try:
            text = text_at(evidence, self.field).strip()
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        value = self.value.strip() or self.value
        if self.ignore_case:
            met = self.stands(text.casefold(), value.casefold())
        else:
            met = self.stands(text, value)
        saw = f'"{self.shown(text)}"'
        return self.result(met=met, expected=expected, saw=saw, steps=evidence.final)

    @abstractmethod
    def stands(self, text: str, value: str) -> bool:
        """Whether `value` stands at this end of `text`."""

    @abstractmethod
    def shown(self, text: str) -> str:
        """Return this end of the text, short and on one line."""
