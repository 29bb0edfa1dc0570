"""`any`: at least one of its assertions passes."""

from __future__ import annotations

from typing import ClassVar

from gateval.assertions.combinators.base import Combinator, Parts, scores, unknown
from gateval.assertions.evidence import Evidence
from gateval.domain.trials.trial import Assessment


class Any(Combinator):
    """At least one of the assertions in it passes.

    One that passes decides; without one, an error in it is its error. Its score is the highest
    among them. All of them are evaluated, so that a judge in it is asked in any case.
    """

    type: ClassVar[str] = "any"
    verb: ClassVar[str] = "at least one of"

    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """See the class. Rests on what the parts rest on that passed, else on all."""
        del evidence
        passed = [part for part in parts if part.passed]
        if not passed and unknown(parts):
            return self.undecided(parts)
        deciding = passed or parts
        return self.made(
            deciding,
            met=bool(passed),
            score=max(scores(parts)),
            claimed=all(part.claimed for part in deciding),
            absent=any(part.absent for part in deciding) and not passed,
        )
