"""Reads a judge's answer, strictly: a verdict, or a sentence that says why it is none.

Accepted is one JSON object, with white space around it and, because many models cannot help it,
one ```json fence. Nothing else is guessed: text before or after, a second object, a repeated,
missing or unknown field, a score out of range is a defect, and a defect is never a pass.
"""

from __future__ import annotations

import re
from typing import Literal, TypeVar

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from gateval.domain.base import Value, plain_message
from gateval.domain.manifests.severity import Severity
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.judge_verdict import Verdict, Violation
from gateval.judging.limits import JudgeLimits
from gateval.judging.neutral import shorten

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
    score: float = Field(ge=0, le=1)
    confidence: float = Field(ge=0, le=1)
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
