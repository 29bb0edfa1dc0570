"""Templates of requests: `{{ prompt }}`, `{{ input.type }}`, `{{ input.payload.order | tojson }}`.

The language is a small part of Jinja2's, read by Jinja2's own parser and evaluated in
`formats/templates`: there is no arithmetic, loop, macro or call whose cost could grow. What is not
on the list is refused when the manifest is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.templates.parts import PARTS_LIMIT, Names, parsed
from gateval.formats.templates.render import Budget, fill, text_of

__all__ = ["Budget", "check", "render", "render_text"]

SOURCE_LIMIT = 4_000
"""Characters of one template."""

_REQUEST = Names(
    whole=(("prompt",), ("playground",), ("input",), ("input", "type")),
    inside=(("input", "payload"), ("messages",)),
    known="`prompt`, `messages`, `playground`, `input.type` and `input.payload`",
    holder="the fixture has no",
    limit=SOURCE_LIMIT,
)

_PLACEHOLDER = re.compile(
    r"\{\{ ?(?:prompt|playground|input\.type|input\.payload(?:\.[a-zA-Z][a-zA-Z0-9_]*){0,9})"
    r"(?: ?\| ?tojson)? ?\}\}"
)


def check(source: str) -> None:
    """Raise `TemplateError` unless `source` is a template that may be rendered.

    The usual ones are told by their look: Jinja2 takes 50 ms to import, and planning need not.
    """
    usual = len(source) <= SOURCE_LIMIT and source.count("{{") <= PARTS_LIMIT // 20
    if not usual or re.search(r"\{[{%#]", _PLACEHOLDER.sub("", source)):
        parsed(source, _REQUEST)


def render(source: str, values: JsonObject, budget: Budget) -> JsonValue:
    """Return the text that a template makes of `values` (`prompt` and `input`).

    A template that is one expression and nothing else gives its value: a number stays a number.
    Raises `TemplateError` when the values lack what it names, or the budget is spent.
    """
    return fill(source, _REQUEST, values, budget)


def render_text(source: str, values: JsonObject, budget: Budget) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a template as text, each with whether it stands there literally."""
    for part in parsed(source, _REQUEST):
        yield budget.spend(text_of(part, _REQUEST, values)), isinstance(part, str)
