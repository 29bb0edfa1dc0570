"""Assesses one trial: all assertions of its fixture, and nothing gets lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from gateval.assertions.base import (
    Assertion,
    AssessmentContext,
    Early,
    Heard,
    JudgeDoubt,
    error_of,
    trust_every_judge,
)
from gateval.assertions.evidence import Evidence
from gateval.assertions.registry import ASSERTIONS
from gateval.candidates.checks import OwnChecks
from gateval.candidates.playground_state import EndState
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Answer, Assessment, Cause
from gateval.ports.model_calls import Embed

if TYPE_CHECKING:
    from gateval.judging.judge import Judge

NOTHING: Early = {}


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
    heard: Heard | None = None,
) -> tuple[tuple[Assessment, ...], Usage]:
    """Return one assessment per assertion, in order, and the tokens of judge and embeddings; of
    `only` those at these positions, if there are any.

    `checks` runs the fixture's own checks, `embed` asks models for embeddings; without them what
    needs them is an error, and what looks at a playground without its end `state`. `doubt` says
    why the word of the judge does not count: what it says is an error then, of the cause
    `uncalibrated`. With `turn` one program runs at a time; what is in `early` is taken from there,
    and so is what models said before something got lost, from `heard`, which is brought up to date.
    An assertion that cannot be evaluated, or that breaks, is an assessment with status `error` and
    its cause; it never raises, and never passes. The usage is empty when no judge was asked.
    """
    evidence = Evidence.of(fixture.input, answer, fixture.reference)
    context = AssessmentContext(
        fixture, judge, judge_spec, known, checks, embed, doubt, state, turn, early, heard
    )
    wanted = [index for index in range(len(fixture.assertions)) if only is None or index in only]
    found = await context.assess_all([fixture.assertions[index] for index in wanted], evidence)
    assessments = []
    for index, (one, _) in zip(wanted, found, strict=True):
        placed, turn_number = _placed(one, (index,)), fixture.assertions[index].turn
        if turn_number is not None:
            reason = f"In turn {turn_number}: {one.reason[:1].lower()}{one.reason[1:]}"
            placed = placed.replace(reason=reason)
        assessments.append(placed)
    return tuple(assessments), add_usage([usage for _, usage in found if usage is not None])


def _placed(one: Assessment, where: tuple[int, ...]) -> Assessment:
    """Return an assessment that says where its assertion stands, and so do its parts."""
    if where == (one.index, *one.at) and not one.parts:
        return one
    parts = tuple(_placed(part, (*where, part.index)) for part in one.parts)
    return one.replace(index=where[0], at=where[1:], parts=parts)


def heard_of(fixture: Fixture, found: Iterable[Assessment]) -> Heard:
    """Return what was said of the assertions that came to this, and of those inside them."""
    heard: Heard = {}
    for one in found:
        spec = fixture.assertions[one.index].part(one.at)
        heard |= {id(spec): one, **heard_of(fixture, one.parts)}
    return heard


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
    context = AssessmentContext(fixture, None, JudgeSpec(), ASSERTIONS, state=state)
    asking = [
        one
        for index in inside
        for one in fixture.assertions[index].within()
        if one.type in ASSERTIONS and ASSERTIONS[one.type].asks_service
    ]
    found = await context.assess_all(asking, evidence)
    return {id(spec): one for spec, one in zip(asking, found, strict=True)}
