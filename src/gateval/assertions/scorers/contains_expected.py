"""`containsExpected`: the expected texts stand in the final message."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, JsonValue

from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import message, quoted
from gateval.assertions.scorers.base import Scorer
from gateval.assertions.text.contains import holds
from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.trials.trial import Assessment


class ContainsExpected(Scorer):
    """The share of the expected texts that stand in the agent's final message, letter by letter.

    The expected answer is one text, or a list of them; what is no text is looked for as JSON. In an
    experiment this is the scorer `contains`.
    """

    type: ClassVar[str] = "containsExpected"

    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def wants(self, reference: Reference) -> str:
        """See `Scorer`. Nothing, or an empty list, can be looked for nowhere."""
        parts = reference.wanted if isinstance(reference.wanted, list) else [reference.wanted]
        if not parts or "" in parts:
            return (
                f"`{self.type}` looks for the expected answer, and that, or a part of it, is empty."
            )
        return super().wants(reference)

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        parts = [_text(one) for one in (expected if isinstance(expected, list) else [expected])]
        said = message(evidence)
        lacking = [one for one in parts if not holds(said, one, ignore_case=self.ignore_case)]
        shown = ", ".join(map(quoted, (lacking or parts)[:5]))
        return self.graded(
            1 - len(lacking) / len(parts),
            least=self.min_score,
            expected=f"{shown} in the final message",
            saw=quoted(said),
            steps=evidence.final,
        )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
