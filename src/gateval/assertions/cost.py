"""`cost`: the candidate kept within a number of tokens."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.domain.trials.trial import Assessment, Cause


class Cost(Assertion):
    """The candidate's model calls took at most this many tokens, input and output together.

    What the gate counted itself is believed before what the candidate reports. If nobody counted,
    it is an error, not zero. The judge's tokens do not count.
    """

    type: ClassVar[str] = "cost"
    basis: ClassVar[Basis] = Basis.USAGE

    max_tokens: int = Field(ge=0, description="The greatest number of tokens that passes.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        total, is_counted = evidence.tokens
        if total is None:
            raise NotMeasured(
                Cause.GATE,
                "the tokens of this trial are unknown; let the candidate call models through the "
                "gateway or print `usage`",
            )
        return self.result(
            met=total <= self.max_tokens,
            expected=f"at most {self.max_tokens:,} tokens",
            saw=f"{total:,}{'' if is_counted else ' as the candidate reports'}",
        )
