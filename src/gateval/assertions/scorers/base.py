"""What scorers share: the expected answer of the case, which no option holds."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pydantic import JsonValue

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.graded.least import MinScore
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.trials.trial import Assessment, Cause


class Scorer(Assertion, ABC):
    """An assertion with a score in [0, 1], which compares with the expected answer of the case."""

    min_score: MinScore = 1.0

    def wants(self, reference: Reference) -> str:
        """Say in a sentence what it lacks to score a case; empty for nothing."""
        if reference.wanted is None:
            return f"`{self.type}` compares with the expected answer, and there is none."
        return ""

    def assess(self, evidence: Evidence) -> Assessment:
        """Score the answer. Raises `NotMeasured` where the case says not what it needs."""
        if lack := self.wants(evidence.reference):
            raise NotMeasured(Cause.GATE, lack.rstrip("."))
        return self.score(evidence.reference.wanted, evidence)

    @abstractmethod
    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """Return the assessment of the answer against what is expected."""

    def taken(self, found: Assessment) -> Assessment:
        """Return what another assertion found as this scorer's own."""
        return found.model_copy(update={"type": self.type})
