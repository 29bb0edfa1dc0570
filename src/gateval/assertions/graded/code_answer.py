"""Reads what a code judge printed: one JSON object with a score, or with assertions."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateval.assertions.own.program import first_mistake
from gateval.domain.base import canonical_json
from gateval.domain.text.strict_json import NotStrictJson, read_json

_LISTED = 200


class CodeAnswer(NamedTuple):
    """A score in [0, 1], what is said about it, and whether it passed where that is said too."""

    score: float
    words: str
    passed: bool | None = None


class _Told(BaseModel):
    """Further keys are the program's own (`details`), as its makers' documents allow."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


class _Point(_Told):
    text: str
    passed: bool


class _Printed(_Told):
    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    hits: tuple[str, ...] = Field(default=(), max_length=_LISTED)
    misses: tuple[str, ...] = Field(default=(), max_length=_LISTED)
    reasoning: str | None = None
    assertions: tuple[_Point, ...] = Field(default=(), max_length=_LISTED)
    verdict: Literal["pass", "borderline", "fail"] | None = None


def read_code_answer(printed: bytes, *, plain: bool = False) -> CodeAnswer:
    """Return what a program that ended well said; with `plain`, a text that is no JSON is a 1.

    Raises `ValueError` with the end of a sentence for anything else.
    """
    try:
        text = printed.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    try:
        value = read_json(text)
    except NotStrictJson as error:
        if plain:
            return CodeAnswer(1.0, text)
        raise ValueError(f"it is no JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object with `score`")  # noqa: TRY004 - one kind
    try:
        return _answer(_Printed.model_validate_json(canonical_json(value)))
    except ValidationError as error:
        raise ValueError(first_mistake(error)) from None


def _answer(told: _Printed) -> CodeAnswer:
    score = told.score
    if score is None:
        if not told.assertions:
            raise ValueError("it has neither `score` nor `assertions`")
        score = sum(one.passed for one in told.assertions) / len(told.assertions)
    missed = [*told.misses, *(one.text for one in told.assertions if not one.passed)]
    parts = [told.reasoning or "", f"missed: {'; '.join(missed)}" if missed else ""]
    words = ". ".join(part for part in parts if part)
    return CodeAnswer(score, words, None if told.verdict is None else told.verdict == "pass")
