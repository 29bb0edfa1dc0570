"""Templates of requests: `{{ prompt }}`, `{{ input.type }}`, `{{ input.payload.order | tojson }}`.

The language is a small part of Jinja2's, read by Jinja2's own parser and evaluated here: nothing is
compiled, nothing of Python can be reached, and there is no arithmetic, loop, macro or call whose
cost could grow. What is not on the list is refused when the manifest is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue

from gateval.candidates.bounded.template_parts import (
    PARTS_LIMIT,
    SOURCE_LIMIT,
    TemplateError,
    is_text,
    parsed,
    path_of,
)
from gateval.domain.base import JsonObject, canonical_json

if TYPE_CHECKING:
    from jinja2 import nodes

RENDERED_LIMIT = 4 * 1024 * 1024
"""Characters of all that one request is made of."""

_PLACEHOLDER = re.compile(
    r"\{\{ ?(?:prompt|input\.type|input\.payload(?:\.[a-zA-Z][a-zA-Z0-9_]*){0,9})"
    r"(?: ?\| ?tojson)? ?\}\}"
)


@dataclass
class Budget:
    """How many characters may still be rendered."""

    left: int = RENDERED_LIMIT

    def spend(self, text: str) -> str:
        """Return `text`, counted. Raises `TemplateError`."""
        self.left -= len(text)
        if self.left < 0:
            raise TemplateError(f"the request would have more than {RENDERED_LIMIT:,} characters")
        return text


def check(source: str) -> None:
    """Raise `TemplateError` unless `source` is a template that may be rendered.

    The usual ones are told by their look: Jinja2 takes 50 ms to import, and planning need not.
    """
    usual = len(source) <= SOURCE_LIMIT and source.count("{{") <= PARTS_LIMIT // 20
    if not usual or re.search(r"\{[{%#]", _PLACEHOLDER.sub("", source)):
        parsed(source)


def render(source: str, values: JsonObject, budget: Budget) -> JsonValue:
    """Return the text that a template makes of `values` (`prompt` and `input`).

    A template that is one expression and nothing else gives its value: a number stays a number.
    Raises `TemplateError` when the values lack what it names, or the budget is spent.
    """
    parts = parsed(source)
    if len(parts) == 1 and not is_text(parts[0]):
        value = _value(parts[0], values)
        budget.spend(value if isinstance(value, str) else canonical_json(value))
        return value
    return "".join(budget.spend(_text(_value(part, values))) for part in parts)


def render_text(source: str, values: JsonObject, budget: Budget) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a template as text, each with whether it stands there literally."""
    for part in parsed(source):
        yield budget.spend(_text(_value(part, values))), is_text(part)


def _value(node: nodes.Expr, values: JsonObject) -> JsonValue:
    from jinja2 import nodes

    if isinstance(node, nodes.TemplateData):
        return node.data
    if isinstance(node, nodes.Const):
        return cast("JsonValue", node.value)
    if not isinstance(node, nodes.Filter):
        return _found(path_of(node), values)
    inner = cast("nodes.Expr", node.node)
    if node.name == "default":
        try:
            return _value(inner, values)
        except TemplateError:
            return cast("JsonValue", cast("nodes.Const", node.args[0]).value)
    value = _value(inner, values)
    return canonical_json(value) if node.name == "tojson" else _text(value).strip()


def _found(path: list[str | int], values: JsonObject) -> JsonValue:
    value: JsonValue = values
    for step in path:
        inner = _inside(value, step)
        if inner is None:
            shown = ".".join(str(one) for one in path)[:80]
            raise TemplateError(f"the fixture has no `{shown}`; add it, or write `| default('')`")
        value = inner[0]
    return value


def _inside(value: JsonValue, step: str | int) -> tuple[JsonValue] | None:
    """Return what stands in `value` under a key or at a place, in a tuple, or None."""
    if isinstance(value, dict):
        return (value[str(step)],) if str(step) in value else None
    if isinstance(value, list) and isinstance(step, int):
        return (value[step],) if step < len(value) else None
    return None


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
