"""`composite`: several assertions weighed as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from gateval.assertions.evidence import Evidence
from gateval.assertions.graded.composites.base import Member, Weighing, weighted_mean
from gateval.assertions.world import Priced, World
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.judging.neutral import shorten

_SHOWN = 8


class Composite(Weighing):
    """The weighted mean of the scores of the assertions in it is at least `minScore`.

    Each of them may have a `weight` (1 if it says none) and a `name`. With `threshold`, the share
    of them that pass decides instead, each counting once. One that could not be evaluated makes it
    an error. They may be composites again. If nothing has weight, the score is 0.
    """

    type: ClassVar[str] = "composite"
    verb: ClassVar[str] = "all"

    threshold: float | None = Field(
        default=None, ge=0, le=1, description="The share of them, from 0 to 1, that has to pass."
    )

    async def weigh(
        self, members: Sequence[Member], evidence: Evidence, spec: AssertionSpec, world: World
    ) -> Priced:
        """See the class. Rests on what the members rest on."""
        del evidence, spec, world
        steps = [step for member in members for step in member.found.steps]
        if self.threshold is None:
            score = weighted_mean([(one.spec.weight, one.score) for one in members])
            least, expected = self.min_score, f"a weighted mean of at least {self.min_score:g}"
        else:
            passed = sum(one.found.passed for one in members)
            score, least = passed / len(members), self.threshold
            expected = f"at least {least:g} of {len(members)} assertions to pass"
        saw = f"{score:.3f} ({_listed(members)})"
        return self.graded(score, least=least, expected=expected, saw=saw, steps=steps), None


def _listed(members: Sequence[Member]) -> str:
    shown = [f"{shorten(one.name, 60)} {one.score:.3g}" for one in members[:_SHOWN]]
    more = len(members) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
