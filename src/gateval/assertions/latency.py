"""`latency`: the candidate answered in time."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.domain.trials.trial import Assessment, Cause


class Latency(Assertion):
    """The candidate answered within this many seconds.

    Measured from handing it the input until its answer was complete; set-up does not count, and
    neither do waits for a provider that refused or dropped calls (too many requests, say). Where a
    program may have used such a wait for something else, and the answer hangs on that, it is an
    error. A longer time that a command line of AgentV reports itself counts as its
    claim. Times vary between runs and machines, so leave room. Without `maxSeconds` it only notes
    the time and passes; `validate` says so.
    """

    type: ClassVar[str] = "latency"

    max_seconds: float | None = Field(
        default=None,
        gt=0,
        description="The longest time that passes, in seconds. Any, if absent.",
    )

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        seconds, trace = evidence.answer.seconds, evidence.answer.recorded
        waited = trace.waited if trace else 0.0
        own = evidence.own_seconds
        if self.max_seconds is None:
            return self.result(
                met=True, expected="an answer at any time", saw=f"it after {own:.3f} s"
            )
        within = own <= self.max_seconds
        if within and seconds > self.max_seconds and trace and trace.source != "gate":
            raise NotMeasured(
                Cause.PROVIDER,
                f"the answer came after {seconds:.3f} s, of which {waited:.3f} s went by waiting "
                "for a provider that refused or dropped calls; run the gate again",
            )
        waits = f", {waited:.3f} s of waits for a provider not counted" if waited else ""
        waits = " as the candidate reports" if evidence.is_time_claimed else waits
        found = self.result(
            met=within,
            expected=f"an answer within {self.max_seconds:g} s",
            saw=f"it after {own:.3f} s{waits}",
        )
        return found.model_copy(update={"claimed": evidence.is_time_claimed})
