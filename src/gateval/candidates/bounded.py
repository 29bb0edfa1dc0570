"""Templates and JSONPath (RFC 9535) from a pull request, at a bounded cost.

The library walks whatever it is told to. So an expression is refused, when the manifest is read,
unless its cost is linear in the document: one selector between brackets, one `..`, filters that
compare single values, and none of the functions that take a regular expression. And an expression
that looks at many values is not tried on a document of very many.

The language is a small part of Jinja2's, read by Jinja2's own parser and evaluated in
`formats/templates`: there is no arithmetic, loop, macro or call whose cost could grow. What is not
on the list is refused when the manifest is read.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import DEPTH_LIMIT
from gateval.formats.templates import PARTS_LIMIT, Budget, Expression, Names, fill, parsed, text_of

if TYPE_CHECKING:
    from jsonpath_rfc9535 import JSONPathQuery, JSONValue


EXPRESSION_LIMIT = 300
"""Characters of one expression."""

WORK_LIMIT = 1_000_000
"""Values of the document times parts of the expression; about two seconds."""

_SINGLE = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]{1,6}\])*")
_COSTLY = {"match", "search", "count"}


class PathError(ValueError):
    """An expression cannot be used, or not on this document. A clause, without a full stop."""


class Nothing(PathError):
    """The expression names no value of the document."""


def check_path(expression: str) -> None:
    """Raise `PathError` unless the expression may be used. Plain ones are told by their look: the
    library takes 50 ms to import, and planning need not.
    """
    if len(expression) > EXPRESSION_LIMIT or not _SINGLE.fullmatch(expression):
        _compiled(expression)


def find(expression: str, document: JsonValue) -> JsonValue:
    """Return the one value that the expression names. `document` is what `strict_json.read_json`
    gave. Raises `Nothing` for no value, and `PathError` for more than one or for too much work.
    """
    query, parts = _compiled(expression)
    if not query.singular_query() and _count(document) * parts > WORK_LIMIT:
        raise PathError(
            f"`{expression}` would look at too many values; name the way to the value without `..`,"
            " `*` or a filter, or answer with less"
        )
    nodes = itertools.islice(query.finditer(cast("JSONValue", document)), 2)
    found = [cast("JsonValue", node.value) for node in nodes]
    if not found:
        raise Nothing(f"nothing stands at `{expression}`")
    if len(found) > 1:
        raise PathError(f"`{expression}` names more than one value; write one that names one")
    return found[0]


@functools.lru_cache(maxsize=256)
def _compiled(expression: str) -> tuple[JSONPathQuery, int]:
    """Return the query and the number of its parts, which is what one value can cost."""
    from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError

    class Bounded(JSONPathEnvironment):
        max_recursion_depth = DEPTH_LIMIT + 2

    if len(expression) > EXPRESSION_LIMIT:
        raise PathError(f"a JSONPath may have {EXPRESSION_LIMIT} characters")
    try:
        query = Bounded().compile(expression)
    except (JSONPathError, RecursionError, ValueError) as error:
        why = str(error).partition(", line")[0][:150] or type(error).__name__
        raise PathError(f"no JSONPath of RFC 9535, such as `$.reply`: {why}") from None
    return query, _check_query(query)


def _check_query(query: JSONPathQuery) -> int:
    from jsonpath_rfc9535.segments import JSONPathRecursiveDescentSegment
    from jsonpath_rfc9535.selectors import FilterSelector

    descents = [one for one in query.segments if isinstance(one, JSONPathRecursiveDescentSegment)]
    if len(descents) > 1:
        raise PathError("`..` can stand in a JSONPath once")
    parts = 1
    for segment in query.segments:
        if len(segment.selectors) > 1:
            raise PathError("only one selector can stand between brackets")
        parts += 1
        for selector in segment.selectors:
            if isinstance(selector, FilterSelector):
                parts += sum(_check_expression(one) for one in _inside(selector.expression))
    return parts


def _inside(expression: Any) -> Iterator[Any]:
    """Yield an expression of a filter and everything in it."""
    todo = [expression]
    while todo:
        one = todo.pop()
        yield one
        parts = (getattr(one, name, None) for name in ("expression", "left", "right"))
        todo += (part for part in parts if part is not None)
        todo += getattr(one, "args", ())


def _check_expression(expression: Any) -> int:
    """Return what one part of a filter costs per value; refuse what has no bound."""
    name = getattr(expression, "name", None)
    if name in _COSTLY:
        raise PathError(f"the function `{name}` is not available; compare with `==` instead")
    query = getattr(expression, "query", None)
    if query is None:
        return 1
    if not query.singular_query():
        raise PathError("a filter can only look at single values, as in `[?@.type == 'text']`")
    return 1 + len(query.segments)


def _count(document: JsonValue) -> int:
    """Return how many values a document holds."""
    count, todo = 0, [document]
    while todo:
        value = todo.pop()
        count += 1
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return count


__all__ = ["Budget", "check_template", "render", "render_text"]

SOURCE_LIMIT = 4_000
"""Characters of one template."""

_REQUEST = Names(
    whole=(
        ("prompt",),
        ("playground",),
        ("input",),
        ("input", "type"),
        ("agent", "name"),
        ("agent", "file"),
        ("agent", "model"),
        ("agent", "system"),
    ),
    inside=(("input", "payload"), ("messages",)),
    known="`prompt`, `messages`, `playground`, `input.type`, `input.payload` and `agent.name`, "
    "`agent.file`, `agent.model`, `agent.system`",
    holder="the fixture has no",
    limit=SOURCE_LIMIT,
)

_SENT = _REQUEST._replace(inside=(*_REQUEST.inside, ("begun",)), known=f"`begun`, {_REQUEST.known}")
"""The same in a request to a server, beside what requests before it gave."""

_PLACEHOLDER = re.compile(
    r"\{\{ ?(?:prompt|playground|input\.type|agent\.(?:name|file|model|system)"
    r"|input\.payload(?:\.[a-zA-Z][a-zA-Z0-9_]*){0,9})"
    r"(?: ?\| ?tojson)? ?\}\}"
)


def check_template(source: str, *, sent: bool = False) -> None:
    """Raise `TemplateError` unless `source` is a template that may be rendered; one that is `sent`
    to a server may name what was `begun`. The usual ones are told by their look: Jinja2 takes 50 ms
    to import, and planning need not.
    """
    usual = len(source) <= SOURCE_LIMIT and source.count("{{") <= PARTS_LIMIT // 20
    if not usual or re.search(r"\{[{%#]", _PLACEHOLDER.sub("", source)):
        parsed(source, _SENT if sent else _REQUEST)


def begun_in(source: str) -> list[str]:
    """Return which names of what was begun a template takes, "" where it takes all."""
    if "begun" not in source or "{{" not in source:
        return []
    paths = [part.path for part in parsed(source, _SENT) if isinstance(part, Expression)]
    return ["".join(map(str, path[1:2])) for path in paths if path[:1] == ("begun",)]


def render(source: str, values: JsonObject, budget: Budget) -> JsonValue:
    """Return the text that a template makes of `values` (`prompt` and `input`).

    A template that is one expression and nothing else gives its value: a number stays a number.
    Raises `TemplateError` when the values lack what it names, or the budget is spent.
    """
    return fill(source, _SENT, values, budget)


def render_text(source: str, values: JsonObject, budget: Budget) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a template as text, each with whether it stands there literally."""
    for part in parsed(source, _SENT):
        yield budget.spend(text_of(part, _SENT, values)), isinstance(part, str)
