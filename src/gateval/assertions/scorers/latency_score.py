"""`latencyScore`: how far the candidate answered in time."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.evidence import Evidence
from gateval.assertions.latency import Latency
from gateval.domain.trials.trial import Assessment


class LatencyScore(Latency):
    """1 if the candidate answered within `maxSeconds`, counted as `latency` does; else `maxSeconds`
    over the seconds that it took. In an experiment this is the scorer `latency`.
    """

    type: ClassVar[str] = "latencyScore"

    max_seconds: float = Field(gt=0, description="The longest time that scores 1, in seconds.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class and `Latency`."""
        found = super().assess(evidence)
        own = evidence.own_seconds
        score = min(1.0, self.max_seconds / own) if own else 1.0
        return found.model_copy(update={"score": score})
