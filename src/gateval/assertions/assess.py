"""Assesses one trial: all assertions of its fixture, and nothing gets lost on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue, ValidationError

from gateval.assertions.base import (
    Asker,
    Assertion,
    AssessmentContext,
    CheckContext,
    Early,
    JudgedAssertion,
    JudgeDoubt,
    Priced,
    error_of,
    trust_every_judge,
)
from gateval.assertions.combinators import Combinator
from gateval.assertions.composites import Weighing
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.assertions.registry import ASSERTIONS
from gateval.candidates.checks import OwnChecks
from gateval.candidates.playground_state import EndState
from gateval.domain.base import JsonObject
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Answer, Assessed, Assessment, AssessmentStatus, Cause
from gateval.judging.judge import Judge, JudgeError
from gateval.judging.prompt import shorten
from gateval.ports.model_calls import Embed

NOTHING: Early = {}

_LONG = 2_000
"""Characters; longer messages are looked at in a thread. A pattern made for it takes RE2 seconds on
a long text, without Python's lock, so that other trials go on meanwhile."""


async def assess(
    fixture: Fixture,
    answer: Answer,
    judge: Judge | None,
    judge_spec: JudgeSpec,
    *,
    checks: OwnChecks | None = None,
    embed: Embed | None = None,
    known: Mapping[str, type[Assertion]] = ASSERTIONS,
    doubt: JudgeDoubt = trust_every_judge,
    state: EndState | None = None,
    only: Collection[int] | None = None,
    turn: asyncio.Lock | None = None,
    early: Early = NOTHING,
) -> tuple[tuple[Assessment, ...], Usage]:
    """Return one assessment per assertion, in order, and the tokens of judge and embeddings; of
    `only` those at these positions, if there are any.

    `checks` runs the fixture's own checks, `embed` asks models for embeddings; without them what
    needs them is an error, and what looks at a playground without its end `state`. `doubt` says
    why the word of the judge does not count: what it says is an error then, of the cause
    `uncalibrated`. With `turn` one program runs at a time; what is in `early` is taken from there.
    An assertion that cannot be evaluated, or that breaks, is an assessment with status `error` and
    its cause; it never raises, and never passes. The usage is empty when no judge was asked.
    """
    evidence = Evidence.of(fixture.input, answer, fixture.reference)
    check_context = CheckContext(fixture, checks, state, turn)
    context = AssessmentContext(judge, judge_spec, check_context, embed, known, doubt, early)
    asked = [
        (index, spec)
        for index, spec in enumerate(fixture.assertions)
        if only is None or index in only
    ]
    found = await _assess_all([spec for _, spec in asked], evidence, context)
    assessments = tuple(
        _in_turn(_placed(one, (index,)), spec)
        for (index, spec), (one, _) in zip(asked, found, strict=True)
    )
    spent = [usage for _, usage in found if usage is not None]
    return assessments, add_usage(spent)


def starting_programs(
    fixture: Fixture, known: Mapping[str, type[Assertion]] = ASSERTIONS
) -> frozenset[int]:
    """Return the positions of the assertions that start a program, or hold one that does."""
    return frozenset(
        index
        for index, spec in enumerate(fixture.assertions)
        if any(known[one.type].starts_program for one in spec.within() if one.type in known)
    )


def programs_refused(fixture: Fixture, why: str) -> Early:
    """Return what is said in place of assertions that start a program, where none may be: why."""
    return {
        id(spec): (error_of(spec.type, Cause.GATE, f"`{spec.type}` was not run: {why}"), None)
        for index in starting_programs(fixture)
        for spec in fixture.assertions[index].within()
        if spec.type in ASSERTIONS and ASSERTIONS[spec.type].starts_program
    }


async def assess_early(
    fixture: Fixture, answer: Answer, state: EndState | None, inside: Collection[int]
) -> Early:
    """Assess what asks services inside these assertions, the rest of which is assessed later."""
    evidence = Evidence.of(fixture.input, answer, fixture.reference)
    check_context = CheckContext(fixture, None, state)
    context = AssessmentContext(
        None, JudgeSpec(), check_context, None, ASSERTIONS, trust_every_judge
    )
    asking = [
        one
        for index in inside
        for one in fixture.assertions[index].within()
        if one.type in ASSERTIONS and ASSERTIONS[one.type].asks_service
    ]
    found = await _assess_all(asking, evidence, context)
    return {id(spec): one for spec, one in zip(asking, found, strict=True)}


async def _assess_all(
    specs: Sequence[AssertionSpec], evidence: Evidence, context: AssessmentContext
) -> list[Priced]:
    return await asyncio.gather(*(_assess_one(spec, evidence, context) for spec in specs))


async def _assess_one(
    spec: AssertionSpec, evidence: Evidence, context: AssessmentContext
) -> Priced:
    if spec.unsupported:
        return _unsupported(spec), None
    if id(spec) in context.early:
        return context.early[id(spec)]
    try:
        assertion = _assertion(spec, context.known.get(spec.type))
        if spec.turn is not None:
            evidence = evidence.of_turn(spec.turn)
        if isinstance(assertion, Combinator):
            return await _combined(assertion, spec, evidence, context)
        found, usage = await _found(assertion, spec, evidence, context)
        claimed = evidence.is_claimed(assertion.basis)
        return found.model_copy(update={"claimed": claimed}) if claimed else found, usage
    except CannotEvaluate as error:
        return error_of(spec.type, error.cause, error.message), None
    except JudgeError as error:
        return error_of(spec.type, error.cause, error.message), error.usage
    except Exception as error:  # noqa: BLE001 - whatever breaks is reported, not passed over
        what = f"`{spec.type}` broke with {type(error).__name__}: {error}; please report it"
        return error_of(spec.type, Cause.GATE, what), None


def _unsupported(spec: AssertionSpec) -> Assessment:
    reason = f"{spec.unsupported}."
    return Assessed(type=spec.type, status=AssessmentStatus.FAILED, score=0.0, reason=reason)


async def _found(
    assertion: Assertion, spec: AssertionSpec, evidence: Evidence, context: AssessmentContext
) -> Priced:
    """Assess in the way of the assertion's kind."""
    if isinstance(assertion, Asker):
        return await assertion.assess_in(evidence, spec, context)
    if isinstance(assertion, JudgedAssertion) and context.judge is not None:
        asked = assertion.assess_with(evidence.for_a_judge, context.judge, context.judge_spec)
        return await context.heard(asked, spec.type)
    if assertion.asks:
        return await assertion.assess_asking(evidence, context.embed)
    if len(evidence.answer.output) > _LONG:
        return await asyncio.to_thread(assertion.assess, evidence), None
    return assertion.assess(evidence), None


async def _combined(
    assertion: Combinator, spec: AssertionSpec, evidence: Evidence, context: AssessmentContext
) -> Priced:
    """Assess the parts; what the judge took for them counts even if they cannot be combined."""
    found = await _assess_all(spec.parts, assertion.view(evidence), context)
    spent = [usage for _, usage in found if usage is not None]
    usage = add_usage(spent) if spent else None
    parts = [part.model_copy(update={"index": at}) for at, (part, _) in enumerate(found)]
    try:
        if isinstance(assertion, Weighing):
            whole, more = await assertion.aggregate(parts, evidence, spec, context)
            return whole, add_usage([*spent, more]) if more else usage
        return assertion.combine(parts, evidence), usage
    except CannotEvaluate as error:
        return error_of(spec.type, error.cause, error.message), usage
    except JudgeError as error:
        spent += [error.usage] if error.usage else []
        return error_of(spec.type, error.cause, error.message), add_usage(spent) if spent else None


def _placed(one: Assessment, where: tuple[int, ...]) -> Assessment:
    """Return an assessment that says where its assertion stands, and so do its parts."""
    if where == (one.index, *one.at) and not one.parts:
        return one
    parts = tuple(_placed(part, (*where, part.index)) for part in one.parts)
    return one.model_copy(update={"index": where[0], "at": where[1:], "parts": parts})


def _in_turn(one: Assessment, spec: AssertionSpec) -> Assessment:
    """Return an assessment whose reason names the turn that it is about."""
    if spec.turn is None:
        return one
    reason = f"In turn {spec.turn}: {one.reason[:1].lower()}{one.reason[1:]}"
    return one.model_copy(update={"reason": reason})


def _assertion(spec: AssertionSpec, kind: type[Assertion] | None) -> Assertion:
    """Read the options as strictly as when the manifest was read: a plan comes from outside."""
    if kind is None:
        raise CannotEvaluate(Cause.GATE, f"there is no assertion type `{shorten(spec.type, 60)}`")
    try:
        return kind.model_validate_json(
            json.dumps(_written(spec)), strict=True, by_alias=True, by_name=False
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise CannotEvaluate(
            Cause.GATE, f"`{spec.type}` has options it cannot use: {at}: {first['msg']}"
        ) from None


def _written(spec: AssertionSpec) -> JsonObject:
    """Return the options as they were written, those of the parts included."""
    if not spec.parts:
        return spec.options
    parts: JsonValue = [{"type": part.type, **_written(part)} for part in spec.parts]
    return {**spec.options, "assertions": parts}
