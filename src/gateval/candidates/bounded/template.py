"""Templates of requests: `{{ prompt }}`, `{{ input.type }}`, `{{ input.payload.order | tojson }}`.

The language is a small part of Jinja2's, read by Jinja2's own parser and evaluated here: nothing is
compiled, nothing of Python can be reached, and there is no arithmetic, loop, macro or call whose
cost could grow. What is not on the list is refused when the manifest is read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.place import nearest

if TYPE_CHECKING:
    from jinja2 import nodes

SOURCE_LIMIT = 4_000
"""Characters of one template."""

PARTS_LIMIT = 200
"""Parts (names, steps, filters, texts) of one template."""

RENDERED_LIMIT = 4 * 1024 * 1024
"""Characters of all that one request is made of."""

FILTERS = ("default", "tojson", "trim")

_PLACEHOLDER = re.compile(
    r"\{\{ ?(?:prompt|input\.type|input\.payload(?:\.[a-zA-Z][a-zA-Z0-9_]*){0,9})"
    r"(?: ?\| ?tojson)? ?\}\}"
)
_KNOWN = "`prompt`, `input.type` and `input.payload`"


class TemplateError(ValueError):
    """A template cannot be used. The text is a clause, without a full stop."""


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
        _parsed(source)


def render(source: str, values: JsonObject, budget: Budget) -> JsonValue:
    """Return the text that a template makes of `values` (`prompt` and `input`).

    A template that is one expression and nothing else gives its value: a number stays a number.
    Raises `TemplateError` when the values lack what it names, or the budget is spent.
    """
    parts = _parsed(source)
    if len(parts) == 1 and not _is_text(parts[0]):
        value = _value(parts[0], values)
        budget.spend(value if isinstance(value, str) else canonical_json(value))
        return value
    return "".join(budget.spend(_text(_value(part, values))) for part in parts)


def render_text(source: str, values: JsonObject, budget: Budget) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a template as text, each with whether it stands there literally."""
    for part in _parsed(source):
        yield budget.spend(_text(_value(part, values))), _is_text(part)


@functools.lru_cache(maxsize=256)
def _parsed(source: str) -> tuple[nodes.Expr, ...]:
    """Return the texts and expressions of a template, all of them known to be harmless."""
    from jinja2 import Environment, TemplateSyntaxError, nodes

    if len(source) > SOURCE_LIMIT:
        raise TemplateError(f"a template may have {SOURCE_LIMIT:,} characters")
    try:
        made = Environment(keep_trailing_newline=True, autoescape=False)  # noqa: S701 - only parses
        tree = made.parse(source)
    except TemplateSyntaxError as error:
        raise TemplateError(f"the template cannot be read: {(error.message or '')[:150]}") from None
    except (RecursionError, ValueError, MemoryError):
        raise TemplateError("the template cannot be read: nested too deeply, or a number too long")
    parts: list[nodes.Expr] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            word = type(node).__name__.lower()
            raise TemplateError(f"a template holds only `{{{{ … }}}}`, no statement (`{word}`)")
        parts += node.nodes
    _check_parts(parts)
    return tuple(parts)


def _check_parts(parts: list[nodes.Expr]) -> None:
    """Refuse every part that is not on the list, without recursion."""
    from jinja2 import nodes

    todo, seen = list(parts), 0
    while todo:
        node = todo.pop()
        seen += 1
        if isinstance(node, nodes.Filter):
            todo.append(_filtered(node))
        elif isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
            path = _path(node)
            seen += len(path)
            _check_path(path)
        elif not isinstance(node, nodes.TemplateData | nodes.Const):
            word = type(node).__name__.lower()
            raise TemplateError(
                f"`{word}` is not possible in a template; it may name {_KNOWN} and use the filters "
                f"{', '.join(FILTERS)}"
            )
        if seen > PARTS_LIMIT:
            raise TemplateError(f"a template may have {PARTS_LIMIT} parts")


def _filtered(node: nodes.Filter) -> nodes.Expr:
    from jinja2 import nodes

    if node.name not in FILTERS:
        known = ", ".join(FILTERS)
        raise TemplateError(
            f"unknown filter `{node.name[:60]}` (known: {known}).{nearest(node.name, FILTERS)}"
        )
    wanted = 1 if node.name == "default" else 0
    given = [*node.args, *node.kwargs, node.dyn_args, node.dyn_kwargs]
    constants = [one for one in given if isinstance(one, nodes.Const)]
    if len(constants) != wanted or any(one is not None for one in given if one not in constants):
        takes = "takes one constant, as in `default('')`" if wanted else "takes no arguments"
        raise TemplateError(f"the filter `{node.name}` {takes}")
    if node.node is None:
        raise TemplateError("a filter needs a value to work on")
    return node.node


def _path(node: nodes.Expr) -> list[str | int]:
    """Return the steps of `input.payload.items[0]`, its name first."""
    from jinja2 import nodes

    steps: list[str | int] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        if isinstance(node, nodes.Getattr):
            steps.append(node.attr)
        elif isinstance(node.arg, nodes.Const) and type(node.arg.value) in {str, int}:
            steps.append(node.arg.value)
        else:
            raise TemplateError("between brackets only a number, or a text in quotes, can stand")
        node = node.node
    if not isinstance(node, nodes.Name):
        raise TemplateError(f"only {_KNOWN} can be looked into")
    return [node.name, *reversed(steps)]


def _check_path(path: list[str | int]) -> None:
    shown = ".".join(str(step) for step in path)[:80]
    fine = path in (["prompt"], ["input"], ["input", "type"]) or path[:2] == ["input", "payload"]
    if not fine:
        raise TemplateError(f"a template does not know `{shown}`; it knows {_KNOWN}")
    if any(isinstance(step, str) and step.startswith("__") for step in path):
        raise TemplateError(f"`{shown}`: a name cannot begin with two underscores")


def _value(node: nodes.Expr, values: JsonObject) -> JsonValue:
    from jinja2 import nodes

    if isinstance(node, nodes.TemplateData):
        return node.data
    if isinstance(node, nodes.Const):
        return cast("JsonValue", node.value)
    if not isinstance(node, nodes.Filter):
        return _found(_path(node), values)
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


def _is_text(node: nodes.Expr) -> bool:
    from jinja2 import nodes

    return isinstance(node, nodes.TemplateData)
