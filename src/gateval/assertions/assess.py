"""Assesses one trial: all assertions of its fixture, and nothing gets lost on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from pydantic import ValidationError

from gateval.assertions.base import Assertion, JudgedAssertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.registry import ASSERTIONS
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Answer, Assessment, AssessmentStatus, Cause
from gateval.judging.judge import Judge, JudgeError
from gateval.judging.neutral import shorten

_LONG = 2_000
"""Characters; longer messages are looked at in a thread. A pattern made for it takes RE2 seconds on
a long text, without Python's lock, so that other trials go on meanwhile."""

_Assessed = tuple[Assessment, Usage | None]


async def assess(
    fixture: Fixture,
    answer: Answer,
    judge: Judge | None,
    judge_spec: JudgeSpec,
    *,
    known: Mapping[str, type[Assertion]] = ASSERTIONS,
) -> tuple[tuple[Assessment, ...], Usage]:
    """Return one assessment per assertion, in the fixture's order, and the judge's tokens.

    An assertion that cannot be evaluated, or that breaks, is an assessment with status `error` and
    its cause; it never raises, and never passes. The usage is empty when no judge was asked.
    """
    evidence = Evidence.of(fixture.input, answer)
    found = await asyncio.gather(
        *(
            _assess_one(spec, known.get(spec.type), evidence, judge, judge_spec)
            for spec in fixture.assertions
        )
    )
    assessments = tuple(
        assessment.model_copy(update={"index": index, "reason": _placed(spec, assessment.reason)})
        for index, (spec, (assessment, _)) in enumerate(zip(fixture.assertions, found, strict=True))
    )
    spent = [usage for _, usage in found if usage is not None]
    return assessments, add_usage(spent)


async def _assess_one(
    spec: AssertionSpec,
    kind: type[Assertion] | None,
    evidence: Evidence,
    judge: Judge | None,
    judge_spec: JudgeSpec,
) -> _Assessed:
    try:
        assertion = _assertion(spec, kind)
        if spec.turn is not None:
            judged = isinstance(assertion, JudgedAssertion)
            look = evidence.about_turn if judged else evidence.of_turn
            evidence = look(spec.turn)
        found: Assessment
        usage: Usage | None = None
        if isinstance(assertion, JudgedAssertion) and judge is not None:
            found, usage = await assertion.assess_with(evidence, judge, judge_spec)
        elif len(evidence.answer.output) > _LONG:
            found = await asyncio.to_thread(assertion.assess, evidence)
        else:
            found = assertion.assess(evidence)
        claimed = evidence.is_claimed(assertion.basis)
        return found.model_copy(update={"claimed": claimed}) if claimed else found, usage
    except NotMeasured as error:
        return _error(spec, error.cause, error.message), None
    except JudgeError as error:
        return _error(spec, error.cause, error.message), error.usage
    except Exception as error:  # noqa: BLE001 - whatever breaks is reported, not passed over
        what = f"{type(error).__name__}: {error}"
        return _error(spec, Cause.GATE, f"`{spec.type}` broke with {what}; please report it"), None


def _placed(spec: AssertionSpec, reason: str) -> str:
    """Return the reason with the turn that it is about."""
    return reason if spec.turn is None else f"In turn {spec.turn}: {reason[:1].lower()}{reason[1:]}"


def _assertion(spec: AssertionSpec, kind: type[Assertion] | None) -> Assertion:
    """Read the options as strictly as when the manifest was read: a plan comes from outside."""
    if kind is None:
        raise NotMeasured(Cause.GATE, f"there is no assertion type `{shorten(spec.type, 60)}`")
    try:
        return kind.model_validate_json(
            json.dumps(spec.options), strict=True, by_alias=True, by_name=False
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise NotMeasured(
            Cause.GATE, f"`{spec.type}` has options it cannot use: {at}: {first['msg']}"
        ) from None


def _error(spec: AssertionSpec, cause: Cause, message: str) -> Assessment:
    return Assessment(
        type=spec.type,
        status=AssessmentStatus.ERROR,
        reason=_sentence(message),
        cause=cause,
    )


def _sentence(message: str) -> str:
    line = shorten(message, 1000).rstrip(".")
    return f"{line[:1].upper()}{line[1:]}."
