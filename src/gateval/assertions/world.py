"""What assertions that ask others are assessed with: the judge, and what runs programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Assessment, Cause

if TYPE_CHECKING:
    from gateval.candidates.checks import OwnChecks
    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.judging.judge import Judge
    from gateval.ports.model_calls import Embed

Doubt = Callable[[], Awaitable[str]]
"""Says why the judge's word does not count; empty if it does."""

Assessed = tuple[Assessment, Usage | None]
"""An assessment, and the tokens that a judge took for it; None if none was asked."""


class Bench(NamedTuple):
    """What own checks of a trial are run with: its fixture, and what runs them if anything does."""

    fixture: Fixture
    checks: OwnChecks | None


class World(NamedTuple):
    """What all assertions of a trial are assessed with."""

    judge: Judge | None
    judge_spec: JudgeSpec
    bench: Bench
    embed: Embed | None
    known: Mapping[str, type[Assertion]]
    doubt: Doubt

    def judge_for(self, kind: str) -> Judge:
        """Return the judge that an assertion of this type asks. Raises `NotMeasured`."""
        if self.judge is None:
            raise NotMeasured(Cause.GATE, f"`{kind}` needs a judge and none was set up")
        return self.judge


class Asker(Assertion, ABC):
    """An assertion that needs more of the world than the evidence."""

    @abstractmethod
    async def assess_in(self, evidence: Evidence, spec: AssertionSpec, world: World) -> Assessed:
        """Return the assessment. Raises `NotMeasured` or the judge's `JudgeError`."""
