"""What every assertion is, and the world in which it is assessed."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.domain.base import Spec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, Reference
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Assessed, Assessment, AssessmentStatus, Cause, NotAssessed
from gateval.judging.prompt import shorten

if TYPE_CHECKING:
    import asyncio

    from gateval.candidates.checks import OwnChecks
    from gateval.candidates.playground_state import EndState
    from gateval.domain.manifests.evaluation import JudgeSpec
    from gateval.judging.judge import Judge
    from gateval.ports.model_calls import Embed


TOLERANCE = 1e-9
"""Scores are sums of products of decimals; a limit is met within this distance."""


class Assertion(Spec, ABC):
    """One check on a trial. The fields are its YAML keys, without those all assertions share.

    A validator may refuse options with a `ValueError` whose text is a sentence; that happens when
    the manifest is read. `type` is the name in YAML: that of the class with a small letter, if it
    says no other; `basis` what the assertion looks at. `starts_program` says that a program runs
    for it, `asks_service` that a server of the trial is asked, which has ended when a sealed
    program is started.
    """

    type: ClassVar[str]
    needs_judge: ClassVar[bool] = False
    starts_program: ClassVar[bool] = False
    asks_service: ClassVar[bool] = False
    basis: ClassVar[Basis] = Basis.ANSWER

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "type" not in cls.__dict__:
            cls.type = f"{cls.__name__[:1].lower()}{cls.__name__[1:]}"

    @abstractmethod
    def assess(self, evidence: Evidence) -> Assessment:
        """Return passed or failed, made with `result`.

        Raises `CannotEvaluate` when the evidence lacks what this assertion looks at.
        """

    @property
    def asks(self) -> str:
        """The model (`provider/model-id`) that it asks for embeddings, empty for none."""
        return ""

    async def assess_asking(
        self, evidence: Evidence, embed: Embed | None
    ) -> tuple[Assessment, Usage | None]:
        """Do what `assess` does, where `asks` names a model; return the tokens that took, too.

        Raises `CannotEvaluate` when it cannot be asked.
        """
        raise NotImplementedError  # only those whose `asks` names a model have it

    def wants(self, reference: Reference) -> str:
        """Say in a sentence what of `reference` it lacks to look at a case; empty for nothing."""
        del reference
        return ""

    def result(self, *, met: bool, expected: str, saw: str, steps: Sequence[int] = ()) -> Assessed:
        """Return the assessment with the sentence "Expected …, saw …." and the steps it rests on.

        `expected` and `saw` are parts of a sentence; what strangers wrote in them is shortened.
        """
        return Assessed(
            type=self.type,
            status=AssessmentStatus.PASSED if met else AssessmentStatus.FAILED,
            score=1.0 if met else 0.0,
            reason=f"Expected {expected}, saw {saw}.",
            steps=tuple(sorted(set(steps))),
        )

    def graded(
        self,
        score: float,
        *,
        least: float,
        expected: str,
        saw: str,
        steps: Sequence[int] = (),
        fatal: bool = False,
    ) -> Assessed:
        """Return the assessment of something that has a score in [0, 1] and passes from `least` on.

        `fatal` says that a required part of it failed: see `Assessment`.
        """
        score = min(1.0, max(0.0, score))
        met = score >= least - TOLERANCE and not fatal
        found = self.result(met=met, expected=expected, saw=saw, steps=steps)
        return found.model_copy(update={"score": score, "fatal": fatal})

    def absent(self, *, expected: str, saw: str, steps: Sequence[int] = ()) -> Assessed:
        """Return failed, because what this assertion looks at is not there: see `result`.

        Its opposite fails then too: where there is nothing to look at, nothing is shown.
        """
        found = self.result(met=False, expected=expected, saw=saw, steps=steps)
        return found.model_copy(update={"absent": True})


class TraceAssertion(Assertion, ABC):
    """An assertion that looks at the steps."""

    basis: ClassVar[Basis] = Basis.TRACE


class JudgedAssertion(TraceAssertion, ABC):
    """An assertion that asks the judge."""

    needs_judge: ClassVar[bool] = True

    def assess(self, evidence: Evidence) -> Assessment:
        """Raise `CannotEvaluate`: without a judge there is nothing to say."""
        del evidence
        raise CannotEvaluate(Cause.GATE, f"`{self.type}` needs a judge and none was set up")

    @abstractmethod
    async def assess_with(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        """Return the assessment and the tokens the judge took.

        Raises `CannotEvaluate` or the judge's `JudgeError`.
        """


Priced = tuple[Assessment, Usage | None]
"""An assessment, and the tokens that a model took for it; None if none was asked."""

Early = Mapping[int, Priced]
"""What was assessed already, by the `id` of the assertion's spec, which the plan keeps."""

JudgeDoubt = Callable[[], Awaitable[str]]
"""Says why the judge's word does not count; empty if it does."""


async def trust_every_judge() -> str:
    """Say that nothing speaks against the judge."""
    return ""


class CheckContext(NamedTuple):
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


class AssessmentContext(NamedTuple):
    """What all assertions of a trial are assessed with."""

    judge: Judge | None
    judge_spec: JudgeSpec
    check_context: CheckContext
    embed: Embed | None
    known: Mapping[str, type[Assertion]]
    doubt: JudgeDoubt
    early: Early = {}

    def judge_for(self, kind: str) -> Judge:
        """Return the judge that an assertion of this type asks. Raises `CannotEvaluate`."""
        if self.judge is None:
            raise CannotEvaluate(Cause.GATE, f"`{kind}` needs a judge and none was set up")
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
    """An assertion that asks a judge or starts a program, beside reading the evidence."""

    @abstractmethod
    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """Return the assessment. Raises `CannotEvaluate` or the judge's `JudgeError`."""


def error_of(kind: str, cause: Cause, message: str) -> NotAssessed:
    """Return the assessment of an assertion that could not be evaluated."""
    line = shorten(message, 1000).rstrip(".")
    return NotAssessed(type=kind, reason=f"{line[:1].upper()}{line[1:]}.", cause=cause)


MinScore = Annotated[
    float, Field(ge=0, le=1, description="The lowest score that passes, from 0 to 1.")
]

PASS_SCORE = 0.8
