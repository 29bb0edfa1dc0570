"""`fieldAccuracy`: how many fields of the answer, read as JSON, are as expected."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from gateval.assertions.base import PASS_SCORE, EvidenceAssertion, MinScore
from gateval.assertions.combinators import weighted_mean
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.assertions.matching import exact, json_equal, message, only_number, quoted
from gateval.domain.base import Spec, canonical_json
from gateval.domain.manifests.fixture import AnyWeight
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.text import show_figure, show_threshold
from gateval.domain.trials.trial import Assessment, Cause
from gateval.safe.legible import shorten

USUAL = ("YYYY-MM-DD", "DD-MMM-YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "MMM DD, YYYY", "DD MMM YYYY")
"""The formats that are tried where none is written, in this order."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PARTS = {
    "YYYY": r"(?P<year>\d{4})",
    "YY": r"(?P<short>\d{2})",
    "MMMM": r"(?P<word>[A-Za-z]{3,9})",
    "MMM": r"(?P<word>[A-Za-z]{3,9})",
    "MM": r"(?P<month>\d{1,2})",
    "M": r"(?P<month>\d{1,2})",
    "DD": r"(?P<day>\d{1,2})",
    "D": r"(?P<day>\d{1,2})",
}
_WHAT = {"year": "year", "short": "year", "word": "month", "month": "month", "day": "day"}
_TOKEN = re.compile("|".join(_PARTS))
_TIME = re.compile(r"(?<=\d)[T ]\d{1,2}:\d{2}.*$", re.DOTALL)


def read_date(text: str, formats: tuple[str, ...] = ()) -> date | None:
    """Return the day in a text by the first of `formats` that fits; None if none does.

    A format is made of YYYY, YY (from 2000 on), MMMM or MMM (an English name), MM, M, DD and D.
    """
    day = _TIME.sub("", text.strip()[:100])
    for one in formats or USUAL:
        found = re.fullmatch(_pattern(one), day)
        read = _date(found.groupdict()) if found else None
        if read is not None:
            return read
    return None


def is_date_format(written: str) -> bool:
    """Whether a format names a year, a month and a day, each once."""
    parts = [_PARTS[token.group()] for token in _TOKEN.finditer(written[:100])]
    names = sorted(_WHAT[part[4:].partition(">")[0]] for part in parts)
    return names == ["day", "month", "year"]


def _pattern(written: str) -> str:
    parts, at, named = [], 0, set()
    for token in _TOKEN.finditer(written[:100]):
        parts.append(re.escape(written[at : token.start()]))
        pattern = _PARTS[token.group()]
        name = pattern[3:].partition(">")[0]
        parts.append("(?!)" if name in named else pattern)
        named.add(name)
        at = token.end()
    return "".join([*parts, re.escape(written[at:])])


def _date(found: dict[str, str | None]) -> date | None:
    word, short = found.get("word"), found.get("short")
    month = _MONTHS.index(word[:3].lower()) + 1 if word and word[:3].lower() in _MONTHS else 0
    year = 2000 + int(short) if short else int(found.get("year") or 0)
    try:
        return date(year, month or int(found.get("month") or 0), int(found.get("day") or 0))
    except ValueError:
        return None


_PART = re.compile(r"[^.\[\]]+|\[\d{1,9}\]")
_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)


class ExpectedField(Spec):
    """A field of the answer, and how it is compared."""

    path: str = Field(
        pattern=r"^[^.\[\]]+(\.[^.\[\]]+|\[\d{1,9}\])*$",
        max_length=500,
        description="Where it stands: `order.items[0].sku`.",
    )
    match: Literal["exact", "numericTolerance", "date"] = Field(
        default="exact", description="How it is compared."
    )
    required: bool = Field(default=True, description="Whether it is missed where it lacks.")
    weight: AnyWeight = Field(default=1.0, description="How much it counts beside the others.")
    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="How far a number may be off."
    )
    relative: bool = Field(
        default=False, description="Whether `tolerance` is a share of the number expected."
    )
    formats: tuple[str, ...] = Field(
        default=(), max_length=20, description="Formats of dates: `YYYY-MM-DD`, `DD-MMM-YYYY`."
    )

    @model_validator(mode="after")
    def _fits_its_match(self) -> Self:
        if self.match != "numericTolerance" and (self.tolerance or self.relative):
            raise ValueError("`tolerance` goes with `match: numericTolerance`")
        if self.match != "date" and self.formats:
            raise ValueError("`formats` goes with `match: date`")
        wrong = next((one for one in self.formats if not is_date_format(one)), None)
        if wrong is not None:
            raise ValueError(f"`{wrong[:40]}` names no year, month and day, each once")
        return self


class FieldScore(NamedTuple):
    """The score of a field, None where it does not count; what is wrong with it, in words."""

    score: float | None
    words: str = ""


def mark(field: ExpectedField, expected: JsonValue, given: JsonValue) -> FieldScore:
    """Return the score of one field of `given`."""
    wanted, found = _at(expected, field.path), _at(given, field.path)
    if not wanted:
        return FieldScore(1.0)
    if not found:
        return FieldScore(0.0, "lacks") if field.required else FieldScore(None)
    if _equal(field, wanted[0], found[0]):
        return FieldScore(1.0)
    return FieldScore(0.0, f"{canonical_json(found[0])} in place of {canonical_json(wanted[0])}")


def json_in(text: str) -> JsonValue:
    """Return the first JSON object or list in a text: all of it, in a fence, or amid words.

    None where there is none.
    """
    fenced = _FENCE.search(text)
    for part in (text, fenced[1] if fenced else ""):
        value = _read(part)
        if isinstance(value, dict | list):
            return value
    start = text.find("{")
    end = _end(text, start) if start >= 0 else -1
    return _read(text[start:end]) if end > 0 else None


def _read(text: str) -> JsonValue:
    try:
        return read_json(text)
    except NotStrictJson:
        return None


def _end(text: str, start: int) -> int:
    """Where the object that begins at `start` ends; -1 if it does not."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        char = text[at]
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
            continue
        quoted = char == '"'
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth == 0:
            return at + 1
    return -1


def _at(value: JsonValue, path: str) -> tuple[JsonValue, ...]:
    """Return the value at a path, alone; nothing where there is none."""
    for part in _PART.findall(path):
        key = part.strip("[]")
        is_place = part.startswith("[") or (key.isascii() and key.isdigit())
        if isinstance(value, list) and is_place and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and part in value and not part.startswith("["):
            value = value[part]
        else:
            return ()
    return (value,)


def _equal(field: ExpectedField, wanted: JsonValue, found: JsonValue) -> bool:
    if field.match == "numericTolerance":
        one, other = _number(wanted), _number(found)
        if one is None or other is None:
            return False
        allowed = exact(field.tolerance) * (abs(one) if field.relative else 1)
        return abs(one - other) <= allowed
    if field.match == "date":
        if not isinstance(wanted, str) or not isinstance(found, str):
            return False
        day = read_date(wanted, field.formats)
        return day is not None and day == read_date(found, field.formats)
    return json_equal(wanted, found)


def _number(value: JsonValue) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return exact(value)
    return only_number(value) if isinstance(value, str) else None


_SHOWN = 5


class FieldAccuracy(EvidenceAssertion):
    """The weighted share of the message's fields that are as expected is at least `minScore`.

    The message is read as JSON, in a fence or amid other text too. A field is compared with the
    same field of `expected`, or of the reference's answer. A field that is not expected to be there
    is a hit, whatever the message has; one that lacks is missed if it is `required`, else it does
    not count. With `allOrNothing`, one that is missed makes the score 0. A message without JSON
    scores 0.
    """

    fields: tuple[ExpectedField, ...] = Field(
        min_length=1, max_length=500, description="The fields, each with how it is compared."
    )
    aggregation: Literal["weightedAverage", "allOrNothing"] = Field(
        default="weightedAverage", description="How the fields make one score."
    )
    expected: JsonValue = Field(
        default=None, description="The JSON expected; without it, the reference's answer."
    )
    min_score: MinScore = PASS_SCORE

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        wanted = self._wanted(evidence)
        text = message(evidence)
        given = json_in(text)
        if given is None:
            score, saw = 0.0, f"a final message without JSON: {quoted(text)}"
        else:
            marks = [(field, mark(field, wanted, given)) for field in self.fields]
            counted = [(field.weight, one.score) for field, one in marks if one.score is not None]
            score = weighted_mean(counted)
            if self.aggregation == "allOrNothing":
                score = float(all(each == 1 for _, each in counted))
            wrong = [
                shorten(f"{field.path}: {one.words}", 120) for field, one in marks if one.words
            ]
            saw = show_figure(score, self.min_score)
            saw += f" ({'; '.join(wrong[:_SHOWN])})" if wrong else ""
        least = self.min_score
        expected = f"fields worth at least {show_threshold(least)} to be as expected"
        return self.graded(score, least=least, expected=expected, saw=saw, steps=evidence.final)

    def _wanted(self, evidence: Evidence) -> JsonValue:
        wanted = self.expected if self.expected is not None else evidence.reference.wanted
        if isinstance(wanted, str):
            wanted = json_in(wanted)
        if wanted is None:
            raise CannotEvaluate(
                Cause.GATE,
                "there is no JSON to compare the fields with; write `expected`, or an answer that "
                "is JSON in the fixture's `reference`",
            )
        return wanted
