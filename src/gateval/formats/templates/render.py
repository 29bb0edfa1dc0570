"""Fills templates in: nothing is compiled, nothing of Python can be reached, sizes are limited."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.formats.templates.parts import Expression, Names, Part, TemplateError, parsed

RENDERED_LIMIT = 4 * 1024 * 1024
"""Characters of all that one request or one case is made of."""


@dataclass
class Budget:
    """How many characters may still be rendered; `what` they make up."""

    left: int = RENDERED_LIMIT
    what: str = "the request"

    def spend(self, text: str) -> str:
        """Return `text`, counted. Raises `TemplateError`."""
        self.left -= len(text)
        if self.left < 0:
            raise TemplateError(f"{self.what} would have more than {RENDERED_LIMIT:,} characters")
        return text


def fill(source: str, names: Names, values: JsonObject, budget: Budget) -> JsonValue:
    """Return what a template makes of `values`.

    A template that is one expression and nothing else gives its value: a number stays a number.
    Raises `TemplateError` when the values lack what it names, or the budget is spent.
    """
    return fill_parts(parsed(source, names), names, values, budget)


def fill_parts(
    parts: tuple[Part, ...], names: Names, values: JsonObject, budget: Budget
) -> JsonValue:
    """Do what `fill` does with a template that was read before."""
    if len(parts) == 1 and isinstance(parts[0], Expression):
        value = value_of(parts[0], names, values)
        budget.spend(_text(value))
        return value
    return "".join([budget.spend(text_of(part, names, values)) for part in parts])


def text_of(part: Part, names: Names, values: JsonObject) -> str:
    """Return one part of a template as text. Raises `TemplateError`."""
    return part if isinstance(part, str) else _text(value_of(part, names, values))


def value_of(part: Expression, names: Names, values: JsonObject) -> JsonValue:
    """Return the value of an expression. Raises `TemplateError` if it is not there."""
    value, lacking = part.constant, ""
    if part.path:
        value, lacking = _found(part.path, values)
    for name, constant in part.filters:
        if name == "default":
            value, lacking = (constant, "") if lacking else (value, "")
        elif not lacking:
            value = canonical_json(value) if name == "tojson" else _text(value).strip()
    if lacking:
        raise TemplateError(f"{names.holder} `{lacking}`; add it, or write `| default('')`")
    return value


def _found(path: tuple[str | int, ...], values: JsonObject) -> tuple[JsonValue, str]:
    """Return what is there, or what is lacking in words."""
    value: JsonValue = values
    for step in path:
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None, ".".join(str(one) for one in path)[:80]
    return value, ""


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else canonical_json(value)
