"""The parts of a template: read by Jinja2's parser; a part that is not on the list is refused."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from gateval.domain.repository.place import nearest

if TYPE_CHECKING:
    from jinja2 import nodes

SOURCE_LIMIT = 4_000
"""Characters of one template."""

PARTS_LIMIT = 200
"""Parts (names, steps, filters, texts) of one template."""

FILTERS = ("default", "tojson", "trim")

_KNOWN = "`prompt`, `messages`, `input.type` and `input.payload`"


class TemplateError(ValueError):
    """A template cannot be used. The text is a clause, without a full stop."""


@functools.lru_cache(maxsize=256)
def parsed(source: str) -> tuple[nodes.Expr, ...]:
    """Return the texts and expressions of a template, all of them known to be harmless."""
    from jinja2 import Environment, TemplateSyntaxError, nodes

    if len(source) > SOURCE_LIMIT:
        raise TemplateError(f"a template may have {SOURCE_LIMIT:,} characters")
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
            path = path_of(node)
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


def path_of(node: nodes.Expr) -> list[str | int]:
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
    fine = fine or path[0] == "messages"
    if not fine:
        raise TemplateError(f"a template does not know `{shown}`; it knows {_KNOWN}")
    if any(isinstance(step, str) and step.startswith("__") for step in path):
        raise TemplateError(f"`{shown}`: a name cannot begin with two underscores")


def is_text(node: nodes.Expr) -> bool:
    """Whether it stands there literally."""
    from jinja2 import nodes

    return isinstance(node, nodes.TemplateData)
