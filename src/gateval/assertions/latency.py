"""`latency`: the candidate answered in time."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence
from gateval.domain.trials.trial import Assessment


class Latency(Assertion):
    """The candidate answered within this many seconds.

    Measured from handing it the input until its answer was complete; set-up does not count. Times
    vary between runs and machines, so leave room.
    """

    type: ClassVar[str] = "latency"

    max_seconds: float = Field(gt=0, description="The longest time that passes, in seconds.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        seconds = evidence.answer.seconds
        return self.result(
            met=seconds <= self.max_seconds,
            expected=f"an answer within {self.max_seconds:g} s",
            saw=f"it after {seconds:.3f} s",
        )
