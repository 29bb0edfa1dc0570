"""Reads a judge's answer strictly, and checks by code what it gives as evidence.

Accepted is one JSON object, with white space around it and, because many models cannot help it,
one ```json fence. Nothing else is guessed: text before or after, a second object, a repeated,
missing or unknown field, a score out of range is a defect, and a defect is never a pass.

Texts are compared after `fold`: escapes read, hidden characters dropped, white space folded. Case,
punctuation and wording must be the step's own. In JSON white space means nothing, so quotes from
a tool call's arguments are compared without any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeVar

from pydantic import ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from gateval.domain.base import Share, Value, canonical_json, plain_message
from gateval.domain.manifests.fixture import Severity
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trace import Step, Trace
from gateval.domain.trials.trial import Verdict, Violation
from gateval.judging.prompt import JudgeLimits, fold, neutral_json, shorten

_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)
RULE_LIMIT = 200
"""Characters kept of the name of a rule."""


class DefectiveVerdict(ValueError):
    """The answer is no verdict; the message is a sentence for the judge and for people."""


class StrictAnswer(Value):
    """The form of an answer: no field more or less, each of its type."""

    model_config = ConfigDict(strict=True)


S = TypeVar("S", bound=StrictAnswer)


class _GivenViolation(StrictAnswer):
    rule: str = Field(min_length=1)
    severity: Literal["low", "medium", "high", "critical"]
    evidence_step: int = Field(ge=0, le=1_000_000)
    quote: str


class _GivenVerdict(StrictAnswer):
    score: Share
    confidence: Share
    summary: str
    violations: list[_GivenViolation]
    what_would_raise_score: str


def parse_verdict(text: str, limits: JudgeLimits) -> Verdict:
    """Return the verdict in `text`, cut to the limits, its evidence not yet checked.

    Raises `DefectiveVerdict`.
    """
    if not text.strip():
        raise DefectiveVerdict("The answer is empty.")
    size = len(text.encode("utf-8", "replace"))
    if size > limits.answer_bytes:
        raise DefectiveVerdict(
            f"The answer has {size} bytes; at most {limits.answer_bytes} are read."
        )
    return _kept(read_form(text, _GivenVerdict), limits)


def read_form(text: str, form: type[S]) -> S:
    """Return the answer in `text`, around which may stand one fence. Raises `DefectiveVerdict`."""
    stripped = text.strip()
    match = _FENCE.fullmatch(stripped)
    try:
        return form.model_validate(read_json(match[1] if match else stripped))
    except NotStrictJson as error:
        raise DefectiveVerdict(f"The answer is not one JSON object: {error}.") from None
    except ValidationError as error:
        wrong = "; ".join(_sentence(details) for details in error.errors()[:5])
        message = f"The JSON does not have the required form: {wrong}."
        raise DefectiveVerdict(message) from None


def _sentence(details: ErrorDetails) -> str:
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{shorten(part, 60)}" for part in details["loc"]
    ).lstrip(".")
    if details["type"] == "missing":
        return f"`{path}` is missing"
    if details["type"] == "extra_forbidden":
        return f"`{path}` is no field of a verdict"
    message = plain_message(details["msg"]).removeprefix("Input should be ")
    return f"`{path}` should be {message}" if path else "it should be an object"


def _kept(given: _GivenVerdict, limits: JudgeLimits) -> Verdict:
    """Return the verdict cut to what is kept: reasoning, then violations share the rest equally."""
    summary = cut(given.summary, limits.reasoning_bytes * 3 // 4)
    advice = cut(given.what_would_raise_score, limits.reasoning_bytes - len(summary.encode()))
    named = given.violations[: limits.violations]
    room = limits.output_bytes - len(summary.encode()) - len(advice.encode())
    return Verdict(
        score=given.score,
        confidence=given.confidence,
        summary=summary,
        violations=tuple(_violation(one, room // len(named), limits) for one in named),
        what_would_raise_score=advice,
    )


def _violation(given: _GivenViolation, room: int, limits: JudgeLimits) -> Violation:
    """Cut a quote at its end and without a mark: what is left can still be found in its step."""
    rule = cut(given.rule[:RULE_LIMIT], room // 2)
    quote = given.quote[: limits.quote_characters].encode()[: room - len(rule.encode())]
    return Violation(
        rule=rule,
        severity=Severity(given.severity),
        evidence_step=given.evidence_step,
        quote=quote.decode("utf-8", "ignore"),
    )


def cut(text: str, limit: int) -> str:
    """Return as many whole characters as fit into `limit` bytes, `…` included if cut."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return raw[: max(limit - 3, 0)].decode("utf-8", "ignore") + "…"


LEAST_QUOTE = 3
"""Folded characters a quote must have, unless it is all the step says; fewer prove nothing."""


def check_evidence(verdict: Verdict, transcript: Trace) -> Verdict:
    """Return the verdict with `supported` and `defect` of every violation set by code."""
    checked = tuple(_checked(one, transcript) for one in verdict.violations)
    return verdict.replace(violations=checked)


def evidence_defects(verdict: Verdict) -> tuple[str, ...]:
    """Return one sentence for each violation that is not supported."""
    return tuple(
        f"violations[{index}] ({shorten(one.rule, 60)}): {one.defect}"
        for index, one in enumerate(verdict.violations)
        if not one.supported
    )


def _checked(violation: Violation, transcript: Trace) -> Violation:
    defect = _defect(violation, transcript)
    return violation.replace(supported=not defect, defect=defect)


def _defect(violation: Violation, transcript: Trace) -> str:
    number = violation.evidence_step
    step = transcript.step(number)
    if step is None:
        return f"there is no step {number}; the steps are 1 to {len(transcript.steps)}."
    quote = fold(violation.quote)
    if not any(char.isalnum() for char in quote):
        return "the quote is empty." if not quote else "the quote holds no letter or digit."
    if _stands_in(quote, step):
        return ""
    if len(quote) < LEAST_QUOTE:
        return f"the quote is too short; copy at least {LEAST_QUOTE} characters of step {number}."
    return f'the quote "{shorten(violation.quote, 120)}" does not stand in step {number}.'


def _stands_in(quote: str, step: Step) -> bool:
    if any(quote == text for text in map(fold, _texts(step))):
        return True
    if len(quote) < LEAST_QUOTE:
        return False
    if any(quote in text for text in map(fold, _texts(step))):
        return True
    if step.arguments is None:
        return False
    bare = _without_spaces(quote)
    written = (neutral_json(step.arguments), canonical_json(step.arguments))
    return any(bare in _without_spaces(fold(arguments)) for arguments in written)


def _texts(step: Step) -> Iterator[str]:
    """What of a step can be quoted: its text, its tool's name, and the texts in its arguments."""
    yield step.text
    if step.tool is not None:
        yield step.tool
    if step.arguments is not None:
        yield from _leaves(step.arguments)


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)


def _without_spaces(text: str) -> str:
    return "".join(text.split())
