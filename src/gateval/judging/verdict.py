"""Reads a judge's answer strictly, and checks by code what it gives as evidence.

Accepted is one JSON object, with white space around it and, because many models cannot help it,
one ```json fence. Nothing else is guessed: text before or after, a second object, a repeated,
missing or unknown field, a score out of range is a defect, and a defect is never a pass.

Texts are compared after `fold`: escapes read, hidden characters dropped, white space folded; and
letters that look alike are the same. Case, punctuation and wording must be the step's own. In
JSON white space means nothing, so quotes from a tool call's arguments are compared without any.

A judge's answer to a list of checks: what it is asked, and what counts as an answer.

Each check is satisfied or not, or has points from 0 to 10. Whatever is taken off has to be proven
with a step and a quote, as a violation of a verdict has. A check that the judge does not return is
not satisfied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Literal, TypeVar

from pydantic import ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from gateval.domain.base import JsonObject, Share, Spec, Value, plain_message
from gateval.domain.manifests.fixture import Severity
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Verdict, Violation
from gateval.judging.prompt import NUMBER, TEXT, TRUTH, WHOLE, JudgeLimits, JudgeQuestion, closed
from gateval.safe.legible import shorten

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
    absent: bool = False


class _GivenVerdict(StrictAnswer):
    score: Share
    confidence: Share
    summary: str
    violations: list[_GivenViolation]
    what_would_raise_score: str
    cannot_determine: bool = False


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
        undetermined=given.cannot_determine,
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
        absent=given.absent,
    )


def cut(text: str, limit: int) -> str:
    """Return as many whole characters as fit into `limit` bytes, `…` included if cut."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return raw[: max(limit - 3, 0)].decode("utf-8", "ignore") + "…"


POINTS = 10
"""The most points of a check that has points."""

_BYTES_PER_CHECK = 1024


class Band(Spec):
    """What the points from `low` to `high` mean."""

    low: int = Field(ge=0, le=POINTS, description="The lowest points of the range.")
    high: int = Field(ge=0, le=POINTS, description="The highest points of the range.")
    text: str = Field(min_length=1, max_length=5_000, description="What they mean.")


class Check(Value):
    """One check. With `pointed` it gets points; `bands` say which mean what.

    `contradiction` asks only that nothing contradicts it.
    """

    id: str
    text: str = ""
    weight: float = Field(default=1.0, ge=0)
    pointed: bool = False
    bands: tuple[Band, ...] = ()
    contradiction: bool = False


class Checklist(Value):
    """What a judge found. `marks` in [0, 1] are by check; `missing` ones were not returned.

    The verdict's violations are the checks from which something was taken off, in order.
    """

    marks: dict[str, float]
    missing: tuple[str, ...] = ()
    verdict: Verdict


class _GivenCheck(StrictAnswer):
    id: str
    cannot_determine: bool = False
    satisfied: bool | None = None
    score: int | None = Field(default=None, ge=0, le=POINTS)
    reasoning: str = ""
    evidence_step: int | None = Field(default=None, ge=0, le=1_000_000)
    quote: str | None = None
    absent: bool = False


class _Given(StrictAnswer):
    checks: list[_GivenCheck]
    overall_reasoning: str
    confidence: float = Field(default=1.0, ge=0, le=1)


def asked_checks(checks: Sequence[Check]) -> list[JsonValue]:
    """Return the checks as the judge is shown them."""
    return [_asked(check) for check in checks]


def parse_checklist(text: str, checks: Sequence[Check], limits: JudgeLimits) -> Checklist:
    """Return the checklist in `text`, its evidence not yet checked. Raises `DefectiveVerdict`."""
    if len(text.encode("utf-8", "replace")) > limits.output_bytes + _BYTES_PER_CHECK * len(checks):
        raise DefectiveVerdict("The answer is too long.")
    given = read_form(text, _Given)
    by_id = _by_id(given, {check.id: check for check in checks})
    marks = {check.id: _mark(check, by_id.get(check.id)) for check in checks}
    blamed = [
        _check_violation(check, by_id[check.id], limits)
        for check in checks
        if check.id in by_id and marks[check.id] < 1
    ]
    return Checklist(
        marks=marks,
        missing=tuple(check.id for check in checks if check.id not in by_id),
        verdict=Verdict(
            score=weighted_marks(checks, marks),
            confidence=given.confidence,
            summary=cut(given.overall_reasoning, limits.reasoning_bytes),
            violations=tuple(blamed),
            what_would_raise_score="",
            undetermined=any(one.cannot_determine for one in by_id.values()),
        ),
    )


def weighted_marks(checks: Sequence[Check], marks: Mapping[str, float]) -> float:
    """Return Σ weight × mark / Σ weight over all checks; 0 where nothing has weight."""
    total = fsum(check.weight for check in checks)
    return fsum(check.weight * marks[check.id] for check in checks) / total if total else 0.0


def _asked(check: Check) -> JsonObject:
    told: JsonObject = {"id": check.id, "text": check.text}
    if check.contradiction:
        told["satisfied_unless_contradicted"] = True
    if check.pointed:
        told["points"] = POINTS
        told["bands"] = [one.model_dump(mode="json") for one in check.bands]
    return told


def _by_id(given: _Given, known: Mapping[str, Check]) -> dict[str, _GivenCheck]:
    found: dict[str, _GivenCheck] = {}
    for one in given.checks:
        name = shorten(one.id, 60)
        if one.id not in known:
            raise DefectiveVerdict(f"There is no check with the id {name}.")
        if one.id in found:
            raise DefectiveVerdict(f"The check {name} is answered twice.")
        answered = one.score if known[one.id].pointed else one.satisfied
        if answered is None and not one.cannot_determine:
            wanted = "`score`" if known[one.id].pointed else "`satisfied`"
            raise DefectiveVerdict(f"The check {name} has no {wanted}.")
        found[one.id] = one
    return found


def _mark(check: Check, given: _GivenCheck | None) -> float:
    if given is None:
        return 0.0
    return (given.score or 0) / POINTS if check.pointed else float(bool(given.satisfied))


def _check_violation(check: Check, given: _GivenCheck, limits: JudgeLimits) -> Violation:
    return Violation(
        rule=f"{check.id}: {check.text or given.reasoning}"[:RULE_LIMIT],
        severity=Severity.MEDIUM,
        evidence_step=given.evidence_step or 0,
        quote=(given.quote or "")[: limits.quote_characters],
        absent=given.absent,
    )


ANSWER = """\
The rubric is a list of checks, each with an `id`. Answer every one of them by itself. A check \
with `points` gets a whole number from 0 to {points}, and its `bands` say what the numbers mean; \
every other check is satisfied or not. A check that is `satisfied_unless_contradicted` is \
satisfied unless the run says the contrary.

Answer with one JSON object and nothing else, with exactly these fields:
{{
  "checks": list, one entry for each check,
    {{"id": the check's id, "satisfied": true | false (or "score": whole number, for one with \
points), "reasoning": text, one sentence, "evidence_step": number of a step, "quote": text, \
"absent": true if something is missing, else false, "cannot_determine": true if the recorded run \
does not show it, else false}},
  "overall_reasoning": text, one or two sentences,
  "confidence": number from 0 to 1, how sure you are
}}

`evidence_step` and `quote` are needed for every check that is not satisfied or has fewer than \
{points} points, and may be null for the others. `quote` is copied letter by letter from the \
text of the step `evidence_step`, at most {quote_characters} characters; for a tool call it is \
the tool's name or a piece of its arguments. If something is missing in the run, cite the step \
where it should have happened; if what is missing is a tool or a text that the check names, that \
name is the `quote` and `absent` is true. Quotes are checked by a program; what is taken off \
without a quote that stands in its step does not count.\
"""
"""What a judge is told of lists of checks, besides `PROMPT`."""


def checklist_question(checks: Sequence[Check], about: str, limits: JudgeLimits) -> JudgeQuestion:
    """Return the question which of these checks a run satisfies; `about` says what else is to be
    known.
    """
    answer = ANSWER.format(points=POINTS, quote_characters=limits.quote_characters)
    return JudgeQuestion({"checks": asked_checks(checks), "context": about}, answer, CHECKS_SCHEMA)


def _or_null(schema: JsonObject) -> JsonObject:
    return {"anyOf": [schema, {"type": "null"}]}


CHECKS_SCHEMA = closed(
    checks={
        "type": "array",
        "items": closed(
            id=TEXT,
            satisfied=_or_null(TRUTH),
            score=_or_null(WHOLE),
            reasoning=TEXT,
            evidence_step=_or_null(WHOLE),
            quote=_or_null(TEXT),
            absent=TRUTH,
            cannot_determine=TRUTH,
        ),
    },
    overall_reasoning=TEXT,
    confidence=NUMBER,
)
"""The form of an answer to checks, as `VERDICT_SCHEMA` is that of a verdict."""
