"""Which keys a function reads of a request itself: of its JSON, its form, its query. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from gateval.domain.setup.invocation import PROMPT
from gateval.domain.setup.openapi import SOME_TEXT, takes_question
from gateval.domain.setup.server_modules import Function, called_by, text_of

_SETTING = re.compile(r"temperature|top_[pk]|max_\w+|limit|timeout\w*|stream\w*|seed")
"""How keys are called that hold a number or a switch, and are left out."""

_CHOICE = re.compile(r"(?i)model|provider|key$|token$|url$|password|file|image|agent")
"""How keys are called for which some text would not do."""

_LISTED = re.compile(r"(?:messages|history|conversation)$")

_PARTS = {
    "json": "json",
    "get_json": "json",
    "form": "form",
    "values": "form",
    "args": "query",
    "query_params": "query",
}
_HANDS_ON = frozenset({"to_dict", "copy", "dict"})


@dataclass(frozen=True)
class RequestReading:
    """The keys that a function reads, by the part of the request, each with how well it does
    without: not (0), as it may be (1), or by a default of its own (2).
    """

    found: dict[str, dict[str, int]]

    @staticmethod
    def of(function: Function, name: str = "") -> RequestReading:
        """Read a function, whose parameter of this `name` is the JSON of its request."""
        names = {name: "json"} if name else {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and (part := _part(node.value, names)):
                    names[target.id] = part
        found: dict[str, dict[str, int]] = {}
        for node in ast.walk(function):
            key: ast.expr | None = None
            of: ast.expr | None = None
            without = 0
            if isinstance(node, ast.Subscript):
                key, of = node.slice, node.value
            elif isinstance(node, ast.Call) and called_by(node) == "get" and node.args:
                key, of = node.args[0], getattr(node.func, "value", None)
                without = len(node.args)
            if (text := text_of(key)) and (part := _part(of, names)):
                each = found.setdefault(part, {})
                each[text] = min(each.get(text, 2), without)
        return RequestReading(found)

    def keys(self, part: str) -> dict[str, Any]:
        """Return the keys of a part that have to be there or may take a question, with values."""
        return {
            key: [] if _LISTED.search(key) else SOME_TEXT
            for key, without in self.found.get(part, {}).items()
            if takes_question(key)
            or (not _SETTING.fullmatch(key) and without <= (not _CHOICE.search(key)))
        }


def _part(node: ast.expr | None, names: dict[str, str]) -> str:
    """Return which part of the request an expression is, "" for none."""
    if isinstance(node, ast.Await):
        return _part(node.value, names)
    if isinstance(node, ast.BoolOp):
        return _part(node.values[0], names)
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        return _PARTS.get(node.attr, "") if _is_request(node.value) else ""
    if not isinstance(node, ast.Call):
        return ""
    if called_by(node) == "loads" and node.args and "request" in ast.unparse(node.args[0]).lower():
        return "json"
    if called_by(node) in _HANDS_ON:
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        return _part(inner, names)
    return _part(node.func, names) if isinstance(node.func, ast.Attribute) else ""


def _is_request(node: ast.expr) -> bool:
    return bool(re.search(r"(?i)^(?:\w*req\w*|r)$", ast.unparse(node)))


def refused_without(function: ast.AST, name: str) -> set[str]:
    """Return the fields of a parameter of this name without which a handler raises an error."""
    found = set()
    for node in ast.walk(function):
        if not (isinstance(node, ast.If) and any(isinstance(one, ast.Raise) for one in node.body)):
            continue
        whole = node.test
        several = isinstance(whole, ast.BoolOp) and isinstance(whole.op, ast.Or)
        tests = whole.values if isinstance(whole, ast.BoolOp) and several else [whole]
        for test in tests:
            held = test.operand if isinstance(test, ast.UnaryOp) else test
            if isinstance(held, ast.Compare) and isinstance(held.ops[0], ast.Is):
                held = held.left
            elif not isinstance(test, ast.UnaryOp):
                continue
            if isinstance(held, ast.Call) and called_by(held) == "strip":
                held = getattr(held.func, "value", held)
            if isinstance(held, ast.Attribute) and ast.unparse(held.value) == name:
                found.add(held.attr)
    return found


_SPEAKERS = frozenset({"role", "sender", "author", "from", "speaker", "type"})
_TALK = re.compile(r"(?i)messag|histor|conversation|turns|dialog|chat|transcript|thread")


def listed_in(function: ast.AST, name: str) -> list[dict[str, str]]:
    """Return a list with one part of what a handler goes through under this name, where it reads
    other keys of each than a conversation has; an empty one for any other.
    """
    held = {name}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_called(node.value, {name}):
            held |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    through = {
        node.target.id
        for node in ast.walk(function)
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
        and isinstance(node.target, ast.Name)
        and _is_called(node.iter, held)
    }
    keys = [key for node in ast.walk(function) if (key := _key_of(node, through))]
    texts = [one for one in ("content", "text", "message", "body") if one in keys]
    spoken = _TALK.search(name) or _SPEAKERS - {"type"} & {*keys}
    if not texts or not spoken or {*keys} <= {"role", "content"}:
        return []
    part = {one: "user" if one in _SPEAKERS else "text" for one in dict.fromkeys(keys)}
    return [{**part, texts[0]: PROMPT}]


def _is_called(node: ast.expr, names: Container[str]) -> bool:
    """Whether a value is one of these names, or an attribute or a key of that name."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute):
        return node.attr in names
    return isinstance(node, ast.Subscript) and text_of(node.slice) in names


def _key_of(node: ast.AST, names: Container[str]) -> str:
    """Return the key that is read of one of these names, "" for none."""
    if isinstance(node, ast.Subscript):
        held, key = node.value, node.slice
    elif isinstance(node, ast.Call) and called_by(node) == "get" and node.args:
        held, key = getattr(node.func, "value", node.func), node.args[0]
    else:
        return ""
    return text_of(key) if isinstance(held, ast.Name) and held.id in names else ""
