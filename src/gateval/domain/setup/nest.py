"""How a server of NestJS is asked and started: by its controllers, their DTOs and `main.ts`. Pure.

What a program says is read, never run. Its dependencies are injected by the types that decorators
keep, which the compiler of TypeScript alone writes down: so `ts-node` starts it, and not `tsx`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from gateval.domain.setup.invocation import ANSWERED, Invocation
from gateval.domain.setup.node_routes import NodeRoute, answer_of, likeliest, question_in
from gateval.domain.setup.node_text import body_behind, braced, definition, parts, without_comments
from gateval.domain.setup.node_types import NodeTypes
from gateval.domain.setup.openapi import SOME_TEXT, is_looked_after, takes_question

_MADE = re.compile(r"\bNestFactory\.create\b")
_CONTROLLER = re.compile(r"@Controller\(")
_CLASS = re.compile(r"\bclass\s+\w+[^{]*\{")
_METHOD = re.compile(r"@(Post|Get|Sse|All)\(")
_GLOBAL = re.compile(r"\.setGlobalPrefix\(\s*([^,)]+)")
_VERSIONED = re.compile(r"\.enableVersioning\(")
_BY_PATH = re.compile(r"VersioningType\.URI|\.enableVersioning\(\s*\)")
_VERSION = re.compile(
    r"\b(?:defaultVersion|version)\s*:\s*\[?\s*[\"'`]([\w.]+)|@Version\(\s*[\"'`]([\w.]+)"
)
_QUOTED = re.compile(r"\s*[\"'`]([^\"'`\n]*)[\"'`]")
_PATH = re.compile(r"\bpath\s*:\s*\[?\s*[\"'`]([^\"'`\n]*)")
_DECORATED = re.compile(r"\s*@\w+\s*(\(?)")
_FORM = re.compile(r"@Uploaded(?:File|Files)\(|\bFileInterceptor\(|\bFilesInterceptor\(")
_ELSEWHERE = ("@Res(", "@Req(", "@Request(", "@Response(", "@Headers(", "@Session(", "@Ip(")
_NAMED = re.compile(r"([\w]+)\s*(\??)\s*:\s*(.+)", re.S)
_TAKEN = re.compile(r"\{([^}]*)\}\s*:\s*(.+)", re.S)
_SERVICE = re.compile(r"\bthis\.\w+\.(\w+)\(")
_GIVES = re.compile(r"\s*:\s*(?:Promise<\s*)?(\w+|\{[^}]*\})")
_PLACE = re.compile(r":(\w+)(?:\([^)]*\))?\??")
_BEGINS = re.compile(r"thread|session|conversation|chat|room", re.I)

_START = ("node", "-r", "ts-node/register/transpile-only", "-r", "tsconfig-paths/register", "-e")


def nest_start(file: str) -> tuple[str, ...]:
    """Return what starts a file of TypeScript with what its decorators say, and the project's names
    for folders: it is required, for as an entry Node would not have ts-node read it where something
    is imported before.
    """
    return (*_START, f"require({json.dumps(f'./{file}')})")


NEEDED = ("ts-node", "tsconfig-paths")


def is_nest(text: str) -> bool:
    """Whether a file makes an application of NestJS."""
    return bool(_MADE.search(text))


class NestHandler(NamedTuple):
    """A method of a controller that answers at a path."""

    route: NodeRoute
    method: str
    given: str
    gives: str


def nest_asked(texts: Mapping[str, str], asking: Container[str] = ()) -> Invocation | None:
    """Return how the likeliest handler of a server is asked; None where none takes a question.

    `texts` are the files of the server by path, that with its `NestFactory` first, `asking` those
    behind which a model is asked.
    """
    plain = {path: without_comments(text) for path, text in texts.items()}
    types = NodeTypes.of("\n".join(plain.values()))
    before, version = _around(next(iter(plain.values()), ""), types.text)
    every = [one for path, text in plain.items() for one in _handlers(path, text, before, version)]
    every = [one for one in every if not is_looked_after(one.route.path)]
    if known := likeliest([(one.route, _asked(one, types)) for one in every], asking):
        return known
    posts = {one.route.path for one in every if one.method == "Post"}
    places = (one.route.path for one in every if one.route.file in asking)
    begun = next((one for one in places if one.partition("/:")[0] in posts and "/:" in one), "")
    return Invocation(route=begun, begun=begun) if begun else None


def _around(main: str, whole: str) -> tuple[str, str]:
    """Return the path before all routes, and the version in it, as `main.ts` sets them."""
    given = _GLOBAL.search(main) or _GLOBAL.search(whole)
    version = ""
    if (set_ := _VERSIONED.search(main)) and _BY_PATH.search(main):
        told = _VERSION.search(braced(main, set_.end()))
        version = str(told[1] or "") if told else ""
    return (_text(given[1], whole) if given else "").strip("/"), version


def _text(given: str, whole: str) -> str:
    """Return a text that is written there, or the one of a constant or a default."""
    quoted: list[str] = re.findall(r"[\"'`]([^\"'`\n]*)[\"'`]", given)
    if quoted:
        return quoted[-1] if "(" in given or "||" in given or "??" in given else quoted[0]
    name = re.fullmatch(r"\s*(?:\w+\.)*(\w+)\s*", given)
    kept = name and re.search(rf"\b{name[1]}\b\s*(?::[^=\n]+)?[=:]\s*([^;,\n]+)", whole)
    found: list[str] = re.findall(r"[\"'`]([^\"'`\n]*)[\"'`]", kept[1]) if kept else []
    return found[-1] if found and not found[-1].isupper() else ""


def _handlers(path: str, text: str, before: str, version: str) -> Iterator[NestHandler]:
    """Yield the methods of a file's controllers that answer a request."""
    for part in _from(_CONTROLLER, text):
        given = braced(part, part.index("(") + 1)
        own = _VERSION.search(given)
        prefix = _given_path(given, text)
        made = _CLASS.search(part)
        body = braced(part, made.end()) if made else ""
        for method in _from(_METHOD, body):
            said = braced(method, method.index("(") + 1)
            its = _VERSION.search(method.partition("{")[0]) or own
            kept = (its[1] or its[2]) if its else version
            spoken = f"v{kept}" if kept and version else ""
            whole = "/".join(
                filter(
                    None,
                    (
                        piece.strip("/")
                        for piece in (before, spoken, prefix, _given_path(said, text))
                    ),
                )
            )
            name, taken, does, gives = _method(method[method.index("(") + len(said) + 2 :])
            kind = method[1 : method.index("(")]
            yield NestHandler(NodeRoute(f"/{whole}", does, path, name), kind, taken, gives)


def _from(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the parts of a text that begin where the pattern is found."""
    places = [*(one.start() for one in pattern.finditer(text)), len(text)]
    yield from (text[start:end] for start, end in pairwise(places))


def _given_path(given: str, text: str) -> str:
    if quoted := _QUOTED.match(given):
        return quoted[1]
    if path := _PATH.search(given):
        return path[1]
    listed = re.match(r"\s*\[\s*[\"'`]([^\"'`\n]*)", given)
    name = re.match(r"\s*[A-Za-z_][\w.]*\s*$", given)
    return listed[1] if listed else _text(given, text) if name else ""


def _method(text: str) -> tuple[str, str, str, str]:
    """Return the name of a method, its parameters, what it does, and the type that it gives; `text`
    begins behind its first decorator.
    """
    rest, decorators = text, ""
    while decorated := _DECORATED.match(rest):
        inner = braced(rest, decorated.end()) + ")" if decorated[1] else ""
        decorators += rest[: decorated.end() + len(inner)]
        rest = rest[decorated.end() + len(inner) :]
    named = re.match(r"\s*(?:(?:public|private|async)\s+)*(\w+)\s*\(", rest)
    if named is None:
        return "", "", "", ""
    given = braced(rest, named.end())
    does = body_behind(rest, named.end() + len(given) + 1)
    gives = _GIVES.match(rest, named.end() + len(given) + 1)
    return named[1], given, f"{decorators}\n{does}", gives[1] if gives else ""


def _asked(handler: NestHandler, types: NodeTypes) -> Invocation | None:
    """Return how a handler is asked; None where nothing that it takes could be a question."""
    route, given = handler.route, handler.given
    if _FORM.search(route.handler + given):
        return None
    body: dict[str, Any] = {}
    query: dict[str, Any] = {}
    places: dict[str, Any] = {}
    for one in parts(given):
        decorated, taken = one.strip(), one.strip()
        inner = ""
        while mark := _DECORATED.match(taken):
            inside = braced(taken, mark.end()) if mark[1] else ""
            inner = inner or next(iter(_QUOTED.findall(inside)), "")
            taken = taken[mark.end() + len(inside) + bool(mark[1]) :]
        if any(sign in decorated for sign in _ELSEWHERE):
            continue
        fields = _fields(taken, inner, types, route.handler)
        if "@Body(" in decorated:
            body |= fields
        elif "@Query(" in decorated:
            query |= fields
        elif "@Param(" in decorated:
            places |= fields
    return _with_question(handler, body, query, places, types)


def _fields(taken: str, key: str, types: NodeTypes, does: str) -> dict[str, Any]:
    """Return what a parameter demands: one `key`, or the fields of its type."""
    named = _NAMED.match(taken.strip()) or _TAKEN.match(taken.strip())
    kind = named[named.lastindex or 0].partition(" = ")[0].strip() if named else ""
    if key:
        optional = bool(named and named.re is _NAMED and named[2]) or " = " in taken
        return {} if optional and not takes_question(key) else {key: types.value(kind)}
    if found := types.fields(kind):
        return found
    name = re.match(r"\w+", taken.strip())
    read = rf"\b{name[0]}\??\.(\w+)\b(?!\()" if name else r"(?!)"
    keys = re.findall(read, does)
    keys += [one.strip() for one in (named[1].split(",") if named and named.re is _TAKEN else [])]
    return {one: SOME_TEXT for one in dict.fromkeys(keys) if takes_question(one)}


def _with_question(
    handler: NestHandler,
    body: dict[str, Any],
    query: dict[str, Any],
    places: dict[str, Any],
    types: NodeTypes,
) -> Invocation | None:
    route = handler.route
    behind = "".join(f"\n{definition(one, types.text)}" for one in _SERVICE.findall(route.handler))
    field = question_in(body) if handler.method in {"Post", "All"} else ""
    asked = field or question_in(query)
    if not asked:
        return None
    path = _PLACE.sub(lambda one: str(places.get(one[1], SOME_TEXT)), route.path)
    if query:
        path += "?" + "&".join(f"{one}={value}" for one, value in query.items())
    answer, stream = answer_of(
        f"{route.handler}\n{behind}" if "@Res(" in handler.given else route.handler
    )
    if not (answer or stream) and handler.method != "Sse":
        answer, stream = answer_of(behind)
    said = types.fields(handler.gives) if not (answer or stream) else {}
    answer = answer or next((one for one in ANSWERED if one in said), "")
    begun = _PLACE.search(route.path)
    return Invocation(
        route=path,
        field=asked,
        answer=answer or ("data" if handler.method == "Sse" else ""),
        stream=stream,
        method="" if handler.method in {"Post", "All"} else "GET",
        body=json.dumps(body) if field and (len(body) > 1 or "." in field) else "",
        sure=takes_question(asked.rpartition(".")[2]),
        begun=route.path if begun and _BEGINS.search(begun[1]) else "",
    )
