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
from typing import Any, NamedTuple

from gateval.domain.setup.invocation import ANSWERED, ASKED, MESSAGES, PROMPT, Invocation
from gateval.domain.setup.openapi import (
    IDENTITY,
    SOME,
    SOME_TEXT,
    SOME_UUID,
    is_looked_after,
    names_one_of,
    takes_question,
)
from gateval.domain.setup.program import is_asked
from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Function,
    Model,
    Modules,
    called_by,
    keyword_of,
    name_of,
    text_of,
)

_KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "tuple", "set"})
_TIMES = {"datetime": "2026-01-01T00:00:00Z", "date": "2026-01-01"}
_ELSEWHERE = frozenset({"Depends", "Header", "Cookie", "Security"})
_FORMS = frozenset({"Form", "File", "UploadFile"})
_SETTING = re.compile(r"temperature|top_[pk]|max_\w+|limit|timeout\w*|stream\w*|seed")
"""How keys are called that hold a number or a switch, and are left out."""

_BESIDE = re.compile(
    r"upload|index|ingest|reset|clear|config|setting|update|creat|delet|feedback|suggest|title|login"
    r"|regist|auth|eval|webhook|transcri|speech|tts|image|embed|history|cancel|stop|valid|health|test"
    r"|hitl|approv|select|tools?$|prompts\b|thread$|sessions?$|log\b|cache"
    r"|password|token|verif|^(?:skill|project|document|user|tool|server|profile|provider|model|file|note|item)s?$"
)
"""How routes are called that stand beside the one that takes questions."""

_BARELY = -4  # the likelihood of a handler that more speaks against than for

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_ANSWER = re.compile(rf"{IDENTITY.pattern}|error")

_VALIDATES = frozenset({"model_validate", "model_validate_json", "parse_obj", "parse_raw"})


def asked_as_written(texts: Mapping[str, str], asking: Container[str] = ()) -> Invocation | None:
    """Return how the likeliest handler of a server is asked; None if none takes a question.

    `texts` are the modules of the server by path, that of the application first, `asking` those
    behind which a model is asked.
    """
    modules = Modules.of(texts)
    prefixes = _prefixes(modules)
    routed = [(path, one) for path in modules.trees for one in _routed(modules, path, prefixes)]
    posts = {one.route for _, one in routed if one.method == "post"}
    found = [
        (score + 5 * (path in asking), asked)
        for path, one in routed
        for score, asked in _handled(Handler(modules, path, one.function, one.made), one, posts)
    ]
    score, asked = max(found, key=lambda one: one[0], default=(0, None))
    return asked if score > _BARELY else None


def _number(node: ast.expr | None) -> int:
    """Return a status, a number or as `status.HTTP_202_ACCEPTED`; 0 where there is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    found = re.search(r"HTTP_(\d{3})", name_of(node))
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
            if called_by(node.value) in {"FastAPI", "APIRouter"} and isinstance(
                targets[0], ast.Name
            ):
                yield (path, targets[0].id), modules.text(keyword_of(node.value, "prefix"))


def _mounted(
    modules: Modules, path: str
) -> Iterator[tuple[tuple[str, str], tuple[tuple[str, str], str]]]:
    """Yield the routers that a module includes, with what they stand in and the prefix there."""
    each: dict[str, list[ast.expr]] = {}
    for node in modules.nodes(path):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List):
            each[name_of(node.target)] = node.iter.elts
    for node in modules.nodes(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        outer = modules.place(path, node.func.value)
        if node.func.attr == "include_router" and node.args:
            for one in each.get(name_of(node.args[0]), node.args[:1]):
                prefix = modules.text(keyword_of(node, "prefix"))
                yield modules.place(path, one), (outer, prefix)
        elif node.func.attr == "mount" and len(node.args) > 1:
            yield modules.place(path, node.args[1]), (outer, modules.text(node.args[0]))


class Routed(NamedTuple):
    """A function with the decorator that says at which path it answers, and to which method."""

    route: str
    method: str
    function: Function
    made: ast.Call


def _routed(
    modules: Modules, path: str, prefixes: Mapping[tuple[str, str], str]
) -> Iterator[Routed]:
    """Yield the handlers of a module that answer a POST or a GET."""
    for node in modules.nodes(path):
        for made in node.decorator_list if isinstance(node, Function) else ():
            if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
                continue
            key = modules.place(path, made.func.value)
            given = made.args[0] if made.args else keyword_of(made, "path")
            known = made.func.attr in {"post", "get"} and key in prefixes
            if known and isinstance(given, ast.Constant) and isinstance(node, Function):
                yield Routed(prefixes[key] + text_of(given), made.func.attr, node, made)


def _handled(
    handler: Handler, routed: Routed, posts: Container[str]
) -> Iterator[tuple[int, Invocation]]:
    """Yield how a handler is asked, and how likely it takes questions; `posts` are all paths that
    take a POST.
    """
    route = routed.route
    if is_looked_after(route):
        return
    said = route.endswith("/chat/completions") and routed.method == "post"
    spoken = Invocation(route=route, preset="openai")
    asked = spoken if said else handler.asked(route or "/")
    if asked is None:
        return
    score = handler.likelihood(asked)
    before, place, _ = route.partition("/{")
    if place and before in posts:
        yield score - 3, asked._replace(begun=before)
    elif routed.method == "post":
        yield score, asked
    elif "?" in asked.route and asked.field in ASKED:
        yield score - 3, asked._replace(method="GET")


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
            kind, called = _plain(one.annotation), {called_by(default) if default else ""}
            called |= _metadata(one.annotation)
            if called & _ELSEWHERE:
                continue
            if called & _FORMS or name_of(kind) in _FORMS:
                return None
            if one.arg in places:
                value = self._value(kind, MOST_STEPS, self.path)
                route = re.sub(rf"\{{{one.arg}(?::\w+)?\}}", str(value), route)
            elif name_of(kind) == "RunAgentInput":
                return Invocation(route=route, preset="ag-ui")
            elif self.modules.meant(self.path, name_of(kind)) == "Request":
                read = self._model_read() or dict.fromkeys(self._keys_read(), SOME_TEXT)
                single = read or single
            elif model := self._model(self.path, name_of(kind)):
                bodies[one.arg] = single = self._fields(model, MOST_STEPS)
            elif "Body" in called or name_of(kind) in {"dict", "Dict"}:
                bodies[one.arg] = self._value(kind, MOST_STEPS, self.path)
                single = dict.fromkeys(self._keys_read(one.arg), SOME_TEXT)
            elif (name_of(kind) in _KINDS or kind is None) and (
                default is None or takes_question(one.arg)
            ):
                query[one.arg] = self._value(kind, MOST_STEPS, self.path)
        asked = self._with_question(route, query, bodies if len(bodies) > 1 else single)
        return asked and asked._replace(headers=tuple(self._headers()))

    def _headers(self) -> Iterator[tuple[str, str]]:
        """Yield the headers that it demands, with values."""
        for one, default in self._parameters():
            if isinstance(default, ast.Call) and called_by(default) == "Header":
                name = text_of(keyword_of(default, "alias")) or one.arg.replace("_", "-")
                if _needed(default, "Header"):
                    yield name, str(self._value(_plain(one.annotation), MOST_STEPS, self.path))

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
        kinds = [name_of(_plain(one.annotation)) for one, _ in self._parameters()]
        untyped = kinds == ["Request"] and not self._model_read()
        later = _number(keyword_of(self.made, "status_code")) == 202  # the answer is elsewhere
        return (
            score
            - 6 * beside
            - 8 * later
            - 2 * (self._streams() + untyped)
            - 3 * place.count(SOME_TEXT)
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
                if called_by(value) in {"json", "get_json"}:
                    names |= {one.id for one in node.targets if isinstance(one, ast.Name)}
        found = []
        for node in ast.walk(self.function):
            key: ast.expr | None = None
            of: ast.AST | None = None
            if isinstance(node, ast.Subscript):
                key, of = node.slice, node.value
            elif isinstance(node, ast.Call) and called_by(node) == "get" and node.args:
                key, of = node.args[0], getattr(node.func, "value", None)
            if key is not None and isinstance(of, ast.Name) and of.id in names and text_of(key):
                found.append(text_of(key))
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
            if model := self._model(self.path, name_of(made)):
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
            base = self.modules.model(path, name_of(one)) if left else None
            if base and base != model:
                found |= self._fields(base, left - 1, every=every)
        for node in made.body:
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            field = node.target.id
            alias = (
                text_of(keyword_of(node.value, "alias")) if isinstance(node.value, ast.Call) else ""
            )
            if name_of(_plain(node.annotation)) == "ClassVar" or field == "model_config":
                continue
            if every or _needed(node.value) or field in ASKED:
                found[alias or field] = self._value(_plain(node.annotation), left - 1, path)
        return found

    def _value(self, kind: ast.expr | None, left: int, path: str) -> Any:
        """Return some value of a type that the module at `path` names."""
        name = name_of(kind)
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
            if any("Enum" in name_of(base) for base in model[1].bases):
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
        model = self._model(path, name_of(inner))
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
        model = keyword_of(self.made, "response_model") or self.function.returns
        keys: list[str] = []
        if said := self.modules.model(self.path, name_of(_plain(model))):
            keys = [*self._fields(said, 2, every=True)]
        for node in ast.walk(self.function):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(value, ast.Call) and called_by(value) == "JSONResponse":
                value = value.args[0] if value.args else keyword_of(value, "content")
            if isinstance(value, ast.Dict):
                keys += [text_of(one) for one in value.keys if one is not None]
        answers = [
            one for one in keys if names_one_of(one, ANSWERED) and not _NO_ANSWER.search(one)
        ]
        return min(answers, key=lambda one: one not in ANSWERED, default="")

    def _streams(self) -> bool:
        names = {called_by(node) for node in ast.walk(self.function)}
        return bool(names & {"StreamingResponse", "EventSourceResponse"})


def _needed(default: ast.expr | None, made: str = "Field") -> bool:
    """Whether a field with this default has to be given."""
    if default is None or (isinstance(default, ast.Constant) and default.value is ...):
        return True
    if not isinstance(default, ast.Call) or called_by(default) != made:
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
        elif isinstance(kind, ast.Subscript) and name_of(kind) in {
            "Annotated",
            "Optional",
            "Union",
        }:
            kind = kind.slice.elts[0] if isinstance(kind.slice, ast.Tuple) else kind.slice
        else:
            break
    return kind


def _metadata(kind: ast.expr | None) -> set[str]:
    """Return what an `Annotated` calls beside the type."""
    if isinstance(kind, ast.Subscript) and name_of(kind) == "Annotated":
        return {called_by(node) for node in ast.walk(kind.slice)} - {""}
    return set()


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
    rest = [one for one in texts if not IDENTITY.search(_HUMP.sub("_", one).lower())]
    if rest:
        body[rest[0]] = PROMPT
    return rest[0] if rest else ""
