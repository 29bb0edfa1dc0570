"""`costScore`: how far the candidate kept within tokens, or dollars."""

from __future__ import annotations

from typing import ClassVar

from gateval.assertions.cost import Cost
from gateval.assertions.evidence import Evidence
from gateval.domain.trials.trial import Assessment


class CostScore(Cost):
    """1 if the candidate kept within the limits of `cost`; else the limit over what it took, of
    the limit that it passed by most. In an experiment this is the scorer `cost`.
    """

    type: ClassVar[str] = "costScore"

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class and `Cost`."""
        found = super().assess(evidence)
        (tokens, _), (spent, _) = evidence.tokens, evidence.money
        pairs = [(self.max_tokens, tokens), (self.max_usd, spent)]
        shares = [most / took for most, took in pairs if most is not None and took]
        return found.model_copy(update={"score": min([1.0, *shares])})
