"""`all`: every one of its assertions passes."""

from __future__ import annotations

from typing import ClassVar

from gateval.assertions.combinators.base import Combinator, Parts, scores, unknown
from gateval.assertions.evidence import Evidence
from gateval.domain.trials.trial import Assessment


class All(Combinator):
    """All of the assertions in it pass.

    It is of use inside `any` and `not`, and to weigh several assertions as one. One that fails
    decides; without one, an error in it is its error. Its score is the lowest among them.
    """

    type: ClassVar[str] = "all"
    verb: ClassVar[str] = "all"

    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """See the class. Rests on what the parts rest on that failed, else on all."""
        del evidence
        failed = [part for part in parts if part.failed]
        if not failed and unknown(parts):
            return self.undecided(parts)
        deciding = failed or parts
        return self.made(
            deciding,
            met=not failed,
            score=min(scores(parts)),
            claimed=any(part.claimed for part in deciding),
            absent=any(part.absent for part in failed),
        )
