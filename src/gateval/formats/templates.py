"""Templates: read by Jinja2's parser, filled in without compiling, at a limited size.

Jinja2 is asked once for each template. What is left of it are texts and paths with filters, which
cost a microsecond each time they are filled in.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.paths import nearest

if TYPE_CHECKING:
    from jinja2 import nodes


PARTS_LIMIT = 200
"""Parts (names, steps, filters, texts) of one template."""

FILTERS = ("default", "tojson", "trim")

Path: TypeAlias = tuple[str | int, ...]


class TemplateError(ValueError):
    """A template cannot be used. The text is a clause, without a full stop."""


class Names(NamedTuple):
    """What templates of one kind may name.

    `whole` are paths that can be named as they are, `inside` those that can be looked into, too.
    `known` says so in words; `holder` is what lacks a name that is not there. `limit` is the
    characters of one template.
    """

    whole: tuple[Path, ...]
    inside: tuple[Path, ...]
    known: str
    holder: str
    limit: int


class Expression(NamedTuple):
    """A value in a template: a path or, without one, a constant; `filters` each with its own."""

    path: Path
    constant: JsonValue
    filters: tuple[tuple[str, JsonValue], ...]


Part: TypeAlias = str | Expression


@functools.lru_cache(maxsize=256)
def parsed(source: str, names: Names) -> tuple[Part, ...]:
    """Return the texts and expressions of a template, all harmless. Raises `TemplateError`."""
    from jinja2 import Environment, TemplateSyntaxError, nodes

    if len(source) > names.limit:
        raise TemplateError(f"a template may have {names.limit:,} characters")
    try:
        made = Environment(keep_trailing_newline=True, autoescape=False)  # noqa: S701 - only parses
        tree = made.parse(source)
    except TemplateSyntaxError as error:
        raise TemplateError(
            f"the template cannot be read: {(error.message or '')[:150].rstrip('.')}"
        ) from None
    except (RecursionError, ValueError, MemoryError):
        raise TemplateError("the template cannot be read: nested too deeply, or a number too long")
    parts: list[nodes.Expr] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            word = type(node).__name__.lower()
            raise TemplateError(f"a template holds only `{{{{ … }}}}`, no statement (`{word}`)")
        parts += node.nodes
    _check_parts(parts, names)
    return tuple(_part(node) for node in parts)


def _part(node: nodes.Expr) -> Part:
    from jinja2 import nodes

    if isinstance(node, nodes.TemplateData):
        return node.data
    filters: list[tuple[str, JsonValue]] = []
    while isinstance(node, nodes.Filter):
        given = [one.value for one in node.args if isinstance(one, nodes.Const)]
        filters.append((node.name, cast("JsonValue", given[0] if given else None)))
        node = cast("nodes.Expr", node.node)
    constant = isinstance(node, nodes.Const | nodes.TemplateData)
    return Expression(
        path=() if constant else _path_of(node, ""),
        constant=node.as_const() if constant else None,
        filters=tuple(reversed(filters)),
    )


def _check_parts(parts: list[nodes.Expr], names: Names) -> None:
    """Refuse every part that is not on the list, without recursion."""
    from jinja2 import nodes

    todo, seen = list(parts), 0
    while todo:
        node = todo.pop()
        seen += 1
        if isinstance(node, nodes.Filter):
            todo.append(_filtered(node))
        elif isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
            path = _path_of(node, names.known)
            seen += len(path)
            _check_path(path, names)
        elif not isinstance(node, nodes.TemplateData | nodes.Const):
            word = type(node).__name__.lower()
            raise TemplateError(
                f"`{word}` is not possible in a template; it may name {names.known} and use the "
                f"filters {', '.join(FILTERS)}"
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


def _path_of(node: nodes.Expr, known: str) -> Path:
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
        raise TemplateError(f"only {known} can be looked into")
    return (node.name, *reversed(steps))


def _check_path(path: Path, names: Names) -> None:
    shown = ".".join(str(step) for step in path)[:80]
    fine = path in names.whole or any(path[: len(one)] == one for one in names.inside)
    if not fine:
        raise TemplateError(f"a template does not know `{shown}`; it knows {names.known}")
    if any(isinstance(step, str) and step.startswith("__") for step in path):
        raise TemplateError(f"`{shown}`: a name cannot begin with two underscores")


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
        other = {"agent": "the Agent has no", "begun": "the server did not give"}
        holder = other.get(lacking.partition(".")[0], names.holder)
        given = value if isinstance(value, dict) and lacking.startswith("begun.") else {}
        plain = [key for key in given if re.fullmatch(r"\w{1,40}", key, re.ASCII)]
        keys = ", ".join(f"`{key}`" for key in plain[:10])
        gave = f" (it gave {keys})" if keys else ""
        raise TemplateError(f"{holder} `{lacking}`{gave}; add it, or write `| default('')`")
    return value


def _found(path: tuple[str | int, ...], values: JsonObject) -> tuple[JsonValue, str]:
    """Return what is there, or what lacks it, and that in words."""
    value: JsonValue = values
    for step in path:
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return value, ".".join(str(one) for one in path)[:80]
    return value, ""


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else canonical_json(value)
