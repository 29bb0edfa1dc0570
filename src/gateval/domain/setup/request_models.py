"""How a FastAPI server is asked, by its handlers and the models of their bodies. Pure.

What a program says is read, never run. A body made of it is a guess, as one of an OpenAPI
description is: which of its fields takes the question is told by their names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname, splitext
from typing import Any

from gateval.domain.setup.import_graph import python_tree
from gateval.domain.setup.openapi import (
    IDENTITY,
    SOME,
    SOME_TEXT,
    SOME_UUID,
    is_looked_after,
    names_one_of,
    takes_question,
)
from gateval.domain.setup.program import (
    ANSWERED,
    ASKED,
    MESSAGES,
    PROMPT,
    Invocation,
    is_asked,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Model = tuple[str, ast.ClassDef]
"""A class with the path of its module, where the types of its fields are named."""

MOST_STEPS = 8
"""Names that lead from one to the next, and models inside one another."""

_KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "tuple", "set"})
_TIMES = {"datetime": "2026-01-01T00:00:00Z", "date": "2026-01-01"}
_TELLS = re.compile(r"[Rr]outer|FastAPI|Model\b|Schema\b|Settings\b|Enum\b")
_ELSEWHERE = frozenset({"Depends", "Header", "Cookie", "Security"})
_FORMS = frozenset({"Form", "File", "UploadFile"})
_SETTING = re.compile(r"temperature|top_[pk]|max_\w+|limit|timeout\w*|stream\w*|seed")
"""How keys are called that hold a number or a switch, and are left out."""

_BESIDE = re.compile(
    r"upload|index|ingest|reset|clear|config|setting|update|creat|delet|feedback|suggest|title|login"
    r"|regist|auth|eval|webhook|transcri|speech|tts|image|embed|history|cancel|stop|valid|health|test"
    r"|hitl|approv|prompts\b|thread$|sessions?$|log\b|cache"
    r"|password|token|verif|^(?:skill|project|document|user|tool|server|profile|provider|model|file|note|item)s?$"
)
"""How routes are called that stand beside the one that takes questions."""

_BARELY = -4  # the likelihood of a handler that more speaks against than for

_VALIDATES = frozenset({"model_validate", "model_validate_json", "parse_obj", "parse_raw"})


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

    def model(self, path: str, name: str) -> Model | None:
        """Return the class that a name means in a module: the imported one before others."""
        where, own = self.place(path, ast.Name(name))
        if own in self._classes.get(where, {}):
            return where, self._classes[where][own]
        found = ((one, classes[name]) for one, classes in self._classes.items() if name in classes)
        return next(found, None)

    def meant(self, path: str, name: str) -> str:
        """Return the name of what a module imports as `name`."""
        return self._imported[path].get(name, ("", ""))[1] or name

    def returned(self, path: str, name: str) -> str:
        """Return the variable that a function of the module gives back, "" where none is told."""
        for node in self.nodes(path):
            if isinstance(node, Function) and node.name == name:
                given = (one.value for one in ast.walk(node) if isinstance(one, ast.Return))
                return next((_name(one) for one in given if isinstance(one, ast.Name)), "")
        return ""

    def place(self, path: str, node: ast.expr) -> tuple[str, str]:
        """Return the module and the name there of what an expression of the module at `path` means,
        as far as imports tell.
        """
        if isinstance(node, ast.Call):
            where, name = self.place(path, node.func)
            return where, self.returned(where, name)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self._imported[path].get(node.value.id, (node.value.id, ""))
            dotted = ".".join(filter(None, module))
            return self._followed(path, dotted, node.attr) or (path, node.attr)
        if isinstance(node, ast.Name):
            module = self._imported[path].get(node.id, ("", ""))
            return (self._followed(path, *module) if module[1] else None) or (path, node.id)
        return path, ""

    def text(self, node: ast.expr | None) -> str:
        """Return the text of an expression: names are those of constants, wherever they are set."""
        if isinstance(node, ast.Name | ast.Attribute):
            return self._constants.get(_name(node), "")
        if isinstance(node, ast.JoinedStr):
            return "".join(map(self.text, node.values))
        if isinstance(node, ast.FormattedValue):
            return self.text(node.value)
        if isinstance(node, ast.BinOp):
            return self.text(node.left) + self.text(node.right)
        return _text(node)

    @cached_property
    def _constants(self) -> dict[str, str]:
        """The paths that variables and settings hold by their names, or default to."""
        found: dict[str, str] = {}
        for path in self.trees:
            for node in self.nodes(path):
                if not isinstance(node, ast.Assign | ast.AnnAssign):
                    continue
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                value = node.value
                given = (
                    [*value.args, *(one.value for one in value.keywords)]
                    if isinstance(value, ast.Call)
                    else [value]
                )
                paths = [one for one in map(_text, given) if one.startswith("/")]
                if _name(target) and paths:
                    found.setdefault(_name(target), paths[-1])
        return found

    @cached_property
    def _classes(self) -> dict[str, dict[str, ast.ClassDef]]:
        return {
            path: {node.name: node for node in self.nodes(path) if isinstance(node, ast.ClassDef)}
            for path in self.trees
        }

    def _followed(self, here: str, module: str, name: str) -> tuple[str, str] | None:
        for _ in range(MOST_STEPS):
            path = self._file(module, here)
            if path is None:
                return None
            further = self._imported[path].get(name)
            if further is None or not further[1]:
                return path, name
            here, (module, name) = path, further
        return None

    def _file(self, module: str, here: str) -> str | None:
        """Return the file that a dotted name means: most of its last parts are those of the file's
        path, and of several it is the nearest.
        """
        wanted, near = module.split(".")[::-1], _parts(here)
        ranked = (
            (_same(wanted, _parts(one)[::-1]), _same(near, _parts(one)), one) for one in self.trees
        )
        best = max(ranked, default=(0, 0, ""), key=lambda one: one[:2])
        return best[2] if best[0] else None

    @cached_property
    def _imported(self) -> dict[str, dict[str, tuple[str, str]]]:
        """What each imported name of each module is: a module, dotted, and a name there."""
        found: dict[str, dict[str, tuple[str, str]]] = {path: {} for path in self.trees}
        for path, names in found.items():
            for node in self.nodes(path):
                if isinstance(node, ast.ImportFrom):
                    above = dirname(path).split("/") if node.level else []
                    kept = above[: len(above) - max(node.level - 1, 0)]
                    module = ".".join([*kept, *filter(None, [node.module])])
                    names |= {one.asname or one.name: (module, one.name) for one in node.names}
                elif isinstance(node, ast.Import):
                    names |= {one.asname or one.name: (one.name, "") for one in node.names}
        return found


def _parts(path: str) -> list[str]:
    """Return the names of a module's path, without `__init__`."""
    parts = splitext(path)[0].split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts


def _same(some: list[str], others: list[str]) -> int:
    """Return how many of the first parts of two paths are the same."""
    alike = [one == other for one, other in zip(some, others, strict=False)]
    return alike.index(False) if False in alike else len(alike)


def asked_as_written(texts: Mapping[str, str], asking: Container[str] = ()) -> Invocation | None:
    """Return how the likeliest handler of a server is asked; None if none takes a question.

    `texts` are the modules of the server by path, that of the application first, `asking` those
    behind which a model is asked.
    """
    modules = Modules.of(texts)
    prefixes = _prefixes(modules)
    found = [
        (score + 5 * (path in asking), asked)
        for path in modules.trees
        for score, asked in _handled(modules, path, prefixes)
    ]
    score, asked = max(found, key=lambda one: one[0], default=(0, None))
    return asked if score > _BARELY else None


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


def _number(node: ast.expr | None) -> int:
    """Return a status, a number or as `status.HTTP_202_ACCEPTED`; 0 where there is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    found = re.search(r"HTTP_(\d{3})", _name(node))
    return int(found[1]) if found else 0


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
                yield (path, targets[0].id), modules.text(_keyword(node.value, "prefix"))


def _mounted(
    modules: Modules, path: str
) -> Iterator[tuple[tuple[str, str], tuple[tuple[str, str], str]]]:
    """Yield the routers that a module includes, with what they stand in and the prefix there."""
    each: dict[str, list[ast.expr]] = {}
    for node in modules.nodes(path):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List):
            each[_name(node.target)] = node.iter.elts
    for node in modules.nodes(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        outer = modules.place(path, node.func.value)
        if node.func.attr == "include_router" and node.args:
            for one in each.get(_name(node.args[0]), node.args[:1]):
                prefix = modules.text(_keyword(node, "prefix"))
                yield modules.place(path, one), (outer, prefix)
        elif node.func.attr == "mount" and len(node.args) > 1:
            yield modules.place(path, node.args[1]), (outer, modules.text(node.args[0]))


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
                handler = Handler(modules, path, node, made)
                spoken = Invocation(route=route, preset="openai")
                if is_looked_after(route):
                    continue
                said = route.endswith("/chat/completions")
                if asked := spoken if said else handler.asked(route or "/"):
                    yield handler.likelihood(asked), asked


@dataclass(frozen=True)
class Handler:
    """A function of the module at `path` that answers a POST, `made` one by its decorator."""

    modules: Modules
    path: str
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
                value = self._value(kind, MOST_STEPS, self.path)
                route = re.sub(rf"\{{{one.arg}(?::\w+)?\}}", str(value), route)
            elif _name(kind) == "RunAgentInput":
                return Invocation(route=route, preset="ag-ui")
            elif self.modules.meant(self.path, _name(kind)) == "Request":
                read = self._model_read() or dict.fromkeys(self._keys_read(), SOME_TEXT)
                single = read or single
            elif model := self._model(self.path, _name(kind)):
                bodies[one.arg] = single = self._fields(model, MOST_STEPS)
            elif "Body" in called or _name(kind) in {"dict", "Dict"}:
                bodies[one.arg] = self._value(kind, MOST_STEPS, self.path)
                single = dict.fromkeys(self._keys_read(one.arg), SOME_TEXT)
            elif (_name(kind) in _KINDS or kind is None) and (
                default is None or takes_question(one.arg)
            ):
                query[one.arg] = self._value(kind, MOST_STEPS, self.path)
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
        parts = [one for one in place.lower().split("/") if one not in {"", SOME_TEXT}]
        last = parts[-1] if parts else ""
        field = asked.field.rpartition(".")[2]
        score = (
            (4 if field in ASKED else 3 * takes_question(field))
            + 3 * is_asked(last)
            + is_asked(f"{place} {self.function.name}")
            + 2 * bool(asked.answer)
        )
        beside = bool(_BESIDE.search(last))
        kinds = [_name(_plain(one.annotation)) for one, _ in self._parameters()]
        untyped = kinds == ["Request"] and not self._model_read()
        later = _number(_keyword(self.made, "status_code")) == 202  # the answer is elsewhere
        return (
            score
            - 6 * beside
            - 8 * later
            - 2 * (self._streams() + untyped)
            - place.count(SOME_TEXT)
        )

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
        return [one for one in found if not _SETTING.fullmatch(one)]

    def _model_read(self) -> dict[str, Any]:
        """Return the fields of the model that it makes of its request itself."""
        for node in ast.walk(self.function):
            if not isinstance(node, ast.Call):
                continue
            made: ast.expr | None = node.func
            if isinstance(made, ast.Attribute):
                made = made.value if made.attr in _VALIDATES else None
            elif all(one.arg for one in node.keywords):  # nothing as `**data`
                made = None
            if model := self._model(self.path, _name(made)):
                return self._fields(model, MOST_STEPS)
        return {}

    def _model(self, path: str, name: str) -> Model | None:
        """Return the class of a name in the module at `path`, if it has fields."""
        found = self.modules.model(path, name) if name else None
        fields = found and (isinstance(one, ast.AnnAssign) for one in found[1].body)
        return found if fields and any(fields) else None

    def _fields(self, model: Model, left: int, *, every: bool = False) -> dict[str, Any]:
        """Return the fields of a model that have to be there, with values; with those that may take
        a question, or `every` one.
        """
        path, made = model
        found: dict[str, Any] = {}
        for one in made.bases:
            base = self.modules.model(path, _name(one)) if left else None
            if base and base != model:
                found |= self._fields(base, left - 1, every=every)
        for node in made.body:
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            field = node.target.id
            alias = _text(_keyword(node.value, "alias")) if isinstance(node.value, ast.Call) else ""
            if _name(_plain(node.annotation)) == "ClassVar" or field == "model_config":
                continue
            if every or _needed(node.value) or field in ASKED:
                found[alias or field] = self._value(_plain(node.annotation), left - 1, path)
        return found

    def _value(self, kind: ast.expr | None, left: int, path: str) -> Any:
        """Return some value of a type that the module at `path` names."""
        name = _name(kind)
        if left <= 0 or kind is None:
            return SOME_TEXT
        if isinstance(kind, ast.Subscript) and name == "Literal":
            choices = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
            return choices[0].value if isinstance(choices[0], ast.Constant) else SOME_TEXT
        if name in _LISTS:
            inner = _plain(kind.slice) if isinstance(kind, ast.Subscript) else None
            return self._listed(inner, left, path)
        if model := self.modules.model(path, name):
            values = [one.value for one in model[1].body if isinstance(one, ast.Assign)]
            if any("Enum" in _name(base) for base in model[1].bases):
                return next(
                    (one.value for one in values if isinstance(one, ast.Constant)), SOME_TEXT
                )
            return self._fields(model, left - 1)
        if name == "UUID":
            return SOME_UUID
        return _TIMES.get(name) or SOME.get(
            _KINDS.get(name, ""), {} if name == "Dict" else SOME_TEXT
        )

    def _listed(self, inner: ast.expr | None, left: int, path: str) -> Any:
        """Return a list with one message, or part of one, where a model of them is wanted; else an
        empty one.
        """
        model = self._model(path, _name(inner))
        message = self._fields(model, left - 1) if model else {}
        for key in ("content", "text"):
            if message.get(key) == SOME_TEXT:
                message[key] = PROMPT
        if "parts" in message:
            message["parts"] = message["parts"] or [{"type": "text", "text": PROMPT}]
        if "role" not in message:
            return [{**message, "type": "text"}] if {*message} == {"type", "text"} else []
        plain = {*message} <= {"role", "content"} and message.get("content") == PROMPT
        return [] if plain or PROMPT not in json.dumps(message) else [{**message, "role": "user"}]

    def _answer(self) -> str:
        """Return the key of the answer in what it returns, "" where nothing tells."""
        model = _keyword(self.made, "response_model") or self.function.returns
        keys: list[str] = []
        if said := self.modules.model(self.path, _name(_plain(model))):
            keys = [*self._fields(said, 2, every=True)]
        for node in ast.walk(self.function):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(value, ast.Call) and _called(value) == "JSONResponse":
                value = value.args[0] if value.args else _keyword(value, "content")
            if isinstance(value, ast.Dict):
                keys += [_text(one) for one in value.keys if one is not None]
        answers = [one for one in keys if names_one_of(one, ANSWERED) and not IDENTITY.search(one)]
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
    named = [one for one in texts if takes_question(one)]
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
    rest = [one for one in texts if not IDENTITY.search(one.lower())]
    if rest:
        body[rest[0]] = PROMPT
    return rest[0] if rest else ""
