"""Where the answer of a handler stands in what it responds, and whether that is a stream. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from gateval.domain.setup.handler_routes import Routed
from gateval.domain.setup.invocation import ANSWERED
from gateval.domain.setup.model_chunks import chunk_path
from gateval.domain.setup.model_values import Values, plain
from gateval.domain.setup.openapi import IDENTITY, names_one_of
from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Function,
    called_by,
    keyword_of,
    name_of,
    text_of,
)


class Told(NamedTuple):
    """The key of the answer, "" for the whole, and the kind of stream, "" for none that is known;
    `streams` says that it responds piece by piece.
    """

    answer: str = ""
    stream: str = ""
    streams: bool = False


_PIECES = ("token", "delta", "chunk", "content", "text", *ANSWERED, "data", "value", "choices")
"""How keys of a stream's pieces are called that hold text."""

_NO_TEXT = re.compile(r"tool|error|status|start|end|done|source|citation|meta|step|think|reason")
"""What the type of a piece says that is none of the answer."""

_WRAPS = frozenset({"JSONResponse", "jsonify", "dumps", "ORJSONResponse", "make_response"})
_STREAMS = frozenset({"StreamingResponse", "EventSourceResponse"})
_SENDS = frozenset({"Response", "make_response", "stream_with_context"})
"""Calls of Flask and Quart that send what a generator yields."""


def told_of(values: Values, routed: Routed, asked: str) -> Told:
    """Return how a handler answers that takes its question as `asked`."""
    returned = [one.value for one in _own(routed.function) if isinstance(one, ast.Return)]
    sent = [_streamed(values, routed, one) for one in returned]
    streams = [one for one in sent if one is not None]
    others = [one for one, call in zip(returned, sent, strict=True) if call is None]
    keys = [*_typed(values, routed), *(key for one in others for key in _keys(values, routed, one))]
    key = _best(keys, ANSWERED, asked)
    if key or not streams:
        return Told(key)
    events = "text/event-stream" in ast.unparse(routed.function)  # in headers, set later
    kind = _kind(streams[0]) or ("sse" if events else "")
    pieces = _pieces(values, routed)
    key = pieces.chunk or pieces.path(_best(pieces.keys, _PIECES, asked))
    if not kind and not (key and pieces.lines and pieces.ended):
        return Told(streams=True)
    if pieces.lines and called_by(streams[0]) != "EventSourceResponse":
        kind = "ndjson"
    if not key and not pieces.text and called_by(streams[0]) != "EventSourceResponse":
        return Told(streams=True)
    return Told(key, kind, streams=True)


def keys_of(values: Values, routed: Routed) -> list[str]:
    """Return the keys of the objects that a handler answers with, as far as they are known."""
    returned = [one.value for one in _own(routed.function) if isinstance(one, ast.Return)]
    keys = [key for one in returned for key in _keys(values, routed, one)]
    return list(dict.fromkeys([*_typed(values, routed), *keys]))


_BEGINS = frozenset(
    {"add_task", "create_task", "ensure_future", "delay", "apply_async", "enqueue", "send_task"}
    | {"run_in_executor", "submit", "start_soon", "Thread", "Process", "run_coroutine_threadsafe"}
)
"""Calls that start what goes on while a handler answers."""

_GOES = re.compile(
    r"(?i)^(?:success|ok|status|state|message|detail|error|queued|accepted|started|timestamp\w*"
    r"|\w*_at|position|progress|(?:\w+_)?(?:id|url|key|uuid)|\w+Id|(?:job|task|run)s?)$"
)
"""How keys are called that say how it went, or what the work is called."""


def goes_on_without(values: Values, routed: Routed) -> bool:
    """Whether a handler starts something and answers at once only how that went: a status, or the
    number of the work.
    """
    own = list(_own(routed.function))
    waited = {id(one.value) for one in own if isinstance(one, ast.Await)}
    begun = [one for one in own if called_by(one) in _BEGINS and id(one) not in waited]
    held = {
        name_of(one.targets[0]) for one in own if isinstance(one, ast.Assign) and one.value in begun
    }
    awaited = (one.value for one in own if isinstance(one, ast.Await))
    named = {name_of(node) for one in awaited for node in ast.walk(one)}
    returned = [one.value for one in own if isinstance(one, ast.Return)]
    if not begun or held & named or not returned:
        return False
    return all(_says_how_it_went(values, routed, one) for one in returned)


_KEEPS = re.compile(r"(?i)(?:store|save|insert|record|persist|append|add)(?:_\w+)?")


def keeps_to_itself(values: Values, routed: Routed) -> bool:
    """Whether a handler answers only whether it went well: what its agent says goes elsewhere."""
    keys = {*keys_of(values, routed)}
    if not keys or keys - {"success", "ok", "succeeded", "error"}:
        return False
    own = list(_own(routed.function))
    keeps = any(_KEEPS.fullmatch(called_by(one)) for one in own if isinstance(one, ast.Call))
    returned = [one.value for one in own if isinstance(one, ast.Return)]
    plain = all(_says_how_it_went(values, routed, one) for one in returned)
    return "error" not in keys or (keeps and plain)


def _says_how_it_went(
    values: Values, routed: Routed, value: ast.expr | None, left: int = MOST_STEPS
) -> bool:
    """Whether what is returned has no text but of the handler's own."""
    if value is None or left <= 0:
        return value is None
    if isinstance(value, ast.Tuple) and value.elts:
        return _says_how_it_went(values, routed, value.elts[0], left - 1)
    if isinstance(value, ast.Name):
        made = [
            one.value
            for one in _own(routed.function)
            if isinstance(one, ast.Assign) and name_of(one.targets[0]) == value.id
        ]
        return bool(made) and all(_says_how_it_went(values, routed, one, left - 1) for one in made)
    if isinstance(value, ast.Dict):
        pairs = list(zip(map(text_of, value.keys), value.values, strict=True))
    elif isinstance(value, ast.Call) and called_by(value) in _WRAPS and not value.keywords:
        return bool(value.args) and _says_how_it_went(values, routed, value.args[0], left - 1)
    elif isinstance(value, ast.Call) and called_by(value) in _WRAPS:
        content = value.args[0] if value.args else keyword_of(value, "content")
        if content is not None:
            return _says_how_it_went(values, routed, content, left - 1)
        pairs = [(one.arg or "", one.value) for one in value.keywords]
    elif isinstance(value, ast.Call) and (
        called_by(value) == "dict" or values.model(routed.path, called_by(value))
    ):
        pairs = [(one.arg or "", one.value) for one in value.keywords]
    else:
        return False
    told = (
        _GOES.search(key) and (key not in {"message", "detail"} or _is_worded(one))
        for key, one in pairs
    )
    return bool(pairs) and all(told)


def _is_worded(value: ast.expr) -> bool:
    """Whether a value is a text of the handler's own."""
    if isinstance(value, ast.JoinedStr):
        return any(isinstance(one, ast.Constant) for one in value.values)
    return bool(text_of(value))


def _streamed(
    values: Values, routed: Routed, value: ast.expr | None, left: int = MOST_STEPS
) -> ast.Call | None:
    """Return the call that makes what is sent piece by piece, by its kind or as what a generator
    yields; None for what is sent whole.
    """
    if isinstance(value, ast.Tuple) and value.elts and routed.flask:
        return _streamed(values, routed, value.elts[0], left - 1)
    if isinstance(value, ast.Await):
        return _streamed(values, routed, value.value, left)
    if isinstance(value, ast.Name) and left > 0:
        made = (
            _streamed(values, routed, one, left - 1) for one in _set_to(routed.function, value.id)
        )
        return next(filter(None, made), None)
    if not isinstance(value, ast.Call) or left <= 0:
        return None
    if called_by(value) in _STREAMS or _kind(value):
        return value
    if called_by(value) in _SENDS:
        inner = _streamed(values, routed._replace(flask=True), _first(value), left - 1)
        return value if inner else None
    for path, one in values.modules.functions(routed.path, value):
        there = routed._replace(path=path, function=one)
        returned = (node.value for node in _own(one) if isinstance(node, ast.Return))
        made = (_streamed(values, there, each, left - 1) for each in returned)
        if one is not routed.function and (call := next(filter(None, made), None)):
            return call
    yields = (
        isinstance(node, ast.Yield)
        for _, one in values.modules.functions(routed.path, value)
        if one is not routed.function
        for node in _own(one)
    )
    return value if routed.flask and any(yields) else None


def _first(call: ast.Call) -> ast.expr | None:
    return call.args[0] if call.args else None


def _set_to(function: Function, name: str) -> list[ast.expr]:
    """Return what a function sets a name to."""
    return [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and name_of(one.targets[0]) == name
    ]


def _kind(call: ast.Call) -> str:
    """Return what kind of stream a response is by its media type, "" for any other."""
    named = (keyword_of(call, one) for one in ("media_type", "mimetype", "content_type"))
    told = next(filter(None, map(text_of, named)), "")
    if "event-stream" in told or called_by(call) == "EventSourceResponse":
        return "sse"
    return "ndjson" if "ndjson" in told or "jsonl" in told else ""


def _best(keys: list[str], wanted: tuple[str, ...], asked: str) -> str:
    """Return the key that is called as answers are, else the only one."""
    some = (one for one in dict.fromkeys(keys) if one)
    plain = [one for one in some if one in wanted or not IDENTITY.search(one)]
    plain = [
        one
        for one in plain
        if "error" not in one and one not in {"status", "success", "detail", "ok"}
    ]
    named = [one for one in plain if names_one_of(one, wanted)]
    named = [one for one in named if one != asked] or named
    if named:
        return min(named, key=lambda one: wanted.index(one) if one in wanted else len(wanted))
    alone = len({*keys}) == 1 or not re.search(
        r"time|count|total|version|model|_at$", "".join(plain)
    )
    return plain[0] if len(plain) == 1 and alone else ""


def _typed(values: Values, routed: Routed) -> list[str]:
    """Return the fields of the model that a handler says it responds with."""
    model = keyword_of(routed.made, "response_model") or routed.function.returns
    said = values.modules.model(routed.path, name_of(plain(model)))
    return [*values.fields(said, 2, every=True)] if said else []


def _keys(
    values: Values, routed: Routed, value: ast.expr | None, left: int = MOST_STEPS
) -> list[str]:
    """Return the keys of what is returned: an object, a model, or a variable that holds one."""
    if left <= 0:
        return []
    if isinstance(value, ast.Tuple) and value.elts:
        failed = any(isinstance(one, ast.Constant) and _fails(one.value) for one in value.elts[1:])
        return [] if failed else _keys(values, routed, value.elts[0], left - 1)
    if isinstance(value, ast.Await):
        return _keys(values, routed, value.value, left - 1)
    if isinstance(value, ast.Dict):
        kinds = (
            value
            for key, value in zip(value.keys, value.values, strict=True)
            if text_of(key) == "type"
        )
        if any(_NO_TEXT.search(text_of(one)) for one in kinds):
            return []
        return [text_of(one) for one in value.keys if one is not None]
    if isinstance(value, ast.Name):
        set_to = _set_to(routed.function, value.id)
        return [key for one in set_to for key in _keys(values, routed, one, left - 1)]
    return _keys_of_call(values, routed, value, left) if isinstance(value, ast.Call) else []


def _keys_of_call(values: Values, routed: Routed, value: ast.Call, left: int) -> list[str]:
    """Return the keys of what a call makes: a response, a model or an object."""
    if called_by(value) == "model_dump" and isinstance(value.func, ast.Attribute):
        return _keys(values, routed, value.func.value, left - 1)
    named = [one.arg or "" for one in value.keywords]
    if called_by(value) in _WRAPS:
        content = value.args[0] if value.args else keyword_of(value, "content")
        status = keyword_of(value, "status_code")
        if isinstance(status, ast.Constant) and _fails(status.value):
            return []
        return _keys(values, routed, content, left - 1) if content is not None else named
    return (
        named if values.model(routed.path, called_by(value)) or called_by(value) == "dict" else []
    )


def _fails(status: object) -> bool:
    """Whether a status says that there is no answer."""
    return isinstance(status, int) and status >= 400


def _own(function: Function) -> Iterator[ast.AST]:
    """Yield what stands in a function, but not in those inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


class _Pieces(NamedTuple):
    """The keys of the objects that are streamed, whether plain text is among them, and whether all
    are lines, and no events, each with its end.

    `chunk` is where the text stands if they are the model's own chunks, "" for any other; `within`
    is where it stands below a key.
    """

    keys: list[str]
    text: bool
    lines: bool
    ended: bool
    chunk: str
    within: dict[str, str]

    def path(self, key: str) -> str:
        """Return where the text stands below a key; the choices of a chunk are none themselves."""
        return self.within.get(key, "" if key == "choices" else key)


_DUMPS = re.compile(r"\b(?:dumps|model_dump_json|to_json)\(")


def _pieces(values: Values, routed: Routed) -> _Pieces:
    """Return what a handler streams."""
    keys: list[str] = []
    text, written, chunk = False, "", ""
    within: dict[str, str] = {}
    for path, function in _yielding(values, routed):
        inner = routed._replace(path=path, function=function)
        for node in (one for one in ast.walk(function) if isinstance(one, ast.Yield)):
            written += ast.unparse(node)
            if isinstance(node.value, ast.Dict) and function is not routed.function:
                keys += _keys(values, inner, node.value)
            for part in _parts(node.value):
                chunk = chunk or chunk_path(part, function, routed.function)
                if isinstance(part, ast.Call) and called_by(part) == "dumps":
                    found = [] if _is_marked(node.value, part) else _keys(values, inner, part)
                    keys, text = [*keys, *found], text or not found
                elif isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
                    found = _keys(values, inner, part) if isinstance(part, ast.Name) else []
                    keys, text = [*keys, *found], text or not found
        within = {**dict(_within(function)), **within}
    lines = bool(_DUMPS.search(written)) and "data:" not in written
    return _Pieces(keys, text, lines, "\\n" in written, chunk, within)


def _is_marked(value: ast.expr | None, part: ast.expr) -> bool:
    """Whether JSON stands behind a mark in an event, which is plain text as a whole then."""
    if not isinstance(value, ast.JoinedStr):
        return False
    held = [getattr(one, "value", None) for one in value.values]
    place = held.index(part) if part in held else 0
    return place > 0 and not text_of(value.values[place - 1]).rstrip().endswith("data:")


def _within(function: Function) -> Iterator[tuple[str, str]]:
    """Yield the keys of objects that a function makes which hold others, with the way to the text
    there.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                path = _path_to_text(text_of(key), value)
                if path != text_of(key):
                    yield text_of(key), path


def _path_to_text(key: str, value: ast.expr, left: int = MOST_STEPS) -> str:
    """Return a key with the keys below it that lead to a text; the key alone where none does."""
    place, held = key, value
    if isinstance(held, ast.List) and len(held.elts) == 1:
        place, held = f"{key}[0]", held.elts[0]
    if not isinstance(held, ast.Dict) or left <= 0:
        return key
    below = {text_of(one): each for one, each in zip(held.keys, held.values, strict=True)}
    named = next((one for one in _PIECES if one in below), "")
    return f"{place}.{_path_to_text(named, below[named], left - 1)}" if named else key


def _parts(value: ast.expr | None) -> list[ast.expr]:
    """Return what is written into an event: what an f-string fills in, the `data` of an object."""
    if isinstance(value, ast.JoinedStr):
        return [one.value for one in value.values if isinstance(one, ast.FormattedValue)]
    if isinstance(value, ast.BinOp):
        return [*_parts(value.left), *_parts(value.right)]
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return [one for key, one in pairs if text_of(key) == "data"]
    return [value] if isinstance(value, ast.Call) else []


def _yielding(values: Values, routed: Routed) -> Iterator[tuple[str, Function]]:
    """Yield the functions that make what a handler streams: those inside it, and those it calls."""
    waiting, seen = [(routed.path, routed.function)], {id(routed.function)}
    for _ in range(MOST_STEPS * 4):
        if not waiting:
            return
        path, function = waiting.pop(0)
        yield path, function
        called = (one.func for one in ast.walk(function) if isinstance(one, ast.Call))
        found = [inner for one in called for inner in values.modules.functions(path, one)]
        for where, one in found:
            if id(one) not in seen and any(isinstance(node, ast.Yield) for node in ast.walk(one)):
                seen.add(id(one))
                waiting.append((where, one))
