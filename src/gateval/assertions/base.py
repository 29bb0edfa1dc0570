"""What every assertion is, and the world in which it is assessed."""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, JsonValue, ValidationError

from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.domain.base import JsonObject, Spec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, Reference
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import (
    Assessed,
    Assessment,
    AssessmentStatus,
    Cause,
    Juror,
    NotAssessed,
)
from gateval.safe.legible import shorten

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
    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """Return the assessment of what stands as `spec` in the fixture.

        Raises `CannotEvaluate` when the evidence lacks what this assertion looks at, or what it
        asks does not answer, and the judge's `JudgeError`.
        """

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
        return found.replace(score=score, fatal=fatal)

    def absent(self, *, expected: str, saw: str, steps: Sequence[int] = ()) -> Assessed:
        """Return failed, because what this assertion looks at is not there: see `result`.

        Its opposite fails then too: where there is nothing to look at, nothing is shown.
        """
        found = self.result(met=False, expected=expected, saw=saw, steps=steps)
        return found.replace(absent=True)


Priced = tuple[Assessment, Usage | None]
"""An assessment, and the tokens that a model took for it; None if none was asked."""

_LONG = 2_000
"""Characters; longer messages are looked at in a thread. A pattern made for it takes RE2 seconds on
a long text, without Python's lock, so that other trials go on meanwhile."""


class EvidenceAssertion(Assertion, ABC):
    """An assertion that looks at the evidence and at nothing else."""

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Assertion`."""
        del spec, context
        if len(evidence.answer.output) > _LONG:
            import asyncio  # planning reads all assertions, and start-up time is a promise

            return await asyncio.to_thread(self.assess, evidence), None
        return self.assess(evidence), None

    @abstractmethod
    def assess(self, evidence: Evidence) -> Assessment:
        """Return passed or failed, made with `result`. Raises `CannotEvaluate`."""


class TraceAssertion(EvidenceAssertion, ABC):
    """An assertion that looks at the steps."""

    basis: ClassVar[Basis] = Basis.TRACE


class JudgedAssertion(Assertion, ABC):
    """An assertion that asks the judge."""

    needs_judge: ClassVar[bool] = True
    basis: ClassVar[Basis] = Basis.TRACE

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Assertion`."""
        return await self.assess_as(spec, evidence, context)

    async def assess_as(
        self, asks: AssertionSpec, evidence: Evidence, context: AssessmentContext
    ) -> Priced:
        """Ask for the assertion `asks`; an error where the judge's word does not count.

        Raises `CannotEvaluate`.
        """
        from gateval.judging.judge import JudgeError

        usage: Usage | None = None
        kind, judge, before = asks.type, context.judge_for(asks.type), context.heard_before(asks)
        ask = self._heard if context.judge_spec.is_panel else self.ask
        try:
            found, usage = await ask(evidence.for_a_judge, judge, context.judge_spec, before)
        except JudgeError as error:
            found, usage = error_of(kind, error.cause, error.message), error.usage
        if not (doubt := await context.doubt()):
            return found if found.type == kind else found.replace(type=kind), usage
        said = f"This does not count, as {doubt}; the judge said: {found.reason}"
        unbelieved = error_of(kind, Cause.UNCALIBRATED, said)
        return unbelieved.replace(verdict=found.verdict, asked=found.asked), usage

    @abstractmethod
    async def ask(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec, before: Sequence[Juror] = ()
    ) -> tuple[Assessment, Usage]:
        """Return the assessment and the tokens the judge took. What it said `before` it was lost
        is not asked again.

        Raises `CannotEvaluate` or the judge's `JudgeError`.
        """

    async def ask_once(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec
    ) -> tuple[Assessment, Usage]:
        """Return what one juror comes to, asked a single time; see `ask`."""
        return await self.ask(evidence, judge, spec)

    async def _heard(
        self, evidence: Evidence, judge: Judge, spec: JudgeSpec, before: Sequence[Juror]
    ) -> tuple[Assessment, Usage]:
        """Ask those of several judges who said nothing `before`; each has to prove what it takes
        off, as one alone has.
        """
        from gateval.domain.trials.jury import jury_assessment
        from gateval.judging.judge import JudgeError
        from gateval.judging.jury import JurorHeard, hear

        async def asked(one: JudgeSpec) -> JurorHeard:
            model = one.named
            try:
                found, usage = await self.ask_once(evidence, judge, one)
            except JudgeError as error:
                said = error_of(self.type, error.cause, error.message)
                out, cause = error.outage, error.cause
                lost = Juror(model=model, outage=out, why=said.reason, cause=cause)
                return JurorHeard(lost, error.usage)
            juror = Juror(model=model, fatal=found.fatal, verdict=found.verdict)
            if isinstance(found, NotAssessed):
                return JurorHeard(juror.replace(why=found.reason, cause=found.cause), usage)
            return JurorHeard(juror.replace(passed=found.passed, score=found.score), usage)

        heard = await hear(spec, asked, before=before)
        return jury_assessment(self.type, spec, heard.jurors), heard.usage


Early = Mapping[int, Priced]
"""What was assessed already, by the `id` of the assertion's spec, which the plan keeps."""

Heard = dict[int, Assessment]
"""What each assertion, and each inside one, came to when it was last assessed; so kept as `Early`.
Where something is lost, the rest is not asked again."""

JudgeDoubt = Callable[[], Awaitable[str]]
"""Says why the judge's word does not count; empty if it does."""


async def trust_every_judge() -> str:
    """Say that nothing speaks against the judge."""
    return ""


class AssessmentContext(NamedTuple):
    """What all assertions of a trial are assessed with, and what runs or is asked if anything is.

    `state` is the end state of its playground, if it has one. With `turn`, of all programs that are
    run for assertions one runs at a time. `heard` is what was assessed before, and what is, now.
    """

    fixture: Fixture
    judge: Judge | None
    judge_spec: JudgeSpec
    known: Mapping[str, type[Assertion]]
    checks: OwnChecks | None = None
    embed: Embed | None = None
    doubt: JudgeDoubt = trust_every_judge
    state: EndState | None = None
    turn: asyncio.Lock | None = None
    early: Early = {}
    heard: Heard | None = None

    def heard_before(self, spec: AssertionSpec) -> Sequence[Juror]:
        """Return what was said of an assertion before an answer to it got lost."""
        found = self.heard.get(id(spec)) if self.heard else None
        return found.verdict.jurors if found is not None and found.verdict else ()

    def place(self) -> contextlib.AbstractAsyncContextManager[Any]:
        """Hold this while a program runs."""
        return self.turn or contextlib.nullcontext()

    def judge_for(self, kind: str) -> Judge:
        """Return the judge that an assertion of this type asks. Raises `CannotEvaluate`."""
        if self.judge is None:
            raise CannotEvaluate(Cause.GATE, f"`{kind}` needs a judge and none was set up")
        return self.judge

    async def assess_all(self, specs: Sequence[AssertionSpec], evidence: Evidence) -> list[Priced]:
        """Assess these assertions side by side; whatever breaks is an error among them.

        What only looks at a short answer never waits, so it needs no task.
        """
        import asyncio

        is_short = len(evidence.answer.output) <= _LONG
        found = {
            at: await self._assess(spec, evidence)
            for at, spec in enumerate(specs)
            if is_short and issubclass(self.known.get(spec.type, Assertion), EvidenceAssertion)
        }
        left = [at for at in range(len(specs)) if at not in found]
        if len(left) == 1:
            found[left[0]] = await self._assess(specs[left[0]], evidence)
        else:
            more = await asyncio.gather(*(self._assess(specs[at], evidence) for at in left))
            found |= zip(left, more, strict=True)
        return [found[at] for at in range(len(specs))]

    async def _assess(self, spec: AssertionSpec, evidence: Evidence) -> Priced:
        if spec.unsupported:
            failed = Assessed(
                type=spec.type,
                status=AssessmentStatus.FAILED,
                score=0.0,
                reason=f"{spec.unsupported}.",
            )
            return failed, None
        if id(spec) in self.early:
            return self.early[id(spec)]
        before = self.heard.get(id(spec)) if self.heard else None
        if isinstance(before, Assessed):
            return before, None
        found, usage = await self._assess_now(spec, evidence)
        if self.heard is not None:
            self.heard[id(spec)] = found
        return found, usage

    async def _assess_now(self, spec: AssertionSpec, evidence: Evidence) -> Priced:
        try:
            assertion = self._read(spec)
            if spec.turn is not None:
                evidence = evidence.of_turn(spec.turn)
            found, usage = await assertion.assess_in(evidence, spec, self)
            claimed = evidence.is_claimed(assertion.basis)
            return found.replace(claimed=claimed) if claimed else found, usage
        except CannotEvaluate as error:
            return error_of(spec.type, error.cause, error.message), None
        except Exception as error:  # noqa: BLE001 - whatever breaks is reported, not passed over
            from gateval.judging.judge import JudgeError  # not where no judge is asked

            if isinstance(error, JudgeError):
                return error_of(spec.type, error.cause, error.message), error.usage
            what = f"`{spec.type}` broke with {type(error).__name__}: {error}; please report it"
            return error_of(spec.type, Cause.GATE, what), None

    def _read(self, spec: AssertionSpec) -> Assertion:
        """Read the options as strictly as when the manifest was read: a plan comes from outside."""
        kind = self.known.get(spec.type)
        if kind is None:
            what = f"there is no assertion type `{shorten(spec.type, 60)}`"
            raise CannotEvaluate(Cause.GATE, what)
        try:
            return _options_read(kind, json.dumps(_written(spec)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            message = f"`{spec.type}` has options it cannot use: {what}"
            raise CannotEvaluate(Cause.GATE, message) from None


@lru_cache(maxsize=256)  # many fixtures are alike in what they ask
def _options_read(kind: type[Assertion], written: str) -> Assertion:
    return kind.model_validate_json(written, strict=True, by_alias=True, by_name=False)


def _written(spec: AssertionSpec) -> JsonObject:
    """Return the options as they were written, those of the parts included."""
    if not spec.parts:
        return spec.options
    parts: JsonValue = [{"type": part.type, **_written(part)} for part in spec.parts]
    return {**spec.options, "assertions": parts}


def error_of(kind: str, cause: Cause, message: str) -> NotAssessed:
    """Return the assessment of an assertion that could not be evaluated."""
    line = shorten(message, 1000).rstrip(".")
    return NotAssessed(type=kind, reason=f"{line[:1].upper()}{line[1:]}.", cause=cause)


MinScore = Annotated[
    float, Field(ge=0, le=1, description="The lowest score that passes, from 0 to 1.")
]

PASS_SCORE = 0.8
