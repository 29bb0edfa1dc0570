"""How a FastAPI server is asked, by its handlers and the models of their bodies. Pure.

What a program says is read, never run. A body made of it is a guess, as one of an OpenAPI
description is: which of its fields takes the question is told by their names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import basename, dirname, splitext
from typing import Any

from gateval.domain.setup.import_graph import python_tree
from gateval.domain.setup.openapi import SOME, SOME_TEXT, SOME_UUID
from gateval.domain.setup.program import (
    ANSWERED,
    ASKED,
    MESSAGES,
    PROMPT,
    Invocation,
    is_asked,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef

MOST_STEPS = 8
"""Names that lead from one to the next, and models inside one another."""

_KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "tuple", "set"})
_TIMES = {"datetime": "2026-01-01T00:00:00Z", "date": "2026-01-01"}
_TELLS = re.compile(r"[Rr]outer|FastAPI|BaseModel|Enum\b")
_ELSEWHERE = frozenset({"Depends", "Header", "Cookie", "Security"})
_FORMS = frozenset({"Form", "File", "UploadFile"})
_IDENTITY = re.compile(
    r"(?:^|_)(?:id|uuid|key|token|name|user|email|model|language|lang|type|role)$"
)
_BESIDE = re.compile(
    r"upload|index|ingest|reset|clear|config|setting|update|creat|delet|feedback|suggest|title|login"
    r"|regist|auth|eval|webhook|transcri|speech|tts|image|embed|history|cancel|stop|valid|health|test"
    r"|hitl|approv|prompts\b|thread$|sessions?$|log\b|cache"
)
"""How routes are called that stand beside the one that takes questions."""


@dataclass(frozen=True)
class Modules:
    """The parsed modules of a server by path, the one with the application first."""

    trees: Mapping[str, ast.Module]

    @staticmethod
    def of(texts: Mapping[str, str]) -> Modules:
        """Parse what can be parsed, of the modules that may say how the server is asked."""
        trees = {}
        for path, text in texts.items():
            if not _TELLS.search(text):
                continue
            if tree := python_tree(text):
                trees[path] = tree
        return Modules(trees)

    def nodes(self, path: str) -> Iterator[ast.AST]:
        """Give every node of a module."""
        return ast.walk(self.trees[path])

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes by their names, the nearer ones before others of their name."""
        found: dict[str, ast.ClassDef] = {}
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, node)
        return found

    def place(self, path: str, node: ast.expr) -> tuple[str, str]:
        """Return the module and the name there of what an expression of the module at `path` means,
        as far as imports tell.
        """
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self._imported[path].get(node.value.id, (node.value.id, ""))
            return self._followed(module[1] or module[0], node.attr) or (path, node.attr)
        if isinstance(node, ast.Name):
            module = self._imported[path].get(node.id, ("", ""))
            return (self._followed(*module) if module[1] else None) or (path, node.id)
        return path, ""

    def _followed(self, stem: str, name: str) -> tuple[str, str] | None:
        for _ in range(MOST_STEPS):
            path = next((one for one in self.trees if _stem(one) == stem), None)
            if path is None:
                return None
            further = self._imported[path].get(name)
            if further is None or not further[1]:
                return path, name
            stem, name = further
        return None

    @cached_property
    def _imported(self) -> dict[str, dict[str, tuple[str, str]]]:
        """What each imported name of each module is: a module's last part, and a name there."""
        found: dict[str, dict[str, tuple[str, str]]] = {path: {} for path in self.trees}
        for path, names in found.items():
            for node in self.nodes(path):
                if isinstance(node, ast.ImportFrom):
                    module = (node.module or _stem(path)).rpartition(".")[2]
                    names |= {one.asname or one.name: (module, one.name) for one in node.names}
                elif isinstance(node, ast.Import):
                    parts = ((one, one.name.rpartition(".")[2]) for one in node.names)
                    names |= {one.asname or one.name: (last, "") for one, last in parts}
        return found


def asked_as_written(texts: Mapping[str, str]) -> Invocation | None:
    """Return how the likeliest handler of a server is asked; None if none takes a question.

    `texts` are the modules of the server by path, that of the application first.
    """
    modules = Modules.of(texts)
    prefixes = _prefixes(modules)
    found = [one for path in modules.trees for one in _handled(modules, path, prefixes)]
    return max(found, key=lambda one: one[0], default=(0, None))[1]


def _stem(path: str) -> str:
    stem = splitext(basename(path))[0]
    return basename(dirname(path)) if stem == "__init__" else stem


def _called(node: ast.AST) -> str:
    """Return the last name of what a call calls, "" for anything else."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def _text(node: ast.expr | None) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _prefixes(modules: Modules) -> dict[tuple[str, str], str]:
    """Return the path before the routes of each application and router, by module and name."""
    own = {place: prefix for path in modules.trees for place, prefix in _made(modules, path)}
    around = {inner: outer for path in modules.trees for inner, outer in _mounted(modules, path)}
    found = {}
    for key, prefix in own.items():
        whole, here = prefix, key
        for _ in range(MOST_STEPS):
            if here not in around:
                break
            here, before = around[here]
            whole = own.get(here, "") + before + whole
        found[key] = whole
    return found


def _made(modules: Modules, path: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the applications and routers that a module makes, with their own prefixes."""
    for node in modules.nodes(path):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if _called(node.value) in {"FastAPI", "APIRouter"} and isinstance(targets[0], ast.Name):
                yield (path, targets[0].id), _text(_keyword(node.value, "prefix"))


def _mounted(
    modules: Modules, path: str
) -> Iterator[tuple[tuple[str, str], tuple[tuple[str, str], str]]]:
    """Yield the routers that a module includes, with what they stand in and the prefix there."""
    for node in modules.nodes(path):
        if not isinstance(node, ast.Call) or _called(node) != "include_router" or not node.args:
            continue
        if isinstance(node.func, ast.Attribute):
            outer = modules.place(path, node.func.value)
            yield modules.place(path, node.args[0]), (outer, _text(_keyword(node, "prefix")))


def _handled(
    modules: Modules, path: str, prefixes: Mapping[tuple[str, str], str]
) -> Iterator[tuple[int, Invocation]]:
    """Yield how each handler of a module is asked, and how likely it takes questions."""
    for node in modules.nodes(path):
        if not isinstance(node, Function):
            continue
        for made in node.decorator_list:
            if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
                continue
            key = modules.place(path, made.func.value)
            given = made.args[0] if made.args else _keyword(made, "path")
            if made.func.attr == "post" and key in prefixes and isinstance(given, ast.Constant):
                route = prefixes[key] + _text(given)
                handler = Handler(modules.classes, node, made)
                spoken = Invocation(route=route, preset="openai")
                said = route.endswith("/chat/completions")
                if asked := spoken if said else handler.asked(route or "/"):
                    yield handler.likelihood(asked), asked


@dataclass(frozen=True)
class Handler:
    """A function that answers a POST, `made` one by its decorator; `classes` are the models."""

    classes: Mapping[str, ast.ClassDef]
    function: Function
    made: ast.Call

    def asked(self, route: str) -> Invocation | None:
        """Return how it is asked at `route`; None where no text of it could be a question."""
        query: dict[str, Any] = {}
        bodies: dict[str, Any] = {}
        places = set(re.findall(r"\{(\w+)", route))
        single: Any = None
        for one, default in self._parameters():
            kind, called = _plain(one.annotation), {_called(default) if default else ""}
            called |= _metadata(one.annotation)
            if called & _ELSEWHERE:
                continue
            if called & _FORMS or _name(kind) in _FORMS:
                return None
            if one.arg in places:
                value = self._value(kind, MOST_STEPS)
                route = re.sub(rf"\{{{one.arg}(?::\w+)?\}}", str(value), route)
            elif _name(kind) == "RunAgentInput":
                return Invocation(route=route, preset="ag-ui")
            elif _name(kind) == "Request":
                single = dict.fromkeys(self._keys_read(), SOME_TEXT) or single
            elif _name(kind) in self.classes and self._is_model(_name(kind)):
                bodies[one.arg] = single = self._fields(_name(kind), MOST_STEPS)
            elif "Body" in called or _name(kind) in {"dict", "Dict"}:
                bodies[one.arg] = self._value(kind, MOST_STEPS)
                single = dict.fromkeys(self._keys_read(one.arg), SOME_TEXT)
            elif (_name(kind) in _KINDS or kind is None) and (
                default is None or _is_asked(one.arg)
            ):
                query[one.arg] = self._value(kind, MOST_STEPS)
        return self._with_question(route, query, bodies if len(bodies) > 1 else single)

    def _with_question(self, route: str, query: dict[str, Any], body: Any) -> Invocation | None:
        if not route.startswith("/") or not route.isprintable() or "{" in route:
            return None
        field = _asked_in(body) if isinstance(body, dict) else ""
        asked = "" if field else _asked_in(query)
        if asked:
            query[asked] = PROMPT
        if query:
            route += "?" + "&".join(f"{name}={value}" for name, value in query.items())
        if not field and not asked:
            return None
        return Invocation(
            route=route,
            field=field or asked,
            answer=self._answer(),
            body=json.dumps(body if isinstance(body, dict) else {}),
        )

    def likelihood(self, asked: Invocation) -> int:
        """Return how much speaks for a handler as the one that takes questions."""
        place = asked.route.partition("?")[0]
        last = place.rstrip("/").rpartition("/")[2].lower()
        named = asked.field.rpartition(".")[2] in ASKED
        score = (
            4 * named
            + 3 * is_asked(last)
            + is_asked(f"{place} {self.function.name}")
            + 2 * bool(asked.answer)
        )
        return score - 6 * bool(_BESIDE.search(last)) - 2 * self._streams() - place.count(SOME_TEXT)

    def _parameters(self) -> Iterator[tuple[ast.arg, ast.expr | None]]:
        given = self.function.args
        places = [*given.posonlyargs, *given.args]
        missing: list[ast.expr | None] = [None] * (len(places) - len(given.defaults))
        yield from zip(places, [*missing, *given.defaults], strict=True)
        yield from zip(given.kwonlyargs, given.kw_defaults, strict=True)

    def _keys_read(self, name: str = "") -> list[str]:
        """Return the keys that it reads of its body, which is `name` or the JSON of its request."""
        names = {name} if name else set()
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign) and not name:
                value = node.value.value if isinstance(node.value, ast.Await) else node.value
                if _called(value) in {"json", "get_json"}:
                    names |= {one.id for one in node.targets if isinstance(one, ast.Name)}
        found = []
        for node in ast.walk(self.function):
            key: ast.expr | None = None
            of: ast.AST | None = None
            if isinstance(node, ast.Subscript):
                key, of = node.slice, node.value
            elif isinstance(node, ast.Call) and _called(node) == "get" and node.args:
                key, of = node.args[0], getattr(node.func, "value", None)
            if key is not None and isinstance(of, ast.Name) and of.id in names and _text(key):
                found.append(_text(key))
        return found

    def _is_model(self, name: str) -> bool:
        return any(isinstance(one, ast.AnnAssign) for one in self.classes[name].body)

    def _fields(self, name: str, left: int, *, every: bool = False) -> dict[str, Any]:
        """Return the fields of a model that have to be there, with values; with those that may take
        a question, or `every` one.
        """
        found: dict[str, Any] = {}
        for base in self.classes[name].bases:
            if _name(base) in self.classes and left:
                found |= self._fields(_name(base), left - 1, every=every)
        for node in self.classes[name].body:
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            field = node.target.id
            alias = _text(_keyword(node.value, "alias")) if isinstance(node.value, ast.Call) else ""
            if _name(_plain(node.annotation)) == "ClassVar" or field == "model_config":
                continue
            if every or _needed(node.value) or field in ASKED:
                found[alias or field] = self._value(_plain(node.annotation), left - 1)
        return found

    def _value(self, kind: ast.expr | None, left: int) -> Any:
        """Return some value of a type."""
        name = _name(kind)
        if left <= 0 or kind is None:
            return SOME_TEXT
        if isinstance(kind, ast.Subscript) and name == "Literal":
            choices = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
            return choices[0].value if isinstance(choices[0], ast.Constant) else SOME_TEXT
        if name in _LISTS:
            inner = _plain(kind.slice) if isinstance(kind, ast.Subscript) else None
            return self._listed(inner, left)
        if name in self.classes:
            values = [one.value for one in self.classes[name].body if isinstance(one, ast.Assign)]
            if any("Enum" in _name(base) for base in self.classes[name].bases):
                return next(
                    (one.value for one in values if isinstance(one, ast.Constant)), SOME_TEXT
                )
            return self._fields(name, left - 1)
        if name == "UUID":
            return SOME_UUID
        return _TIMES.get(name) or SOME.get(
            _KINDS.get(name, ""), {} if name == "Dict" else SOME_TEXT
        )

    def _listed(self, inner: ast.expr | None, left: int) -> Any:
        """Return a list with one message, where a model of them is wanted; else an empty one."""
        if _name(inner) in self.classes and self._is_model(_name(inner)):
            message = self._fields(_name(inner), left - 1, every=False)
            if "role" in message and not {*message} <= {"role", "content"}:
                said = {key: PROMPT for key in ("content", "text") if key in message}
                return [{**message, "role": "user", **said}] if said else []
        return []

    def _answer(self) -> str:
        """Return the key of the answer in what it returns, "" where nothing tells."""
        model = _keyword(self.made, "response_model") or self.function.returns
        keys: list[str] = []
        if _name(_plain(model)) in self.classes:
            keys = [*self._fields(_name(_plain(model)), 2, every=True)]
        for node in ast.walk(self.function):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(value, ast.Call) and _called(value) == "JSONResponse":
                value = value.args[0] if value.args else _keyword(value, "content")
            if isinstance(value, ast.Dict):
                keys += [_text(one) for one in value.keys if one is not None]
        answers = [one for one in keys if _tells(one, ANSWERED)]
        return min(answers, key=lambda one: one not in ANSWERED, default="")

    def _streams(self) -> bool:
        names = {_called(node) for node in ast.walk(self.function)}
        return bool(names & {"StreamingResponse", "EventSourceResponse"})


def _needed(default: ast.expr | None) -> bool:
    """Whether a field with this default has to be given."""
    if default is None or (isinstance(default, ast.Constant) and default.value is ...):
        return True
    if not isinstance(default, ast.Call) or _called(default) != "Field":
        return False
    if default.args:
        return isinstance(default.args[0], ast.Constant) and default.args[0].value is ...
    return not any(one.arg in {"default", "default_factory"} for one in default.keywords)


def _plain(kind: ast.expr | None) -> ast.expr | None:
    """Return a type without what stands around it: `Annotated`, `Optional`, `| None`, quotes."""
    for _ in range(MOST_STEPS):
        if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
            try:
                kind = ast.parse(kind.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError):
                return None
        elif isinstance(kind, ast.BinOp):
            kind = kind.right if isinstance(kind.left, ast.Constant) else kind.left
        elif isinstance(kind, ast.Subscript) and _name(kind) in {"Annotated", "Optional", "Union"}:
            kind = kind.slice.elts[0] if isinstance(kind.slice, ast.Tuple) else kind.slice
        else:
            break
    return kind


def _metadata(kind: ast.expr | None) -> set[str]:
    """Return what an `Annotated` calls beside the type."""
    if isinstance(kind, ast.Subscript) and _name(kind) == "Annotated":
        return {_called(node) for node in ast.walk(kind.slice)} - {""}
    return set()


def _name(kind: ast.AST | None) -> str:
    if isinstance(kind, ast.Subscript):
        kind = kind.value
    if isinstance(kind, ast.Attribute):
        return kind.attr
    return kind.id if isinstance(kind, ast.Name) else ""


def _asked_in(body: dict[str, Any]) -> str:
    """Put the question into the likeliest field of a body, and return its name, "" for none.

    A field of a model inside it is named with a dot.
    """
    texts = [key for key, value in body.items() if value == SOME_TEXT]
    lists = [key for key, value in body.items() if isinstance(value, list)]
    exact = [one for one in ASKED if one in texts and one != MESSAGES]
    told = [one for one in ASKED if one in lists]
    named = [one for one in texts if _is_asked(one)]
    inner = [(key, value) for key, value in body.items() if isinstance(value, dict)]
    if field := next(iter([*exact, *named]), ""):
        body[field] = PROMPT
        return field
    if told:
        body[told[0]] = body[told[0]] or "{{ messages }}"
        return MESSAGES if body[told[0]] == "{{ messages }}" else told[0]
    for key, value in inner:
        if field := _asked_in(value):
            return f"{key}.{field}"
    rest = [one for one in texts if not _IDENTITY.search(one.lower())]
    if rest:
        body[rest[0]] = PROMPT
    return rest[0] if rest else ""


def _is_asked(name: str) -> bool:
    """Whether a field is called as those are that take questions: `user_query`."""
    return _tells(name, ASKED) and not _IDENTITY.search(name.lower())


def _tells(name: str, words: tuple[str, ...]) -> bool:
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
    return name in words or any(one in parts for one in words)
