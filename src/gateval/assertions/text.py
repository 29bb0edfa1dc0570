"""Assertions on the text of the final message."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field, JsonValue, field_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.assertions.matching import (
    FieldPath,
    NoText,
    compiled,
    exact,
    json_at,
    json_equal,
    message,
    numbers_in,
    only_number,
    quoted,
    refuse_longer,
    text_at,
    where,
)
from gateval.assertions.schemas import compiled_schema, mismatches, text_limit
from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.prompt import shorten


class Contains(Assertion):
    """The text stands somewhere in the agent's final message, letter by letter.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    type: ClassVar[str] = "contains"

    value: str = Field(min_length=1, description="The text to find.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{quoted(self.value)} in {where(self.field)}"
        try:
            text = text_at(evidence, self.field)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        met = holds(text, self.value, ignore_case=self.ignore_case)
        return self.result(met=met, expected=expected, saw=quoted(text), steps=evidence.final)


def holds(text: str, part: str, *, ignore_case: bool) -> bool:
    """Whether `part` stands in `text`."""
    return part.casefold() in text.casefold() if ignore_case else part in text


class Edge(Assertion, ABC):
    """A text at one end of the final message, white space around the message ignored."""

    verb: ClassVar[str]

    value: str = Field(min_length=1, description="The text to find.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{where(self.field)} to {self.verb} {quoted(self.value)}"
        try:
            text = text_at(evidence, self.field).strip()
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        value = self.value.strip() or self.value
        if self.ignore_case:
            met = self.stands(text.casefold(), value.casefold())
        else:
            met = self.stands(text, value)
        saw = f'"{self.shown(text)}"'
        return self.result(met=met, expected=expected, saw=saw, steps=evidence.final)

    @abstractmethod
    def stands(self, text: str, value: str) -> bool:
        """Whether `value` stands at this end of `text`."""

    @abstractmethod
    def shown(self, text: str) -> str:
        """Return this end of the text, short and on one line."""


_SHOWN = 200


class EndsWith(Edge):
    """The agent's final message ends with the text, white space around both ignored.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    type: ClassVar[str] = "endsWith"
    verb: ClassVar[str] = "end with"

    def stands(self, text: str, value: str) -> bool:
        """See `Edge`."""
        return text.endswith(value)

    def shown(self, text: str) -> str:
        """See `Edge`."""
        kept = shorten(text[-_SHOWN:], _SHOWN)
        return f"…{kept}" if len(text) > _SHOWN else kept


class Equals(Assertion):
    """The agent's final message, or a field of it, equals the value.

    A text is compared with the whole message letter by letter, white space around it ignored. Any
    other value is compared with the message read as JSON, and with `field` every value is compared
    with that field: the order of keys does not matter, 1 equals 1.0 but not "1".
    """

    type: ClassVar[str] = "equals"

    value: JsonValue = Field(description="A text, or any JSON value.")
    field: FieldPath = None

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{where(self.field)} to equal {_shown(self.value)}"
        try:
            met, saw = self._compare(evidence)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        return self.result(met=met, expected=expected, saw=saw, steps=evidence.final)

    def _compare(self, evidence: Evidence) -> tuple[bool, str]:
        if self.field is None and isinstance(self.value, str):
            text = message(evidence)
            return text.strip() == self.value.strip(), quoted(text)
        found = json_at(evidence, self.field)
        return json_equal(self.value, found), _shown(found)


def _shown(value: JsonValue) -> str:
    """Texts in quotes, everything else as JSON: `10482` is not `"10482"`."""
    if isinstance(value, str):
        return quoted(value)
    return shorten(json.dumps(value, ensure_ascii=False))


class IsJson(Assertion):
    """The agent's final message is one JSON value and nothing else.

    With `field`, that field is there as well, whatever it holds. What JSON readers disagree on is
    refused: a key that stands there twice, `NaN`, text around the value such as a code fence. The
    form of the JSON is for `jsonSchema`.
    """

    type: ClassVar[str] = "isJson"

    field: FieldPath = None

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = "a final message that is JSON"
        expected += f" with the field `{self.field}`" if self.field else ""
        try:
            json_at(evidence, self.field)
        except NoText as absent:
            return self.result(met=False, expected=expected, saw=str(absent), steps=evidence.final)
        saw = quoted(message(evidence))
        return self.result(met=True, expected=expected, saw=saw, steps=evidence.final)


class JsonSchema(Assertion):
    """The agent's final message, or a field of it, is JSON that fits the schema.

    JSON Schema 2020-12 unless `$schema` names 2019-09, draft-07 or draft-06. `format` is checked,
    and an unknown format is refused. References stay inside the schema (`#/$defs/NAME`) and may
    not go round in a circle; patterns have no look-around. A message that is no JSON, or says a
    key twice, fails. Up to three mismatches are named with their paths.
    """

    type: ClassVar[str] = "jsonSchema"

    schema_: JsonObject = Field(alias="schema", description="The JSON Schema.")
    field: FieldPath = None

    @field_validator("schema_")
    @classmethod
    def _compiles(cls, schema: JsonObject) -> JsonObject:
        compiled_schema(canonical_json(schema))
        return schema

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{where(self.field)} to fit the schema"
        try:
            value = json_at(evidence, self.field)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        validator = compiled_schema(canonical_json(self.schema_))
        size, limit = len(canonical_json(value)), text_limit(validator)
        if size > limit:
            raise CannotEvaluate(
                Cause.GATE,
                f"{where(self.field)} has {size:,} characters; with this schema at most {limit:,} "
                "are checked",
            )
        wrong = mismatches(validator, value)
        saw = "; ".join(wrong) or "that it does"
        return self.result(met=not wrong, expected=expected, saw=saw, steps=evidence.final)


class NotContains(Assertion):
    """The text stands nowhere in the agent's final message.

    With `field`, a message that is no JSON or lacks the field fails too: where there is nothing to
    look at, nothing can be shown to be absent.
    """

    type: ClassVar[str] = "notContains"

    value: str = Field(min_length=1, description="The text that must not be there.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"no {quoted(self.value)} in {where(self.field)}"
        try:
            text = text_at(evidence, self.field)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        met = not holds(text, self.value, ignore_case=self.ignore_case)
        return self.result(met=met, expected=expected, saw=quoted(text), steps=evidence.final)


class Numeric(Assertion):
    """The agent's final message, or a field of it, is the number, give or take `tolerance`.

    By default the message is the number and nothing else. `find: first` and `find: last` look for
    the first or last number in the text: `1,299.50`, `-3` and `2e-3` are numbers; what belongs to a
    word, a date or a version (`v2`, `2026-11-24`, `1.2.3`) is none. The comma parts thousands.
    Numbers are compared as decimals, so that 0.3 is within 0.1 of 0.2.
    """

    type: ClassVar[str] = "numeric"

    value: float = Field(allow_inf_nan=False, description="The number expected.")
    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="How far off it may be, either way."
    )
    find: Literal["whole", "first", "last"] = Field(
        default="whole", description="Which number of a text is meant."
    )
    field: FieldPath = None

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        return self.against(exact(self.value), f"{self.value:g}", evidence)

    def against(self, wanted: Decimal, shown: str, evidence: Evidence) -> Assessment:
        """Assess with this number, which is shown so, as the one expected."""
        off = f" within {self.tolerance:g}" if self.tolerance else ""
        expected = f"{where(self.field)} to be {shown}{off}"
        try:
            number, saw = self._number(evidence)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        if number is None:
            saw = f"no number in {saw}"
            return self.absent(expected=expected, saw=saw, steps=evidence.final)
        met = abs(number - wanted) <= exact(self.tolerance)
        return self.result(met=met, expected=expected, saw=saw, steps=evidence.final)

    def _number(self, evidence: Evidence) -> tuple[Decimal | None, str]:
        value = json_at(evidence, self.field) if self.field else message(evidence)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return exact(value), f"{value}"
        if not isinstance(value, str):
            return None, "what is no text"
        refuse_longer(value, self.field, "`numeric` looks through")
        if self.find == "whole":
            return only_number(value), quoted(value)
        found = numbers_in(value)
        if not found:
            return None, quoted(value)
        number = found[0] if self.find == "first" else found[-1]
        return number, f"{number} in {quoted(value)}"


class Regex(Assertion):
    r"""The pattern matches somewhere in the agent's final message.

    Patterns are RE2's (https://github.com/google/re2/wiki/Syntax): look-around and backreferences
    do not exist, and `\d`, `\w` and `\b` mean ASCII. `(?i)` ignores case, `(?s)` lets `.` match
    line breaks, `(?m)` lets `^` and `$` match at lines. Messages over 100,000 characters are not
    searched but reported as an error.
    """

    type: ClassVar[str] = "regex"

    pattern: str = Field(min_length=1, max_length=1000, description="The pattern to search for.")
    field: FieldPath = None
    trim: bool = Field(
        default=False, description="Whether white space around the text is left aside."
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        compiled(pattern)
        return pattern

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"a match of /{self.pattern}/ in {where(self.field)}"
        try:
            text = text_at(evidence, self.field)
            text = text.strip() if self.trim else text
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        refuse_longer(text, self.field, "`regex` searches")
        found = compiled(self.pattern).search(text)
        saw = quoted(text) if found is None else quoted(found.group())
        return self.result(met=found is not None, expected=expected, saw=saw, steps=evidence.final)


class StartsWith(Edge):
    """The agent's final message begins with the text, white space around both ignored.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    type: ClassVar[str] = "startsWith"
    verb: ClassVar[str] = "start with"

    def stands(self, text: str, value: str) -> bool:
        """See `Edge`."""
        return text.startswith(value)

    def shown(self, text: str) -> str:
        """See `Edge`."""
        return shorten(text)
