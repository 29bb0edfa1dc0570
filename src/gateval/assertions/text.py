"""Assertions on the text of the final message.

`similar`: the final message is like a reference, by letters, by words or by meaning.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from gateval.assertions.base import AssessmentContext, EvidenceAssertion, Priced
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.assertions.matching import (
    FieldPath,
    NoText,
    bleu,
    compiled,
    exact,
    json_at,
    json_equal,
    levenshtein,
    message,
    numbers_in,
    only_number,
    quoted,
    refuse_longer,
    rouge_l,
    text_at,
    where,
)
from gateval.assertions.schemas import compiled_schema, mismatches, text_limit
from gateval.domain.base import JsonObject, ModelName, canonical_json
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.trial import Assessment, Cause
from gateval.safe.legible import shorten

if TYPE_CHECKING:
    from gateval.domain.trials.model_call import Usage
    from gateval.ports.model_calls import Embed


class OnMessage(EvidenceAssertion, ABC):
    """An assertion on the final message, or a field of it; it rests on that step."""

    def assess(self, evidence: Evidence) -> Assessment:
        """Look at the message. Where what is looked at is not there, it is absent."""
        try:
            met, saw = self._look(evidence)
        except NoText as lack:
            return self.absent(expected=self._expected, saw=str(lack), steps=evidence.final)
        return self.result(met=met, expected=self._expected, saw=saw, steps=evidence.final)

    @property
    @abstractmethod
    def _expected(self) -> str:
        """What is expected, as a part of a sentence."""

    @abstractmethod
    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        """Whether it is met, and what was seen. Raises `NoText` and `CannotEvaluate`."""


class Contains(OnMessage):
    """The text stands somewhere in the agent's final message, letter by letter.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    value: str = Field(min_length=1, description="The text to find.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    @property
    def _expected(self) -> str:
        return f"{quoted(self.value)} in {where(self.field)}"

    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        text = text_at(evidence, self.field)
        return holds(text, self.value, ignore_case=self.ignore_case), quoted(text)


def holds(text: str, part: str, *, ignore_case: bool) -> bool:
    """Whether `part` stands in `text`."""
    return part.casefold() in text.casefold() if ignore_case else part in text


class NotContains(OnMessage):
    """The text stands nowhere in the agent's final message.

    With `field`, a message that is no JSON or lacks the field fails too: where there is nothing to
    look at, nothing can be shown to be absent.
    """

    value: str = Field(min_length=1, description="The text that must not be there.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    @property
    def _expected(self) -> str:
        return f"no {quoted(self.value)} in {where(self.field)}"

    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        text = text_at(evidence, self.field)
        return not holds(text, self.value, ignore_case=self.ignore_case), quoted(text)


_SHOWN = 200


class StartsWith(OnMessage):
    """The agent's final message begins with the text, white space around both ignored.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    at_end: ClassVar[bool] = False

    value: str = Field(min_length=1, description="The text to find.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    @property
    def _expected(self) -> str:
        verb = "end" if self.at_end else "start"
        return f"{where(self.field)} to {verb} with {quoted(self.value)}"

    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        text, value = text_at(evidence, self.field).strip(), self.value.strip() or self.value
        ours, theirs = (text.casefold(), value.casefold()) if self.ignore_case else (text, value)
        if not self.at_end:
            return ours.startswith(theirs), quoted(text)
        more = "…" if len(text) > _SHOWN else ""
        return ours.endswith(theirs), f'"{more}{shorten(text[-_SHOWN:], _SHOWN)}"'


class EndsWith(StartsWith):
    """The agent's final message ends with the text, white space around both ignored.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    at_end: ClassVar[bool] = True


class Equals(OnMessage):
    """The agent's final message, or a field of it, equals the value.

    A text is compared with the whole message letter by letter, white space around it ignored. Any
    other value is compared with the message read as JSON, and with `field` every value is compared
    with that field: the order of keys does not matter, 1 equals 1.0 but not "1".
    """

    value: JsonValue = Field(description="A text, or any JSON value.")
    field: FieldPath = None

    @property
    def _expected(self) -> str:
        return f"{where(self.field)} to equal {_shown(self.value)}"

    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        if self.field is None and isinstance(self.value, str):
            text = message(evidence)
            return text.strip() == self.value.strip(), quoted(text)
        found = json_at(evidence, self.field)
        return json_equal(self.value, found), _shown(found)


def _shown(value: JsonValue) -> str:
    """Texts in quotes, everything else as JSON: `10482` is not `"10482"`."""
    return (
        quoted(value) if isinstance(value, str) else shorten(json.dumps(value, ensure_ascii=False))
    )


class IsJson(OnMessage):
    """The agent's final message is one JSON value and nothing else.

    With `field`, that field is there as well, whatever it holds. What JSON readers disagree on is
    refused: a key that stands there twice, `NaN`, text around the value such as a code fence. The
    form of the JSON is for `jsonSchema`.
    """

    field: FieldPath = None

    @property
    def _expected(self) -> str:
        return "a final message that is JSON" + (
            f" with the field `{self.field}`" if self.field else ""
        )

    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        try:
            json_at(evidence, self.field)
        except NoText as lack:
            return False, str(lack)
        return True, quoted(message(evidence))


class JsonSchema(OnMessage):
    """The agent's final message, or a field of it, is JSON that fits the schema.

    JSON Schema 2020-12 unless `$schema` names 2019-09, draft-07 or draft-06. `format` is checked,
    and an unknown format is refused. References stay inside the schema (`#/$defs/NAME`) and may
    not go round in a circle; patterns have no look-around. A message that is no JSON, or says a
    key twice, fails. Up to three mismatches are named with their paths.
    """

    schema_: JsonObject = Field(alias="schema", description="The JSON Schema.")
    field: FieldPath = None

    @field_validator("schema_")
    @classmethod
    def _compiles(cls, schema: JsonObject) -> JsonObject:
        compiled_schema(canonical_json(schema))
        return schema

    @property
    def _expected(self) -> str:
        return f"{where(self.field)} to fit the schema"

    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        value = json_at(evidence, self.field)
        validator = compiled_schema(canonical_json(self.schema_))
        size, limit = len(canonical_json(value)), text_limit(validator)
        if size > limit:
            raise CannotEvaluate(
                Cause.GATE,
                f"{where(self.field)} has {size:,} characters; with this schema at most {limit:,} "
                "are checked",
            )
        wrong = mismatches(validator, value)
        return not wrong, "; ".join(wrong) or "that it does"


class Numeric(EvidenceAssertion):
    """The agent's final message, or a field of it, is the number, give or take `tolerance`.

    By default the message is the number and nothing else. `find: first` and `find: last` look for
    the first or last number in the text: `1,299.50`, `-3` and `2e-3` are numbers; what belongs to a
    word, a date or a version (`v2`, `2026-11-24`, `1.2.3`) is none. The comma parts thousands.
    Numbers are compared as decimals, so that 0.3 is within 0.1 of 0.2.
    """

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
        except NoText as lack:
            return self.absent(expected=expected, saw=str(lack), steps=evidence.final)
        met = abs(number - wanted) <= exact(self.tolerance)
        return self.result(met=met, expected=expected, saw=saw, steps=evidence.final)

    def _number(self, evidence: Evidence) -> tuple[Decimal, str]:
        value = json_at(evidence, self.field) if self.field else message(evidence)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return exact(value), f"{value}"
        if not isinstance(value, str):
            raise NoText("no number in what is no text")
        refuse_longer(value, self.field, "`numeric` looks through")
        only = only_number(value) if self.find == "whole" else None
        if only is not None:
            return only, quoted(value)
        found = [] if self.find == "whole" else numbers_in(value)
        if not found:
            raise NoText(f"no number in {quoted(value)}")
        number = found[0] if self.find == "first" else found[-1]
        return number, f"{number} in {quoted(value)}"


class Regex(OnMessage):
    r"""The pattern matches somewhere in the agent's final message.

    Patterns are RE2's (https://github.com/google/re2/wiki/Syntax): look-around and backreferences
    do not exist, and `\d`, `\w` and `\b` mean ASCII. `(?i)` ignores case, `(?s)` lets `.` match
    line breaks, `(?m)` lets `^` and `$` match at lines. Messages over 100,000 characters are not
    searched but reported as an error.
    """

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

    @property
    def _expected(self) -> str:
        return f"a match of /{self.pattern}/ in {where(self.field)}"

    def _look(self, evidence: Evidence) -> tuple[bool, str]:
        text = text_at(evidence, self.field)
        text = text.strip() if self.trim else text
        refuse_longer(text, self.field, "`regex` searches")
        found = compiled(self.pattern).search(text)
        return found is not None, quoted(text if found is None else found.group())


_MEASURES = {"levenshtein": levenshtein, "rouge-l": rouge_l, "bleu": bleu}
_SECONDS = 60


class Similar(EvidenceAssertion):
    """The agent's final message, or a field of it, is at least `min` like the text `to`.

    `levenshtein` compares characters: 1 minus the edits that lead from one to the other, over the
    length of the longer. `rouge-l` compares words: the F-measure of their longest common
    subsequence; case and punctuation do not matter. `bleu` compares runs of up to four words and
    punctuation marks, as the measure of machine translation does, for one sentence, smoothed.
    `embeddings` compares what a `model` makes of both texts: the cosine of the angle between their
    vectors, negative ones counting as 0; the call goes through the gate, which holds the key, and
    what the model does not measure is an error. White space around the texts is ignored. Likeness
    is not truth: "is" and "is not" are much alike.
    """

    to: str = Field(min_length=1, max_length=20_000, description="The text to compare with.")
    metric: Literal["levenshtein", "rouge-l", "bleu", "embeddings"] = Field(
        default="levenshtein", description="How likeness is measured."
    )
    model: ModelName | None = Field(
        default=None,
        description="The model that embeds both texts, as `provider/model-id`; for `embeddings`.",
    )
    min: float = Field(gt=0, le=1, description="The lowest likeness that passes, up to 1.")
    field: FieldPath = None
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    @model_validator(mode="after")
    def _names_a_model_for_embeddings(self) -> Self:
        if (self.metric == "embeddings") is not (self.model is not None):
            raise ValueError("`model` and `metric: embeddings` go together")
        return self

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Assertion`; it asks a model for embeddings."""
        if self.model is None:
            return await super().assess_in(evidence, spec, context)
        try:
            text, reference = self._texts(evidence)
        except NoText as lack:
            return self._nothing(lack, evidence), None
        if not text:
            return self._found(0.0, text, evidence), None
        likeness, usage = await embedded_likeness(context.embed, self.model, text, reference)
        return self._found(likeness, text, evidence), usage

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message; its score is the likeness."""
        try:
            text, reference = self._texts(evidence)
        except NoText as lack:
            return self._nothing(lack, evidence)
        return self._found(_MEASURES[self.metric](text, reference), text, evidence)

    @property
    def _expected(self) -> str:
        by = f"embeddings of {self.model}" if self.model else self.metric
        return f"{where(self.field)} at least {self.min:g} like {quoted(self.to)} by {by}"

    def _texts(self, evidence: Evidence) -> tuple[str, str]:
        """Return the text and the reference. Raises `NoText` and `CannotEvaluate`."""
        text = text_at(evidence, self.field).strip()
        refuse_longer(text, self.field, "`similar` compares")
        reference = self.to.strip()
        return (text.casefold(), reference.casefold()) if self.ignore_case else (text, reference)

    def _nothing(self, lack: NoText, evidence: Evidence) -> Assessment:
        return self.absent(expected=self._expected, saw=str(lack), steps=evidence.final)

    def _found(self, measured: float, text: str, evidence: Evidence) -> Assessment:
        likeness = min(1.0, measured)
        met = likeness >= self.min - 1e-9
        saw = f"{likeness:.3f} in {quoted(text)}"
        found = self.result(met=met, expected=self._expected, saw=saw, steps=evidence.final)
        return found.replace(score=likeness)


async def embedded_likeness(
    embed: Embed | None, model: str, text: str, reference: str
) -> tuple[float, Usage | None]:
    """Return how alike two texts are to a model, in [0, 1], and the tokens that it took: the cosine
    of the angle between its vectors for them. Raises `CannotEvaluate`.
    """
    import asyncio

    from gateval.ports.model_calls import ModelCallError, ModelCallFault

    if embed is None:
        raise CannotEvaluate(Cause.GATE, "no model can be asked for embeddings here")
    try:
        async with asyncio.timeout(_SECONDS):
            found = await embed(model, (text, reference))
    except TimeoutError:
        message = f"{model} gave no embeddings within {_SECONDS} seconds"
        raise CannotEvaluate(Cause.PROVIDER, message) from None
    except ModelCallError as error:
        ours = error.fault in {ModelCallFault.UNCONFIGURED, ModelCallFault.UNRECORDED}
        message = f"{model} gave no embeddings: {error.message}"
        raise CannotEvaluate(Cause.GATE if ours else Cause.PROVIDER, message) from None
    likeness = cosine(*found.vectors)
    if likeness is None:
        message = f"{model} gave embeddings that cannot be compared"
        raise CannotEvaluate(Cause.PROVIDER, message)
    return max(0.0, likeness), found.usage


def cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the cosine of the angle between two vectors, in [-1, 1].

    None where there is none: their lengths differ, one is zero, or a number is not finite.
    """
    if len(one) != len(other):
        return None
    product = math.hypot(*one) * math.hypot(*other)
    if not product or not math.isfinite(product):
        return None
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(one, other, strict=True)) / product))
