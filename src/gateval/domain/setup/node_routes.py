"""How a route of Express, Hono, Fastify, Koa or Elysia is asked, by its handler.

What a program says is read, never run. A body made of a handler is a guess: its type or its schema
says what has to be there, else what it refuses to be without. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

from gateval.domain.setup.invocation import (
    ANSWERED,
    ASKED,
    MESSAGES,
    PROMPT,
    TOPICS,
    Invocation,
)
from gateval.domain.setup.node_text import braced, definition, parts, rest_of_statement
from gateval.domain.setup.node_types import NodeTypes, asked_message, message_in
from gateval.domain.setup.openapi import SOME_TEXT, is_identity, takes_question
from gateval.domain.setup.program import BESIDE, is_asked
from gateval.domain.setup.zod import schema_fields

_READ = (
    r"(?:\(\s*)?(?:await\s+)?(?:\w+\.)?(?:(?:req(?:uest)?|ctx\.req(?:uest)?|c\.req)\.(?:body|json)\b|readBody\b"
    r"|c\.req\.valid\(\s*[\"'`]json|JSON\.parse\b|\w+\.(?:safeP|p)arse(?:Async)?\(\s*(?:await\s+)?(?:req|c\.req|request)\b)"
)
_OF_TYPE = r"(?::\s*+(\{[^{}=]{0,500}\}|[^=;]{1,200}?)\s*)?"
_KEYS = re.compile(
    rf"\b(?:const|let|var)\s*\{{([^;]{{0,600}}?)\}}\s*{_OF_TYPE}=\s*{_READ}([^;\n]*)"
)
_BODY = re.compile(rf"\b(?:const|let|var)\s+(\w+)\s*{_OF_TYPE}=\s*{_READ}([^;\n]*)")
_DIRECT = re.compile(r"\b(?:req|request|ctx\.request)\.body\??\.(\w+)\b(?!\()")
_CHECKED = re.compile(r"\btypeof\s+(?:body|b|data|payload|input|raw)\.(\w+)\s*!==")
_AS = re.compile(r"\bas\s+(?:unknown\s+as\s+)?(\{[^}]*\}|[\w.]+(?:<[^>]*>)?)")
_JSON_OF = re.compile(r"\.json<\s*(\{[^}]*\}|\w+)\s*>")
_BODY_TYPE = re.compile(r"\bBody\s*:\s*(\{[^}]*\}|\w+)")
_REQUEST = re.compile(
    r"\bRequest<[^,<>]{0,200}(?:<[^>]{0,200}>\s*)?,[^,<>]{0,200},\s*(\{[^}]*\}|\w+)"
)
_PARSED = re.compile(
    r"\b(\w+)\.(?:safeP|p)arse(?:Async)?\(|[zZ]Validator\(\s*[\"']json[\"']\s*,\s*(\w+)"
    r"|\bvalidate\w*\(\s*(\w+)\s*[,)]|\b(?:body|schema)\s*:\s*(\w+)\b(?!\s*\()"
)
_INLINE = re.compile(
    r"\bbody\s*:\s*(?=(?:t|z|Type|v)\.\w*[oO]bject\(|\{)|[zZ]Validator\(\s*[\"']json[\"']\s*,\s*(?=z\.)"
    r"|(?=\bz\.object\(\{)"
)
_PARSES = re.compile(r"\s*\)(?:\s*\.\w+\([^()]*\))*?\s*\.(?:safeP|p)arse")
_TAKEN = re.compile(r"\(\s*\{[^}]{0,500}\bbody\b[^}]{0,500}\}")
_OF_BODY = re.compile(r"\bbody\s*:\s*\{([^}]*)\}")
SETTING = re.compile(
    r"(?i)temperature|top_?[pk]|max_?\w*|limit|timeout\w*|stream\w*|seed|model|provider|history"
    r"|options?|debug"
)
_STATUS = frozenset({"success", "ok", "status", "error", "message_id", "code", "details"})
_REPLY = re.compile(
    r"(?:\.(?:json|send)|\bctx\.body\s*=|\bc\.json|\breturn|Response\.json)\s*\(?\s*\{"
)
_FAILED = re.compile(r"\.status\(\s*[45]\d\d\s*\)\s*\.?$|\bcode\(\s*[45]\d\d\s*\)\s*\.?$")
_OF_A_MODEL = re.compile(
    r"\b(\w+)\s*:\s*(?:await\s+)?(?!(?:body|req|request|dto|input|payload|ctx)\b)\w+(?:\.\w+|\[0\])*\.(?:text|output_?[tT]ext|finalOutput|content)\s*[,}\n]"
)
"""A key that is given what a model said."""

_AI_SDK = re.compile(
    r"\b(?:pipe|to|create)\w*(?:U[iI]MessageStream|AgentUIStream|DataStream|AIStream)(?:To)?Response\("
)
_OF_THE_PAGE = re.compile(
    r"\bconvertTo(?:Model|Core)Messages\(|\bUIMessage\b|\buiMessages\s*:|(?<!content)(?<!content[!?])\.parts!?\??\.(?:map|filter|find|some|flatMap)\("
)
"""How a handler shows that it takes messages as the page of the AI SDK has them."""

_EVENT_STREAM = re.compile(r"text/event-stream|\bstreamSSE\(")
_OF_RESPONSES = re.compile(r"[\"']response\.(?:completed|failed|output_text\.delta)[\"']")
"""How a handler shows that it streams events of the Responses API."""

_EVENT = re.compile(r"data:\s*\$\{\s*JSON\.stringify\(\s*\{|\bdata\s*:\s*JSON\.stringify\(\s*\{")
BEGINS = re.compile(
    r"(?:create|start|new|init|begin)[-_]?(?:thread|session|conversation|chat)", re.I
)
_CONVERSATION = re.compile(r"\"(?:thread|session|conversation|chat)_?id\"", re.I)


class NodeRoute(NamedTuple):
    """A route that takes a question: its path, its handler, the file of it, and its name there."""

    path: str
    handler: str
    file: str
    name: str = ""


def likeliest(
    found: Sequence[tuple[NodeRoute, Invocation | None]], asking: Container[str]
) -> Invocation | None:
    """Return how the likeliest of these routes is asked; where some stand in files behind which a
    model is asked, only those count.
    """
    near = [one for one in found if one[0].file in asking] or found
    begun = {one.file for one, _ in found if BEGINS.search(f"{one.path} {one.name}")}
    scored = [(_likelihood(asked, one, begun), asked) for one, asked in near if asked]
    return max(scored, key=lambda one: one[0], default=(0, None))[1]


def asked_at(route: NodeRoute, types: NodeTypes) -> Invocation:
    """Return how a route is asked."""
    fields = _asked_as_message(body_of(route.handler, types), route.handler)
    field = question_in(fields)
    last = field.partition(".parts")[0].rpartition(".")[2]
    if _OF_THE_PAGE.search(route.handler) and field == MESSAGES:
        more = {one: value for one, value in fields.items() if one not in {MESSAGES, "id"}}
        if not more:
            return Invocation(route=route.path, field=MESSAGES, preset="aisdk")
    answer, stream = answer_of(route.handler)
    return Invocation(
        route=route.path,
        field=field or "message",
        answer=answer,
        stream=stream,
        body=json.dumps(fields) if field and len(fields) > 1 else "",
        sure=takes_question(last) or last in TOPICS,
    )


def question_in(fields: dict[str, Any]) -> str:
    """Put the question into the field of a body that takes it, and return its name; "" for none."""
    for name, value in fields.items():
        if takes_question(name) and (message := asked_message(value)):
            fields[name] = message
            return f"{name}.{'parts' if 'parts' in message else 'content'}"
    texts = [one for one, value in fields.items() if isinstance(value, str) and one != MESSAGES]
    known = [one for one in ASKED if one in texts]
    known += [MESSAGES] if MESSAGES in fields else []
    known += [one for one in texts if takes_question(one)]
    known += [one for one in TOPICS if one in texts]
    alone = [one for one in texts if not is_identity(one) or one == "code"]
    alone = [one for one in alone if not SETTING.fullmatch(one)] or alone
    known += alone if len(alone) == 1 else []
    for name in known[:1]:
        fields[name] = "{{ messages }}" if name == MESSAGES else PROMPT
        return name
    for name, inner in fields.items():
        if isinstance(inner, dict) and (deeper := question_in(inner)):
            return f"{name}.{deeper}"
    return ""


def body_of(handler: str, types: NodeTypes) -> dict[str, Any]:
    """Return the fields that a handler demands, with values, and those that may take a question."""
    read = list(dict.fromkeys(_keys_read(handler)))
    bodies = "|".join(["req", "request", "ctx", "event", *_bodies(handler)])
    parsed = [
        next(filter(None, one.groups()))
        for one in _PARSED.finditer(handler)
        if not (one[1] and read)  # of a model's answer, it may be
        or re.search(rf"\b(?:{bodies})\b", braced(handler, one.end()))
    ]
    for name in (one for one in parsed if one in types.schemas):
        return schema_fields(types.schemas[name], types.schemas)
    for one in _INLINE.finditer(handler):
        if not one[0] and not _PARSES.match(handler, _end_of_object(handler, one.end())):
            continue  # `inputSchema: z.object(…)` is that of a tool, or of a model's answer
        if found := schema_fields(handler[one.end() :], types.schemas):
            return found
    named = [one[1] for one in (*_BODY_TYPE.finditer(handler), *_REQUEST.finditer(handler))]
    for pattern in (_KEYS, _BODY):
        for one in pattern.finditer(handler):
            rest = rest_of_statement(handler, one.start(3))
            named = [*_types_of(one[2], rest), *named]
    named += re.findall(r"\}\s*=\s*\(?\s*\w+\s+as\s+(\w+)", handler)
    known = (types.fields(kind) for kind in named)
    whole = {one for one in read if _is_whole(one, handler, types.text)}
    needed = [one for one in read if one in whole or _is_needed(one, handler)]
    if found := next(filter(None, known), {}):
        more = [one for one in needed if one not in found and not takes_question(one)]
        return found | {one: _some(one, handler) for one in more if one not in whole}
    plain = [one for one in read if one == "code" or not is_identity(one)]
    plain = [one for one in plain if not _is_made_up(one, handler)] or plain
    return {one: {} if one in whole else _some(one, handler) for one in needed or plain}


def _asked_as_message(fields: dict[str, Any], handler: str) -> dict[str, Any]:
    """Return the fields, those that a handler reads as a message as one."""
    texts = (one for one, value in fields.items() if value == SOME_TEXT and takes_question(one))
    return fields | {one: held for one in texts if (held := message_in(one, handler))}


def _end_of_object(text: str, start: int) -> int:
    """Return where the first object behind `start` has ended."""
    begun = text.find("{", start) + 1
    return begun + len(braced(text, begun)) + 1


def _bodies(handler: str) -> set[str]:
    """Return the variables that hold the body."""
    taken = {"body"} if _TAKEN.search(handler) else set()
    return {one[1] for one in _BODY.finditer(handler)} | taken


def _keys_read(handler: str) -> Iterator[str]:
    """Yield the keys that a handler reads of its body."""
    for one in _KEYS.finditer(handler):
        yield from _destructured(one[1])
    for body in _bodies(handler):
        inner = rf"\{{([^;{{}}]*)\}}\s*(?::[^=;]+)?=\s*\(?\s*(?:await\s+)?{body}\b(?!\.)"
        yield from (key for keys in re.findall(inner, handler) for key in _destructured(keys))
        yield from re.findall(rf"\b{body}\??\.(\w+)\b(?!\()", handler)
    yield from (key for keys in _OF_BODY.findall(handler) for key in _destructured(keys))
    yield from _DIRECT.findall(handler)
    yield from _CHECKED.findall(handler)


def _types_of(declared: str | None, behind: str | None) -> list[str]:
    found = [declared.strip()] if declared else []
    for pattern in (_AS, _JSON_OF):
        for one in pattern.finditer(behind or ""):
            whole = one[1].startswith("{")
            found.append(f"{{{braced(behind or '', one.start(1) + 1)}}}" if whole else one[1])
    return found


def _destructured(keys: str) -> Iterator[str]:
    """Yield the keys that are taken out of an object; those with a default are no need."""
    for one in parts(keys):
        name = one.partition(":")[0].strip()
        if re.fullmatch(r"\w+", name) or takes_question(name.partition("=")[0].strip()):
            yield name.partition("=")[0].strip()


def _is_needed(key: str, handler: str) -> bool:
    """Whether a body has to have a key: it may take the question, is a list, or is missed aloud."""
    if takes_question(key):
        return True
    given = rf"\bif\s*\(\s*!\s*{key}\s*\)\s*\{{?\s*{key}\s*="  # by the handler itself
    if re.search(given, handler):
        return False
    missed = rf"!\s*(?:\w+\.)*\b{key}\b|\b{key}\s*===?\s*(?:undefined|null)"
    missed += rf"|\btypeof\s+(?:\w+\.)*{key}\s*!=="
    listed = rf"(?<![?.\w]){key}\.(?:map|forEach|reduce|filter|slice)\("
    if re.search(listed, handler):
        return True
    return not SETTING.fullmatch(key) and bool(re.search(missed, handler))


def _is_made_up(key: str, handler: str) -> bool:
    """Whether a handler has something in place of a key that is not there."""
    return bool(re.search(rf"(?<![\w$])(?:\w+\??\.)+{key}\s*(?:\|\||\?\?)", handler))


_OF_TEXTS = (
    r"(?:trim\w*|to\w+Case|toString|split|starts\w+|ends\w+|includes|indexOf|replace\w*|match|length|sub\w+"
    r"|slice|at|concat|join|map|forEach|filter|reduce|push|find|some|every)\b"
)
"""What texts and lists have: what is taken of others has to be an object."""


def _is_whole(key: str, handler: str, around: str) -> bool:
    """Whether a key has to hold an object: its own keys are read and nothing asks whether it is
    there, here or in the function that it is handed to.
    """
    if takes_question(key) or key == MESSAGES:
        return False
    own = re.search(rf"\b(?:const|let|var)\s+{key}\s*=([^;\n]*)", handler)
    if own and f".{key}" not in own[1]:  # another thing of that name
        return False
    if _is_taken_apart(key, handler) or re.search(rf"\bfrontendTools\(\s*{key}\b", handler):
        return True
    for called, given in re.findall(rf"\b(\w+)\(([^()]*\b{key}\b[^()]*)\)", handler):
        place = next((n for n, one in enumerate(parts(given)) if one.strip() == key), None)
        taken = definition(called, around) if place is not None else ""
        takes, _, does = taken.partition("\n")
        names = [re.match(r"\s*(\w+)\s*(?::|$)", one) for one in parts(takes)]
        name = names[place] if place is not None and place < len(names) else None
        if name and _is_taken_apart(name[1], does):
            return True
    return False


def _is_taken_apart(name: str, text: str) -> bool:
    """Whether keys of a variable are read, where nothing asks whether it holds something."""
    taken = rf"(?<![?.\w]){name}\.(?!{_OF_TEXTS})\w+|\}}\s*=\s*{name}\s*(?:;|\n|$)"
    taken += rf"|\bObject\.(?:keys|values|entries)\(\s*{name}\b"
    missed = rf"\bif\s*\(\s*{name}\s*[)&|]|(?<![.\w]){name}\s*(?:\?(?!\.)|&&|\|\|)"
    return bool(re.search(taken, text)) and not re.search(missed, text)


def _some(key: str, handler: str) -> Any:
    listed = re.search(
        rf"Array\.isArray\(\s*(?:[\w.]+\.)?{key}\b|\b{key}\.(?:map|forEach|push|reduce|filter|slice)\(",
        handler,
    )
    return [] if listed and key != MESSAGES else SOME_TEXT


def answer_of(handler: str) -> tuple[str, str]:
    """Return where the answer stands in what a handler gives, and the kind of its stream."""
    if _AI_SDK.search(handler):
        return "", "aisdk"
    if _EVENT_STREAM.search(handler):
        events = [_keys(handler, one.end()) for one in _EVENT.finditer(handler)]
        said = {key for keys in events for key in keys}
        wanted = next((one for one in ("delta", "chunk", "token", *ANSWERED) if one in said), "")
        wanted = wanted or ("delta" if _OF_RESPONSES.search(handler) else "")
        return (wanted, "sse") if wanted else ("", "")
    if line := _LINE.search(handler):
        return _line(handler, line), "ndjson"
    told = told_by(handler)
    known = [one for one in ANSWERED if any(one in keys for keys in told)]
    known += [one for one in _OF_A_MODEL.findall(handler) if any(one in keys for keys in told)]
    alone = [keys[0] for keys in told if len(keys) == 1 and keys[0] not in _STATUS | {"id"}]
    return next(iter([*known, *alone]), ""), ""


_LINE = re.compile(
    r"JSON\.stringify\(\s*(?:(?P<name>\w+)\s*\)\s*(?:\+\s*[\"'`]|\}))\\n"
    r"|JSON\.stringify\(\s*\{(?=[^;]{0,400}?\}\s*\)\s*(?:\+\s*[\"'`]|\})\\n)"
)
"""A line of JSON that a handler writes, an object or what a variable holds."""


def _line(handler: str, line: re.Match[str]) -> str:
    """Return where the text stands in a line of JSON, "" where nothing tells."""
    name = line["name"]
    if name and re.search(
        rf"\bfor\s*\(\s*(?:const|let)\s+{name}\s+of\s+[\w.?]*\bchoices\b", handler
    ):
        return "delta.content"
    if name and re.search(rf"\bfor\s+await\s*\(\s*(?:const|let)\s+{name}\s+of\b", handler):
        return "choices[0].delta.content" if ".completions.create(" in handler else ""
    made = re.search(rf"\b{name}\s*(?::[^=;\n]+)?=\s*\{{", handler) if name else line
    keys = _keys(handler, made.end()) if made else []
    return next((one for one in ("delta", "chunk", "token", *ANSWERED) if one in keys), "")


def told_by(handler: str) -> list[list[str]]:
    """Return the keys of each object that a handler responds with, but for failures."""
    replies = [*_REPLY.finditer(handler)]
    given = [one for one in replies if not one[0].startswith("return")] or replies
    return [
        keys
        for one in given
        if not _FAILED.search(handler[: one.start()]) and (keys := _keys(handler, one.end()))
    ]


def _keys(handler: str, start: int) -> list[str]:
    """Return the keys of the object that is open at `start`; of a failure none."""
    inner = braced(handler, start)
    failed = re.match(r"\}\s*,\s*[45]\d\d", handler[start + len(inner) :])
    if failed or re.search(r"\berror\b\s*:", inner):
        return []
    named = (re.match(r"\s*[\"']?(\w+)[\"']?(?!\w|\s*:\s*[\"'`])", one) for one in parts(inner))
    return [one[1] for one in named if one]  # what is said each time is no answer


def _likelihood(asked: Invocation, route: NodeRoute, begun: Container[str]) -> int:
    """Return how much speaks for a route as the one that takes questions; in the files `begun`
    another one begins the conversation that it may have to name.
    """
    place = route.path.lower()
    last = [one for one in place.split("/") if one and one[:1] != ":"][-1:] or [""]
    field = asked.field.rpartition(".")[2]
    called = f"{place} {route.name.lower()}"
    beside = BESIDE.search(place) or BESIDE.search(route.name.lower())
    named = route.file in begun and bool(_CONVERSATION.search(asked.body))
    told = told_by(route.handler)
    kept = bool(told) and all(one == ["id"] for one in told)  # the number of what it stored
    return (
        (4 if field in ASKED else 3 * takes_question(field)) * asked.sure
        + 3 * is_asked(last[0])
        + is_asked(called)
        + 2 * bool(asked.answer or asked.preset)
        - 2 * bool(asked.stream)
        - 8 * (bool(beside) or kept)
        - 3 * (not asked.body and not asked.sure)
        - 5 * named
        - 3 * bool(asked.method)
        - 4 * (":" in place)
    )
