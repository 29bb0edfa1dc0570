"""How a Python server is asked, by its handlers and what they read of a request. Pure.

What a program says is read, never run. A body made of it is a guess, as one of an OpenAPI
description is: which of its fields takes the question is told by their names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gateval.domain.setup.handler_access import access_of
from gateval.domain.setup.handler_answers import (
    Told,
    goes_on_without,
    keeps_to_itself,
    keys_of,
    told_of,
)
from gateval.domain.setup.handler_routes import Routed, routes_of
from gateval.domain.setup.invocation import (
    ASKED,
    MESSAGES,
    PROMPT,
    QUESTIONS,
    TOPICS,
    Begin,
    Invocation,
)
from gateval.domain.setup.model_values import KINDS, Values, beside, names_identity, needed, plain
from gateval.domain.setup.openapi import SOME_TEXT, is_looked_after, takes_question
from gateval.domain.setup.program import is_asked
from gateval.domain.setup.request_reading import RequestReading, listed_in, refused_without
from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Modules,
    arguments,
    called_by,
    keyword_of,
    name_of,
    text_of,
)

_ELSEWHERE = frozenset({"Depends", "Header", "Cookie", "Security"})
_FILES = frozenset({"File", "UploadFile"})
_BESIDE = re.compile(
    r"upload|index|ingest|reset|clear|config|setting|update|creat|delet|feedback|suggest|title|login"
    r"|regist|auth|eval|webhook|transcri|speech|tts|image|embed|history|cancel|stop|valid|health|test"
    r"|hitl|approv|select|tools?$|prompts\b|thread$|sessions?$|log\b|cache"
    r"|password|token|verif|^(?:skill|project|document|user|tool|server|profile|provider|model|file|note|item)s?$"
)
"""How routes are called that stand beside the one that takes questions."""

_CHOOSES = re.compile(r"model|provider|mode$|kind|type$|lang|style|tone|level|format")
"""How fields are called of which not any text will do."""

_OF_FILES = re.compile(r"(?:\w+_)?(?:files?|documents?|attachments?|images?|pdfs?)")
_NUMBERED = re.compile(r"(conv|conversation|session|thread|chat)_?[iI]d")
_BEGUN = "gateval-begun"
_LATER = 8  # what speaks against a handler whose answer is elsewhere
_BARELY = -4  # the likelihood of a handler that more speaks against than for

_TOLD_OF_AG_UI = ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK")
_VALIDATES = frozenset({"model_validate", "model_validate_json", "parse_obj", "parse_raw"})


def asked_as_written(texts: Mapping[str, str], asking: Container[str] = ()) -> Invocation | None:
    """Return how the likeliest handler of a server is asked; None if none takes a question.

    `texts` are the modules of the server by path, that of the application first, `asking` those
    behind which a model is asked.
    """
    values = Values(Modules.of(texts))
    routed = list(routes_of(values.modules))
    posts = {one.route: one for one in routed if one.method == "post"}
    found = [
        (score + 5 * (one.path in asking), asked)
        for one in routed
        for score, asked in _handled(Handler(values, one), posts)
    ]
    score, asked = max(found, key=lambda one: one[0], default=(0, None))
    later = [one for one in found if one[1].later and one[0] + _LATER > _BARELY]
    if score <= _BARELY and later:
        return max(later, key=lambda one: one[0])[1]
    return asked if score > _BARELY else None


def _number(node: ast.expr | None) -> int:
    """Return a status, a number or as `status.HTTP_202_ACCEPTED`; 0 where there is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    found = re.search(r"HTTP_(\d{3})", name_of(node))
    return int(found[1]) if found else 0


@dataclass
class Sent:
    """What a request may hold, as far as it is known: its path, parameters of the query, fields of
    a form, and bodies by the name of their parameter, the only one of which stands for all.
    """

    route: str
    preset: str = ""
    query: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    bodies: dict[str, Any] = field(default_factory=dict)
    single: dict[str, Any] | None = None
    begun: str = ""
    left: list[str] = field(default_factory=list)

    def fill(self, place: str, value: Any) -> None:
        """Put a value into a place of the path, a mark into that of what was `begun`."""
        value = _BEGUN if place == self.begun else value
        self.route = re.sub(rf"\{{{place}(?::\w+)?\}}", str(value), self.route)


def _handled(handler: Handler, posts: Mapping[str, Routed]) -> Iterator[tuple[int, Invocation]]:
    """Yield how a handler is asked, and how likely it takes questions; `posts` are all that take a
    POST, by their paths.
    """
    route, method = handler.routed.route, handler.routed.method
    if is_looked_after(route):
        return
    said = route.endswith("/chat/completions") and method == "post"
    asked = handler.asked(route or "/")
    if said and (asked is None or asked.field == MESSAGES):
        asked = Invocation(route=route, preset="openai")
    if asked is None:
        return
    score = handler.likelihood(asked)
    if asked.field == MESSAGES and handler.speaks_ag_ui(asked):
        asked = Invocation(route=asked.route, preset="ag-ui")
    later = handler.later and f"({handler.routed.path}) {handler.later}"
    if begun := handler.begun(asked, posts):
        first = Handler(handler.values, posts[begun])
        yield score - 3, handler.after(first, asked)._replace(later=later)
    elif method == "post":
        yield score, asked._replace(later=later)
    elif "?" in asked.route and asked.field in {*ASKED, "q", "msg"}:
        yield score - 3, asked._replace(method="GET")


@dataclass(frozen=True)
class Handler:
    """A function of a server that answers a POST or a GET."""

    values: Values
    routed: Routed

    @cached_property
    def _read(self) -> RequestReading:
        return RequestReading.of(self.routed.function)

    def asked(self, route: str, begun: str = "") -> Invocation | None:
        """Return how it is asked at `route`, where a place may name what was `begun`; None where no
        text of it could be a question.
        """
        sent = self._sent(route, begun)
        if sent is None:
            return None
        if sent.preset:
            return Invocation(route=sent.route, preset=sent.preset)
        asked = self._with_question(sent)
        return asked and self._admitted(asked)

    def after(self, first: Handler, asked: Invocation) -> Invocation:
        """Return how it is asked after `first` has begun a conversation. Where the key of what that
        gives is not known, only its path is told.
        """
        path, route = first.routed.route, self.routed.route
        sent, keys = first._sent(path), keys_of(first.values, first.routed)
        place = re.match(r"/\{(\w+)", route.removeprefix(path)) if route.startswith(path) else None
        body = json.loads(asked.body or "{}")
        name = place[1] if place else next(filter(_NUMBERED.fullmatch, body), "")
        close = [one for one in keys if one in {name, "id", "uuid"} or _NUMBERED.fullmatch(one)]
        key = name if name in close or not keys else next(iter(close), "")
        if sent is None or not key or not name or "{" in sent.route:
            return asked._replace(begun=path)
        given = f"{{{{ begun.chat.{key} }}}}"
        if place:
            filled = self.asked(route, name) or asked
            asked = filled._replace(route=filled.route.replace(_BEGUN, given))
        else:
            asked = asked._replace(body=json.dumps({**body, name: given}))
        begins = first._admitted(Invocation(route=sent.route))
        told = sent.bodies if len(sent.bodies) > 1 else sent.single
        begin = Begin(sent.route, json.dumps(told or {}), begins.headers)
        login, env = asked.login or begins.login, asked.env or begins.env
        return asked._replace(begin=begin, login=login, env=env)

    def _sent(self, route: str, begun: str = "") -> Sent | None:
        """Return what a request to it holds; None where that is a file."""
        sent = Sent(route, begun=begun)
        for one, default in arguments(self.routed.function):
            if not self._add(sent, one, default):
                return None
        if self.routed.flask:
            for place in re.findall(r"\{(\w+)\}", route):
                number = f"int:{place}>" in ast.unparse(self.routed.made)
                sent.fill(place, 1 if number else SOME_TEXT)
            self._by_hand(sent)
        return sent

    def _add(self, sent: Sent, one: ast.arg, default: ast.expr | None) -> bool:
        """Add what a parameter wants of the request; False where that is a file."""
        path, kind = self.routed.path, plain(one.annotation)
        called = {called_by(node) for node in (default, *beside(one.annotation)) if node}
        if called & _ELSEWHERE or self.routed.flask:
            return True
        if called & _FILES or name_of(kind) in _FILES:
            return not needed(default, "File")
        if f"{{{one.arg}" in sent.route:
            sent.fill(one.arg, self._value(one, default))
        elif name_of(kind) == "RunAgentInput":
            sent.preset = "ag-ui"
        elif self.values.modules.meant(path, name_of(kind)) == "Request" or (
            kind is None and one.arg in {"request", "req"} and self._read.found
        ):
            self._by_hand(sent)
        elif model := self.values.model(path, name_of(kind)):
            sent.bodies[one.arg] = sent.single = self.values.fields(model, MOST_STEPS)
            every = self.values.fields(model, MOST_STEPS, every=True)
            sent.left += (
                key for key in every if _OF_FILES.fullmatch(key) and key not in sent.single
            )
            wanted = refused_without(self.routed.function, one.arg)
            sent.single |= {key: every[key] for key in every if key in wanted - {*sent.single}}
        else:
            self._add_value(sent, one, default, called)
        return True

    def _add_value(
        self, sent: Sent, one: ast.arg, default: ast.expr | None, called: Container[str]
    ) -> None:
        """Add a parameter that is a field of a form, a body or a key of it, or of the query."""
        kind = name_of(plain(one.annotation))
        made = next((name for name in ("Form", "Body") if name in called), "Query")
        if not (needed(default, made) or takes_question(one.arg)):
            return
        if made == "Form":
            sent.form[one.arg] = self._value(one, default)
        elif made == "Body" or kind in {"dict", "Dict"}:
            self._add_body(sent, one, default)
        elif kind in KINDS or one.annotation is None:
            sent.query[one.arg] = self._value(one, default)

    def _add_body(self, sent: Sent, one: ast.arg, default: ast.expr | None) -> None:
        """Add a parameter that is the body, or a key of it."""
        sent.bodies[one.arg] = self._value(one, default)
        own = RequestReading.of(self.routed.function, one.arg).keys("json")
        sent.single = own or self._model_read()
        embedded = isinstance(default, ast.Call) and keyword_of(default, "embed")
        if embedded or (name_of(plain(one.annotation)) in KINDS and not sent.single):
            sent.single = sent.bodies

    def _value(self, one: ast.arg, default: ast.expr | None) -> Any:
        return self.values.given(self.routed.path, one.arg, one.annotation, default, MOST_STEPS)

    def _by_hand(self, sent: Sent) -> None:
        """Add what it reads of its request itself."""
        sent.single = sent.single or self._model_read() or self._read.keys("json")
        sent.form |= self._read.keys("form")
        sent.query |= self._read.keys("query")

    def _admitted(self, asked: Invocation) -> Invocation:
        """Return the same with the headers that it demands, and what a login or a key of its own
        asks.
        """
        headers = dict(self._headers())
        access = access_of(self.values.modules, self.routed)
        if access is None:
            return asked._replace(headers=tuple(headers.items()))
        headers = {
            one: text for one, text in headers.items() if one.lower() != access.header.lower()
        }
        headers[access.header] = access.value
        env = ((access.variable, SOME_TEXT),) if access.variable else ()
        return asked._replace(headers=tuple(headers.items()), env=env, login=access.login)

    def speaks_ag_ui(self, asked: Invocation) -> bool:
        """Whether it reads a thread or a run beside the messages, and events of AG-UI are here."""
        keys = {*json.loads(asked.body or "{}"), *self._read.found.get("json", {})}
        own = self.values.modules
        return bool(keys & {"threadId", "runId"}) and any(map(own.says, _TOLD_OF_AG_UI))

    def _headers(self) -> Iterator[tuple[str, str]]:
        """Yield the headers that it demands, with values."""
        for one, default in arguments(self.routed.function):
            if isinstance(default, ast.Call) and called_by(default) == "Header":
                name = text_of(keyword_of(default, "alias")) or one.arg.replace("_", "-")
                if needed(default, "Header"):
                    yield name, str(self.values.value(self.routed.path, plain(one.annotation)))

    def _with_question(self, sent: Sent) -> Invocation | None:
        route = sent.route
        if not route.startswith("/") or not route.isprintable() or "{" in route:
            return None
        body = sent.bodies if len(sent.bodies) > 1 else sent.single
        for some in (body or {}, sent.form, sent.query):
            some.update(_chosen(self.values.modules, some))
        key = (self._spoken(body) or _asked_in(body)) if isinstance(body, dict) else ""
        form = not key and bool(found := _asked_in(sent.form))
        if form:
            key, body = found, sent.form
        asked = "" if key else _asked_in(sent.query)
        if sent.query:
            query = {name: one for name, one in sent.query.items() if asked or one != PROMPT}
            route += "?" + "&".join(f"{name}={value}" for name, value in query.items())
        if not key and not asked:
            return None
        told = self.told(key or asked)
        return Invocation(
            route=route,
            field=key or asked,
            answer=told.answer,
            stream=told.stream,
            pieces=told.streams and not told.stream,
            form=form,
            body=json.dumps(body if isinstance(body, dict) else {}),
            left=tuple(sent.left),
        )

    def _spoken(self, body: dict[str, Any]) -> str:
        """Put the question into a list of which it reads keys that are its own, where no field
        alone is the question; return its name, "" for none.
        """
        if any(body.get(one) == SOME_TEXT for one in ASKED):
            return ""
        for name in [one for one, value in body.items() if value == []]:
            if listed := listed_in(self.routed.function, name):
                body[name] = listed
                return name
        return ""

    def told(self, asked: str) -> Told:
        """Return where its answer stands."""
        return told_of(self.values, self.routed, asked.rpartition(".")[2])

    def likelihood(self, asked: Invocation) -> int:
        """Return how much speaks for a handler as the one that takes questions."""
        place = asked.route.partition("?")[0]
        parts = [one for one in place.lower().split("/") if one not in {"", SOME_TEXT}]
        last = parts[-1] if parts else ""
        key = asked.field.rpartition(".")[2]
        score = (
            (4 if key in ASKED else 3 * takes_question(key))
            + 3 * is_asked(last)
            + is_asked(f"{place} {self.routed.function.name}")
            + 2 * bool(asked.answer)
        )
        aside = bool(_BESIDE.search(last))
        kinds = [name_of(plain(one.annotation)) for one, _ in arguments(self.routed.function)]
        untyped = kinds == ["Request"] and not self._model_read()
        return (
            score
            - 6 * aside
            - _LATER * bool(self.later)
            - 2 * (self.told(asked.field).streams + untyped)
            - 3 * place.count(SOME_TEXT)
        )

    @cached_property
    def later(self) -> str:
        """What it answers in place of an answer, which is elsewhere; "" for any other."""
        status = keyword_of(self.routed.made, "status_code")
        if _number(status) == 202 or goes_on_without(self.values, self.routed):
            return "and answers only that it began: its agent works in the background"
        if keeps_to_itself(self.values, self.routed):
            return "and answers only whether it went well: what its agent says goes elsewhere"
        return ""

    def begun(self, asked: Invocation, posts: Collection[str]) -> str:
        """Return the path of `posts` that makes what a number of this request names, so that it has
        to come before; "" for none.
        """
        route = self.routed.route
        before, place, _ = route.partition("/{")
        if place and before in posts:
            return before
        if "404" not in ast.unparse(self.routed.function):
            return ""
        names = [*re.findall(r"\{(\w+)", route), *json.loads(asked.body or "{}")]
        words = [found[1].lower() for one in names if (found := _NUMBERED.fullmatch(one))]
        made = ((post, post.rstrip("/").rpartition("/")[2].lower()) for post in posts)
        return next((post for post, last in made if any(map(last.startswith, words))), "")

    def _model_read(self) -> dict[str, Any]:
        """Return the fields of the model that it makes of its request itself."""
        for node in ast.walk(self.routed.function):
            if not isinstance(node, ast.Call):
                continue
            made: ast.expr | None = node.func
            if isinstance(made, ast.Attribute):
                made = made.value if made.attr in _VALIDATES else None
            elif all(one.arg for one in node.keywords):  # nothing as `**data`
                made = None
            if model := self.values.model(self.routed.path, name_of(made)):
                return self.values.fields(model, MOST_STEPS)
        return {}


def _chosen(modules: Modules, some: Mapping[str, Any]) -> dict[str, str]:
    """Return the first text that the program compares a field with, for fields that choose."""
    names = [key for key, value in some.items() if value == SOME_TEXT and _CHOOSES.search(key)]
    found: dict[str, str] = {}
    for path in modules.trees if names else ():
        for node in (one for one in modules.nodes(path) if isinstance(one, ast.Compare)):
            lowered = node.left.func if isinstance(node.left, ast.Call) else None
            held = lowered.value if isinstance(lowered, ast.Attribute) else node.left
            for key in names:
                if name_of(held) in {key, key.rpartition("_")[2]} and not found.get(key):
                    texts = modules.texts(path, node.comparators[0])
                    found[key] = next(filter(None, texts), "")
    return {key: text for key, text in found.items() if text}


def _asked_in(body: dict[str, Any]) -> str:
    """Put the question into the likeliest field of a body, and return its name, "" for none.

    A field of a model inside it is named with a dot.
    """
    texts = [key for key, value in body.items() if value == SOME_TEXT]
    lists = [key for key, value in body.items() if isinstance(value, list)]
    exact = [one for one in ASKED if one in texts and one != MESSAGES]
    told = [one for one in ASKED if one in lists]
    several = [one for one in lists if body[one] == [SOME_TEXT] and one in QUESTIONS]
    named = [one for one in texts if takes_question(one)]
    inner = [(key, value) for key, value in body.items() if isinstance(value, dict)]
    if not exact and several:
        body[several[0]] = [PROMPT]
        return several[0]
    if found := next(iter([*exact, *named]), ""):
        body[found] = PROMPT
        return found
    if told:
        plain_texts = body[told[0]] == [SOME_TEXT]
        body[told[0]] = [PROMPT] if plain_texts else body[told[0]] or "{{ messages }}"
        return MESSAGES if body[told[0]] == "{{ messages }}" else told[0]
    for key, value in inner:
        if found := _asked_in(value):
            return f"{key}.{found}"
    rest = [one for one in TOPICS if one in texts]
    rest += [one for one in texts if not names_identity(one)]
    if rest:
        body[rest[0]] = PROMPT
    return rest[0] if rest else ""
