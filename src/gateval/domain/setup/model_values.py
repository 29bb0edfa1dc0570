"""Some value of a type that a Python server names: models, choices, lists, numbers. Pure.

What a program says is read, never run. A value is a guess that its type accepts.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gateval.domain.setup.invocation import ASKED, PROMPT, QUESTIONS
from gateval.domain.setup.openapi import IDENTITY, SOME, SOME_TEXT, SOME_UUID, harmless
from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Model,
    Modules,
    called_by,
    keyword_of,
    name_of,
    text_of,
)

KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
"""Types that stand for themselves in JSON."""

_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "tuple", "set"})
_TOLD = {
    "datetime": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "EmailStr": "gateval@example.com",
    "HttpUrl": "https://example.com",
    "AnyHttpUrl": "https://example.com",
    "AnyUrl": "https://example.com",
    "Decimal": 1,
    "UUID": SOME_UUID,
    "UUID4": SOME_UUID,
}
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def names_identity(name: str) -> bool:
    """Whether a field says who or what something is: `userId`, `session_id`, `language`."""
    return bool(IDENTITY.search(_HUMP.sub("_", name).lower()))


@dataclass(frozen=True)
class Values:
    """Values of the types that the modules of a server name."""

    modules: Modules

    def model(self, path: str, name: str) -> Model | None:
        """Return the class of a name in the module at `path`, if it has fields."""
        found = self.modules.model(path, name) if name else None
        fields = found and (isinstance(one, ast.AnnAssign) for one in found[1].body)
        return found if fields and any(fields) else None

    def fields(self, model: Model, left: int, *, every: bool = False) -> dict[str, Any]:
        """Return the fields of a model that have to be there, with values; with those that may take
        a question, or `every` one.
        """
        path, made = model
        found: dict[str, Any] = {}
        for one in made.bases:
            base = self.modules.model(path, name_of(one)) if left else None
            if base and base != model:
                found |= self.fields(base, left - 1, every=every)
        for node in made.body:
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            field = node.target.id
            alias = (
                text_of(keyword_of(node.value, "alias")) if isinstance(node.value, ast.Call) else ""
            )
            if name_of(plain(node.annotation)) == "ClassVar" or field == "model_config":
                continue
            if every or needed(node.value) or field in ASKED:
                found[alias or field] = self.given(path, field, node.annotation, node.value, left)
        return found

    def given(
        self, path: str, name: str, kind: ast.expr | None, made: ast.expr | None, left: int
    ) -> Any:
        """Return the value of a field or parameter, as its example and its bounds want it."""
        value = self.value(path, plain(kind), left - 1)
        inner = plain(kind)
        texts = isinstance(inner, ast.Subscript) and name_of(plain(inner.slice)) == "str"
        if value == [] and texts and name in {*ASKED, *QUESTIONS}:
            value = [SOME_TEXT]
        for call in (one for one in (made, *beside(kind)) if isinstance(one, ast.Call)):
            for shown in _examples(call):
                if not isinstance(shown, str) or names_identity(name):
                    return harmless(shown)
            value = _within(value, call)
            wants = keyword_of(call, "min_length") or keyword_of(call, "min_items")
            if value == [] and wants and isinstance(inner, ast.Subscript):
                value = [self.value(path, plain(inner.slice), left - 1)]
        return value

    def value(self, path: str, kind: ast.expr | None, left: int = MOST_STEPS) -> Any:
        """Return some value of a type that the module at `path` names."""
        name = name_of(kind)
        if left <= 0 or kind is None:
            return SOME_TEXT
        if isinstance(kind, ast.Subscript) and name == "Literal":
            choices = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
            return choices[0].value if isinstance(choices[0], ast.Constant) else SOME_TEXT
        if name in _LISTS:
            inner = plain(kind.slice) if isinstance(kind, ast.Subscript) else None
            return self._listed(inner, left, path)
        if model := self.modules.model(path, name):
            values = [one.value for one in model[1].body if isinstance(one, ast.Assign)]
            if any("Enum" in name_of(base) for base in model[1].bases):
                return next(
                    (one.value for one in values if isinstance(one, ast.Constant)), SOME_TEXT
                )
            return self.fields(model, left - 1)
        return _TOLD.get(name) or SOME.get(
            KINDS.get(name, ""), {} if name in {"Dict", "Mapping"} else SOME_TEXT
        )

    def _listed(self, inner: ast.expr | None, left: int, path: str) -> Any:
        """Return a list with one message, or part of one, where a model of them is wanted; else an
        empty one.
        """
        model = self.model(path, name_of(inner))
        message = self.fields(model, left - 1) if model else {}
        for key in ("content", "text"):
            if message.get(key) == SOME_TEXT:
                message[key] = PROMPT
        if "parts" in message:
            message["parts"] = message["parts"] or [{"type": "text", "text": PROMPT}]
        if "role" not in message:
            return [{**message, "type": "text"}] if {*message} == {"type", "text"} else []
        simple = {*message} <= {"role", "content"} and message.get("content") == PROMPT
        return [] if simple or PROMPT not in json.dumps(message) else [{**message, "role": "user"}]


def beside(kind: ast.expr | None) -> list[ast.expr]:
    """Return what an `Annotated` has beside the type."""
    if isinstance(kind, ast.Subscript) and name_of(kind) == "Annotated":
        return kind.slice.elts[1:] if isinstance(kind.slice, ast.Tuple) else []
    return []


def _examples(call: ast.Call) -> Iterator[Any]:
    """Yield the examples that a field shows."""
    shown = [keyword_of(call, "example"), *getattr(keyword_of(call, "examples"), "elts", [])]
    for one in shown:
        try:
            if one is not None:
                value = ast.literal_eval(one)
                json.dumps(value)
                yield value
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue


def _within(value: Any, call: ast.Call) -> Any:
    """Return a number that is not below what a field wants."""
    for name, more in (("ge", 0), ("gt", 1)):
        least = keyword_of(call, name)
        bound = least.value if isinstance(least, ast.Constant) else None
        if type(value) in {int, float} and isinstance(bound, int | float):
            value = max(value, bound + more)
    return value


def needed(default: ast.expr | None, made: str = "Field") -> bool:
    """Whether a field with this default has to be given."""
    if default is None or (isinstance(default, ast.Constant) and default.value is ...):
        return True
    if not isinstance(default, ast.Call) or called_by(default) != made:
        return False
    if default.args:
        return isinstance(default.args[0], ast.Constant) and default.args[0].value is ...
    return not any(one.arg in {"default", "default_factory"} for one in default.keywords)


def plain(kind: ast.expr | None) -> ast.expr | None:
    """Return a type without what stands around it: `Annotated`, `Optional`, `| None`, quotes."""
    for _ in range(MOST_STEPS):
        if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
            try:
                kind = ast.parse(kind.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError):
                return None
        elif isinstance(kind, ast.BinOp):
            kind = kind.right if isinstance(kind.left, ast.Constant) else kind.left
        elif isinstance(kind, ast.Subscript) and name_of(kind) in {
            "Annotated",
            "Optional",
            "Union",
        }:
            kind = kind.slice.elts[0] if isinstance(kind.slice, ast.Tuple) else kind.slice
        else:
            break
    return kind
