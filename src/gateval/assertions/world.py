"""What assertions that ask others are assessed with: the judge, and what runs programs."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Assessment, Cause, NotAssessed
from gateval.judging.neutral import shorten

if TYPE_CHECKING:
    import asyncio

    from gateval.candidates.checks import OwnChecks
    from gateval.candidates.playground.state import EndState
    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.judging.judge import Judge
    from gateval.ports.model_calls import Embed

Priced = tuple[Assessment, Usage | None]
"""An assessment, and the tokens that a model took for it; None if none was asked."""

Early = Mapping[int, Priced]
"""What was assessed already, by the `id` of the assertion's spec, which the plan keeps."""

Doubt = Callable[[], Awaitable[str]]
"""Says why the judge's word does not count; empty if it does."""


async def believed() -> str:
    """Say that nothing speaks against the judge."""
    return ""


class Bench(NamedTuple):
    """What own checks of a trial are run with: its fixture, and what runs them if anything does.

    `state` is the end state of its playground, if it has one. With `turn`, of all programs that are
    run for assertions one runs at a time.
    """

    fixture: Fixture
    checks: OwnChecks | None
    state: EndState | None = None
    turn: asyncio.Lock | None = None

    def place(self) -> contextlib.AbstractAsyncContextManager[Any]:
        """Hold this while a program runs."""
        return self.turn or contextlib.nullcontext()


class World(NamedTuple):
    """What all assertions of a trial are assessed with."""

    judge: Judge | None
    judge_spec: JudgeSpec
    bench: Bench
    embed: Embed | None
    known: Mapping[str, type[Assertion]]
    doubt: Doubt
    early: Early = {}

    def judge_for(self, kind: str) -> Judge:
        """Return the judge that an assertion of this type asks. Raises `NotMeasured`."""
        if self.judge is None:
            raise NotMeasured(Cause.GATE, f"`{kind}` needs a judge and none was set up")
        return self.judge

    async def heard(self, asked: Awaitable[tuple[Assessment, Usage]], kind: str) -> Priced:
        """Return what the judge says, as an error where its word does not count."""
        from gateval.judging.judge import JudgeError

        usage: Usage | None = None
        try:
            found, usage = await asked
        except JudgeError as error:
            found, usage = error_of(kind, error.cause, error.message), error.usage
        if not await self.doubt():
            return found if found.type == kind else found.model_copy(update={"type": kind}), usage
        said = "The judge is not calibrated as its Eval asks, so this does not count"
        unbelieved = error_of(kind, Cause.UNCALIBRATED, f"{said}: {found.reason}")
        return unbelieved.model_copy(update={"verdict": found.verdict, "asked": found.asked}), usage


class Asker(Assertion, ABC):
    """An assertion that needs more of the world than the evidence."""

    @abstractmethod
    async def assess_in(self, evidence: Evidence, spec: AssertionSpec, world: World) -> Priced:
        """Return the assessment. Raises `NotMeasured` or the judge's `JudgeError`."""


def error_of(kind: str, cause: Cause, message: str) -> NotAssessed:
    """Return the assessment of an assertion that could not be evaluated."""
    line = shorten(message, 1000).rstrip(".")
    return NotAssessed(type=kind, reason=f"{line[:1].upper()}{line[1:]}.", cause=cause)
