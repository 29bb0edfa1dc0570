"""`exactMatch`: the final message is the expected answer."""

from __future__ import annotations

from typing import ClassVar

from pydantic import JsonValue

from gateval.assertions.evidence import Evidence
from gateval.assertions.scorers.base import Scorer
from gateval.assertions.text.equals import Equals
from gateval.domain.trials.trial import Assessment


class ExactMatch(Scorer):
    """1 if the agent's final message is the expected answer, else 0.

    A text is compared letter by letter, white space around it ignored; any other expected answer is
    compared with the message read as JSON, as `equals` does.
    """

    type: ClassVar[str] = "exactMatch"

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        return self.taken(Equals(value=expected).assess(evidence))
