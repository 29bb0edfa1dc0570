"""Reads what an own check printed: one small JSON object, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field, ValidationError, model_validator

from gateval.domain.base import Value, canonical_json, plain_message
from gateval.domain.text.quoting import quote
from gateval.domain.text.strict_json import NotStrictJson, read_json

_SHOWN = 120
"""Characters shown of what is no JSON."""


class CheckAnswer(Value):
    """What a check found. `passed` decides if it is there, else `score` does."""

    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    passed: bool | None = None
    reason: str = Field(default="", max_length=10_000)
    steps: tuple[int, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.score is None and self.passed is None:
            raise ValueError("it has neither `score` nor `passed`")
        return self


def read_answer(printed: bytes, steps: Sequence[int]) -> CheckAnswer:
    """Return the answer of a check on a trial with these numbers of steps.

    Raises `ValueError` with the end of a sentence for anything but one JSON object of this form,
    and for a step that the trial does not have.
    """
    if not printed.strip():
        raise ValueError("it printed nothing on standard output")
    try:
        text = printed.decode("utf-8")
        value = read_json(text)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except NotStrictJson as error:
        raise ValueError(f"{error}; it printed {quote(text.strip()[:_SHOWN])}") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object with `score` or `passed`")  # noqa: TRY004 - one kind
    try:
        answer = CheckAnswer.model_validate_json(canonical_json(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        said = plain_message(first["msg"])
        raise ValueError(f"{at}: {said}" if at else said) from None
    wrong = [number for number in answer.steps if number not in steps]
    if wrong:
        known = f"{steps[0]} to {steps[-1]}"
        raise ValueError(f"it names step {wrong[0]}, and there are steps {known}")
    return answer
