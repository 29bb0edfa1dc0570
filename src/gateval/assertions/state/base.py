"""What assertions on a playground's end state share."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.matching.linear_regex import compiled
from gateval.assertions.world import Asker, Priced, World
from gateval.candidates.bounded.json_path import PathError, check
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.repository.paths import show_path
from gateval.domain.trials.trial import Assessment, Cause

if TYPE_CHECKING:
    from gateval.candidates.playground.reading import Found
    from gateval.candidates.playground.state import EndState

TEXT_BYTES = 1024 * 1024
"""Bytes of a file that are looked at."""


def _pattern(pattern: str) -> str:
    compiled(pattern)
    return pattern


def _json_path(expression: str) -> str:
    try:
        check(expression)
    except PathError as error:
        raise ValueError(str(error)) from None
    return expression


Pattern = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_pattern)]
JsonPath = Annotated[str, Field(max_length=300), AfterValidator(_json_path)]


class StateAssertion(Asker, ABC):
    """An assertion that looks at the end state of a playground."""

    def assess(self, evidence: Evidence) -> Assessment:
        """Raise `NotMeasured`: without a playground there is nothing to look at."""
        del evidence
        raise NotMeasured(Cause.GATE, f"`{self.type}` looks at a playground, and there is none")

    async def assess_in(self, evidence: Evidence, spec: AssertionSpec, world: World) -> Priced:
        """See `Asker`. What a candidate left unreadable is its own doing, and never a pass."""
        from gateval.candidates.playground.reading import Unreadable
        from gateval.candidates.playground.state import NotLookedAt

        del spec
        state = world.bench.state
        if state is None:
            return self.assess(evidence), None
        try:
            async with world.bench.place() if self.starts_program else contextlib.nullcontext():
                return await self.look(state), None
        except Unreadable as error:
            raise NotMeasured(Cause.CANDIDATE, f"the end state cannot be looked at: {error}")
        except NotLookedAt as error:
            raise NotMeasured(error.cause, error.reason)

    @abstractmethod
    async def look(self, state: EndState) -> Assessment:
        """Return the assessment. Raises `Unreadable` and `NotLookedAt`."""


def named(path: str) -> str:
    """Return a path for a sentence."""
    return f"`{show_path(path)}`" if path else "the playground"


def instead(found: Found | None) -> str:
    """Say what stands where a file should."""
    if found is None:
        return "nothing there"
    said = {"link": "a symbolic link, which is not followed", "other": "no regular file"}
    return said.get(found.kind, f"a {found.kind}")
