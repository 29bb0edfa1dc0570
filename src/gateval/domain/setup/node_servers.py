"""How a server of Express, Hono, Fastify, Koa or Elysia is asked: at which of its routes, and what
comes before, a login or a request that begins a conversation.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence

from gateval.domain.setup.invocation import PROMPT, Begin, Invocation
from gateval.domain.setup.node_routes import (
    BEGINS,
    NodeRoute,
    answer_of,
    asked_at,
    body_of,
    likeliest,
    told_by,
)
from gateval.domain.setup.node_text import braced, definition, parts, without_comments
from gateval.domain.setup.node_types import NodeTypes
from gateval.domain.setup.openapi import SOME_TEXT, SOME_UUID, is_looked_after
from gateval.domain.setup.program import ASKED_BY_GET, BY_ADDRESS, NODE_ROUTE

_CONVERSATION = re.compile(r"(?:thread|session|conversation|chat)_?id", re.I)
_BEGINNING = re.compile(
    r"/(?:threads?|sessions?|conversations?|chats?)(?:/(?:new|create|start|init))?/?$", re.I
)
_MAKES_THREAD = re.compile(r"\bthreads\.create\(")
_THREADS = re.compile(
    r"\.get\(\s*[\"'`](/[^\"'`:\n]*)[\"'`]\s*,(?=(?:(?!\.(?:get|post)\(\s*[\"'`]/).)*?\bthreads\.create\()",
    re.S,
)
"""A route asked by GET that makes the thread which another one has to name."""

_PLACE = re.compile(r"/:(\w+)")
_HELPER = re.compile(r"\b(?:(\w+)\.)?(\w+)\s*[,)]?\s*$")
_WRAPPED = re.compile(r"\w+\(\s*((?:\w+\.)?\w+)\s*\)\s*$")
_GUARD = (
    r"((?:\w+\.)?(?:auth(?:enticate\w*|Middleware|Guard|Required)?|(?:require|ensure|check|verify|is)_?(?:Auth\w*"
    r"|Token|JWT|Jwt|User|LoggedIn|Login)|protect(?:ed|Route)?|jwt|bearerAuth|jwtAuth|authorize\w*)\b)"
)
_GUARDED = re.compile(rf"{_GUARD}(?:\s*\([^()]*(?:\([^()]*\)[^()]*)*\))?")
_HOOKED = re.compile(rf"\b(?:preHandler|onRequest|preValidation)\s*:\s*\[?\s*{_GUARD}")
_USED = re.compile(rf"\b(\w+)\.use\(\s*(?:[\"'`](/[^\"'`\n]*)[\"'`]\s*,\s*)?{_GUARD}\s*[(,)]")
_REJECTS = re.compile(r"\b40[13]\b|\b[Uu]nauth(?:ori[sz]ed|enticated)\b|\bthrow\b")
_CREDENTIALS = re.compile(
    r"\bheaders\??\.authorization\b|\bheaders\[[\"']authorization|\bheader\([\"']authorization|\bgetAuth\(",
    re.I,
)


def asked_as_handled(texts: Mapping[str, str], asking: Container[str] = ()) -> Invocation | None:
    """Return how the likeliest route of a server is asked; None if it has none that takes a POST.

    `texts` are the files of the server by path, routes with the paths of their routers, `asking`
    those behind which a model is asked.
    """
    plain = {path: without_comments(text) for path, text in texts.items()}
    whole = "\n".join(plain.values())
    types = NodeTypes.of(whole)
    routes = [one for one in _routes(plain, whole) if not is_looked_after(one.path)]
    found = [(one, asked_at(one, types)) for one in routes]
    found = found or list(_by_get(plain))
    known = likeliest(found, asking)
    route = next((one for one, asked in found if asked is known), None)
    if known is None or route is None:
        return None
    if wants_login(route, plain):
        return known._replace(login=True)
    return _after(known, [one for one in routes if one.path != route.path], whole, types)


def _by_get(texts: Mapping[str, str]) -> Iterator[tuple[NodeRoute, Invocation]]:
    """Yield the routes that take their question in the address."""
    for file, text in texts.items():
        for one in ASKED_BY_GET.finditer(text):
            handler = braced(text, text.find("(", one.start()) + 1)
            key = re.search(
                rf"(?:query\W+|\{{\s*)({BY_ADDRESS})\b", handler[len(one["place"]) + 2 :]
            )
            name = key[1] if key else "prompt"
            answer, stream = answer_of(handler)
            route = f"{one['place']}?{name}={PROMPT}"
            asked = Invocation(route=route, field=name, answer=answer, stream=stream, method="GET")
            yield NodeRoute(one["place"], handler, file), asked


def _routes(texts: Mapping[str, str], whole: str) -> Iterator[NodeRoute]:
    for file, text in texts.items():
        for one in NODE_ROUTE.finditer(text):
            named = one["name"]
            place = one["place"] or one["routed"] or one["plain"] or one["listed"]
            place = place or one["served"]
            if named:
                kept = re.search(
                    rf"\b{named.rpartition('.')[2]}\s*[=:]\s*[\"'`](/[^\"'`\n]*)", whole
                )
                place = kept[1] if kept else ""
            if place is None or (named and not place):
                continue
            if one["plain"] or one["served"]:
                yield NodeRoute(place, text[one.end() : one.end() + 4_000], file)
                continue
            inner = braced(text, text.find("(", one.start()) + 1)
            if one["listed"]:
                inner = text[one.start() : one.end() + 4_000]
            elif one["routed"]:
                inner = braced(text, one.end())
            given = one[0] if one["place"] is not None else ""
            yield NodeRoute(place or "/", f"{given}\n{_handler(inner, whole)}", file)


def _handler(inner: str, whole: str) -> str:
    """Return what a route is given, with the function that its last word names."""
    last = [one for one in parts(inner) if one.strip()][-1:] or [""]
    wrapped = _WRAPPED.search(last[0].strip())
    named = _HELPER.fullmatch(wrapped[1] if wrapped else last[0].strip())
    called = re.findall(r"\b(\w+)\.(\w+)\(\s*(?:req|c|ctx|request)\b", last[0])
    called += re.findall(r"()\b(\w+)\(\s*(?:req|c|ctx|request)\s*,\s*(?:res|reply)\b", last[0])
    names = [named[2]] if named else [name for _, name in called]
    return inner + "".join(f"\n{definition(one, whole)}" for one in names)


def wants_login(route: NodeRoute, texts: Mapping[str, str]) -> bool:
    """Whether a route answers those alone who have logged in: something in front of its handler
    says so by its name and refuses others, or the handler refuses who has no token.
    """
    whole = "\n".join(texts.values())
    _, _, inner = route.handler.partition("\n")
    before = (_GUARDED.fullmatch(one.strip(" []\n\t")) for one in [*parts(inner)][1:])
    guards = [one[1] for one in (*before, _HOOKED.search(inner[:400])) if one]
    for file, text in texts.items():
        for one in _USED.finditer(text):
            near = file == route.file or one[1] == "app"
            if f"{route.path}/".startswith(one[2].rstrip("*")) if one[2] else near:
                guards.append(one[3])
    defined = [definition(one.rpartition(".")[2], whole) for one in guards]
    if any(not one or _REJECTS.search(one) for one in defined):
        return True
    return bool(_CREDENTIALS.search(route.handler) and _REJECTS.search(route.handler))


def _after(
    asked: Invocation, routes: Sequence[NodeRoute], whole: str, types: NodeTypes
) -> Invocation:
    """Return how a route is asked after another one has begun the conversation that it names, in
    its path or in a key of its body.
    """
    place = _PLACE.search(asked.route)
    body = json.loads(asked.body) if asked.body else {}
    held = [one for one in body if _CONVERSATION.fullmatch(one)]
    key = next((one for one in held if body[one] in (SOME_TEXT, SOME_UUID)), "")
    if place:
        begins = [one for one in routes if one.path.rstrip("/") == asked.route[: place.start()]]
    else:
        begins = [one for one in routes if _begins(one)] if key else []
    name = place[1] if place else key
    for one in begins:
        told = next((found for keys in told_by(one.handler) if (found := _named(name, keys))), "")
        if told:
            given = f"{{{{ begun.chat.{told} }}}}"
            begin = Begin(one.path, json.dumps(body_of(one.handler, types)))
            asked = asked._replace(begin=begin)
            if place:
                return asked._replace(route=asked.route.replace(place[0], f"/{given}", 1))
            return asked._replace(body=json.dumps({**body, key: given}))
    if made := next((one for one in begins if _MAKES_THREAD.search(one.handler)), None):
        return asked._replace(begun=f"POST {made.path}")
    by_get = _THREADS.search(whole) if key else None
    return asked._replace(begun=f"GET {by_get[1]}") if by_get else asked


def _begins(route: NodeRoute) -> bool:
    """Whether a route begins a conversation, by its path or by what it makes."""
    named = _BEGINNING.search(route.path) or BEGINS.search(route.path)
    return bool(named or _MAKES_THREAD.search(route.handler))


def _named(name: str, keys: Sequence[str]) -> str:
    """Return the key of what begins a conversation that says its number; "" for none."""
    plain = name.replace("_", "").lower()
    alike = [one for one in keys if one.replace("_", "").lower() == plain]
    numbers = [one for one in keys if re.search(r"(?:^i|I|_i)d$", one)]
    named = [one for one in numbers if _CONVERSATION.fullmatch(one)]
    return next(iter([*alike, *named, *(one for one in numbers if one == "id")]), "")
