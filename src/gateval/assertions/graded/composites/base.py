"""What assertions that weigh others share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from gateval.assertions.combinators.base import Combinator, Parts, scores, unknown
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.assertions.world import Priced, World
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Cause


class Weighing(Combinator, ABC):
    """An assertion made of others, each with a `name` and a `weight` of its own.

    One that could not be evaluated leaves the whole so: an error is no score.
    """

    min_score: MinScore = PASS_SCORE

    def combine(self, parts: Parts, evidence: Evidence) -> Assessment:
        """Raise `NotMeasured`: it takes weights to combine them."""
        del parts, evidence
        raise NotMeasured(Cause.GATE, f"`{self.type}` cannot be assessed without its weights")

    async def aggregate(
        self, parts: Parts, evidence: Evidence, spec: AssertionSpec, world: World
    ) -> Priced:
        """Return what follows from the assessments of the parts, which stand in `spec`.

        Raises `NotMeasured` or the judge's `JudgeError`.
        """
        if unknown(parts):
            return self.undecided(parts), None
        members = [Member(one, part) for one, part in zip(spec.parts, parts, strict=True)]
        found, usage = await self.weigh(members, evidence, spec, world)
        fatal = any(part.fatal for part in parts)
        whole = {
            "fatal": fatal,
            "status": AssessmentStatus.FAILED if fatal and found.passed else found.status,
            "claimed": any(part.claimed for part in parts),
            "asked": max(found.asked, *(part.asked for part in parts)),
            "parts": tuple(parts),
        }
        return found.model_copy(update=whole), usage

    def _expected(self) -> str:
        count = len(self.assertions)
        return f"the scores of {count} assertions" if count > 1 else "the score of its assertion"

    @abstractmethod
    async def weigh(
        self, members: Sequence[Member], evidence: Evidence, spec: AssertionSpec, world: World
    ) -> Priced:
        """Return the score of members that were all evaluated. Raises as `aggregate`."""


class Member(NamedTuple):
    """A part as it is written, and what came of it."""

    spec: AssertionSpec
    found: Assessment

    @property
    def name(self) -> str:
        """What it is called."""
        return self.spec.name or self.spec.type

    @property
    def score(self) -> float:
        """Its score in [0, 1]; one that was evaluated has one."""
        return scores([self.found])[0]


def weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Σ weight × score / Σ weight of (weight, score) pairs; 0 where nothing has weight."""
    total = fsum(weight for weight, _ in pairs)
    return fsum(weight * score for weight, score in pairs) / total if total else 0.0
