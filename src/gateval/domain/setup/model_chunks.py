"""Where the text stands in chunks of a model that a handler hands on as they come. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Function,
    arguments,
    called_by,
    keyword_of,
    name_of,
    text_of,
)

_WHOLE = "choices[0].delta.content"
_SHOWN = frozenset(
    {"dumps", "model_dump", "model_dump_json", "to_dict", "to_json", "dict", "jsonable_encoder"}
)
"""Calls that make an object or JSON of a chunk and leave it as it is."""


def chunk_path(value: ast.expr, function: Function, handler: Function) -> str:
    """Return the way to the text in what a function of a handler yields, if that is a chunk of Chat
    Completions or a part of one as JSON; "" for any other.
    """
    called = isinstance(value, ast.Call) and called_by(value) in _SHOWN
    return _path(value, (function, handler)) if called else ""


def _path(value: ast.expr | None, within: tuple[Function, Function], left: int = MOST_STEPS) -> str:
    if value is None or left <= 0:
        return ""
    if isinstance(value, ast.Call) and called_by(value) in _SHOWN:
        held = value.func.value if isinstance(value.func, ast.Attribute) else None
        given = value.args[0] if value.args else None
        return _path(given or held, within, left - 1)
    if isinstance(value, ast.Name):
        if _is_chunk(value.id, within):
            return _WHOLE
        set_to = _set_to(value.id, within[0])
        return next(filter(None, (_path(one, within, left - 1) for one in set_to)), "")
    if _part(value) == "delta":
        return "content" if _path(_of(value), within, left - 1) == "delta.content" else ""
    is_first = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant)
    if is_first and _part(_of(value)) == "choices":
        return "delta.content" if _path(_of(_of(value)), within, left - 1) == _WHOLE else ""
    return ""


def _part(value: ast.expr | None) -> str:
    """Return the key or the attribute that an expression reads of another."""
    if isinstance(value, ast.Subscript):
        return text_of(value.slice)
    return value.attr if isinstance(value, ast.Attribute) else ""


def _of(value: ast.expr | None) -> ast.expr | None:
    """Return what an expression reads a part of."""
    return value.value if isinstance(value, ast.Subscript | ast.Attribute) else None


def _is_chunk(name: str, within: tuple[Function, Function]) -> bool:
    """Whether a name is what a loop takes from a stream of a model."""
    return any(
        _is_stream(node.iter, within)
        for node in ast.walk(within[0])
        if isinstance(node, ast.For | ast.AsyncFor) and name_of(node.target) == name
    )


def _is_stream(
    value: ast.expr | None, within: tuple[Function, Function], left: int = MOST_STEPS
) -> bool:
    """Whether an expression is the stream of a call of Chat Completions: one of its own, or what
    the handler makes and gives.
    """
    if isinstance(value, ast.Await):
        return _is_stream(value.value, within, left)
    if isinstance(value, ast.Call):
        return _asks(value)
    if not isinstance(value, ast.Name) or left <= 0:
        return False
    function, handler = within
    if any(one.arg == value.id for one, _ in arguments(function)) and function is not handler:
        return any(isinstance(one, ast.Call) and _asks(one) for one in ast.walk(handler))
    set_to = [*_set_to(value.id, function), *_set_to(value.id, handler)]
    return any(_is_stream(one, within, left - 1) for one in set_to)


def _asks(call: ast.Call) -> bool:
    """Whether a call asks for chunks: that of the OpenAI SDK, or that of LiteLLM which is alike."""
    streams = keyword_of(call, "stream")
    chats = ast.unparse(call.func).endswith(".completions.create")
    alike = called_by(call) in {"completion", "acompletion"}
    return (chats or alike) and isinstance(streams, ast.Constant) and streams.value is True


def _set_to(name: str, function: Function) -> Iterator[ast.expr]:
    """Yield what a function sets a name to."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and name_of(node.targets[0]) == name:
            yield node.value
