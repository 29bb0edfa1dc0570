"""The interface of a wire format, typed access to its JSON, and how JSON crosses the wire.

Server-sent events, piece by piece: bytes in as they come, whole events out.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream.
Of an event its name and its data are kept; ids and waits mean nothing to model streams. A comment
(a provider's sign of life) comes out as an event without data, and without its words.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

from pydantic import JsonValue, ValidationError

from gateval.domain.base import JsonObject, digest
from gateval.domain.strict_json import is_strict, list_of, string_of
from gateval.domain.trials.model_call import (
    InputKind,
    InputReply,
    InputRequest,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolDefinition,
)


class WireError(ValueError):
    """Bytes that are not what the format promises, or a call that it cannot express.

    `str()` of it is a sentence without the closing full stop, to be put after who said it.
    """


class Format(ABC):
    """What all formats have in common, as OpenAI has it where a format says nothing else.

    `base_path` is what a base URL of this format ends with by convention (the official SDKs expect
    it in OPENAI_BASE_URL and not in ANTHROPIC_BASE_URL), `path` is the endpoint below a base URL;
    `{model}` in it stands for the model id.
    """

    base_path: ClassVar[str] = "/v1"
    path: ClassVar[str]
    error_types: ClassVar[Mapping[int, str]] = {
        401: "authentication_error",
        403: "permission_error",
        429: "rate_limit_error",
    }

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that authenticate with `key` (None: no key) and name the API version."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def for_model(self, fields: JsonObject, model: str) -> JsonObject:
        """The body that asks the model with the id `model` what the body `fields` asks."""
        return {**fields, "model": model}

    def encode_error(self, status: int, message: str) -> bytes:
        """Write an error as a provider answers it with the HTTP status `status`."""
        kind = self.error_type(status)
        error: JsonObject = {"message": message, "type": kind, "param": None, "code": None}
        return write_json({"error": error})

    def error_type(self, status: int) -> str:
        """The word for an HTTP status."""
        usual = "invalid_request_error" if status < 500 else "api_error"
        return self.error_types.get(status, usual)

    def decode_error(self, body: bytes) -> str:
        """Read what an error body says, at most 300 characters, empty for nothing. Never raises."""
        return error_text(body)


class EventRole(NamedTuple):
    """The role of an event in a stream, beyond a part of the reply.

    `ends` says that nothing follows it. `hidden` says that it came only because the gateway asked
    for it, and that who asked the gateway did not. `error` is what a failed stream says.
    """

    ends: bool = False
    hidden: bool = False
    error: str = ""


class StreamReader(ABC):
    """Reads one streamed reply, event by event. `end` is the data of an event that ends it."""

    end: ClassVar[str | None] = None

    def __init__(self, reply_in: Callable[[JsonObject], ModelReply]) -> None:
        self._reply_in = reply_in
        self._done = False

    def read(self, event: SseEvent) -> EventRole:
        """Take the next event. Raises `WireError` for what the format does not know."""
        if event.data is None:
            return EventRole()
        if event.data.strip() == self.end:
            self._done = True
            return EventRole(ends=True)
        with _reading("stream"):
            return self._take(read_object(event.data), event)

    @abstractmethod
    def _take(self, fields: JsonObject, event: SseEvent) -> EventRole:
        """Take the fields of an event."""

    def _failed(self, event: SseEvent) -> EventRole:
        return EventRole(ends=True, error=error_text((event.data or "").encode("utf-8", "replace")))

    def reply(self) -> ModelReply:
        """The reply, the same as if it had not been streamed. Raises `WireError` if it broke off
        before it was complete.
        """
        if (whole := self._whole()) is None:
            raise WireError("a stream that broke off")
        return self._reply_in(whole)

    @abstractmethod
    def _whole(self) -> JsonObject | None:
        """The fields of the reply; None until it is complete."""

    @abstractmethod
    def so_far(self) -> ModelReply:
        """Return the reply until now, for a reader who has heard enough. Never raises."""


class WireFormat(Format):
    """One wire format, both ways, streamed or not.

    Where `path` names the model, a body that comes to us bears it as `model` all the same, and a
    stream is asked for by `stream`: the server puts both there. `stream_path` is the endpoint for
    streams below a base URL, `error_event` the name of the event that is an error; `fields` is the
    body of a request, as the candidate sent it.
    """

    stream_path: ClassVar[str]
    error_event: ClassVar[str] = ""

    def encode_request(self, request: ModelRequest) -> bytes:
        """Write a request. Raises `WireError` for numbers that are not finite."""
        return write_json(self.request_out(request))

    schema_models: ClassVar[re.Pattern[str]]
    """The models that are known to answer by a JSON Schema in this format, from the beginning of
    their ids on; a server of the same format that has others is asked without."""

    def schema_of(self, request: ModelRequest) -> JsonObject | None:
        """Return the schema that the reply is held to; None where the model is not known to be."""
        bare = request.model.rpartition("/")[2]
        return request.answer_schema if self.schema_models.match(bare) else None

    @abstractmethod
    def request_out(self, request: ModelRequest) -> JsonObject:
        """The fields of a request."""

    def decode_request(self, body: bytes) -> ModelRequest:
        """Read a request; what is no text becomes `[image]` and the like. Raises `WireError`."""
        with _reading("request"):
            return self.request_in(read_object(body))

    @abstractmethod
    def request_in(self, fields: JsonObject) -> ModelRequest:
        """Read a request from its fields. Raises `WireError`."""

    def encode_reply(self, reply: ModelReply, request: ModelRequest) -> bytes:
        """Write the reply to `request`; a reply that names no model gets the requested one."""
        return write_json(self.reply_out(reply, request))

    @abstractmethod
    def reply_out(self, reply: ModelReply, request: ModelRequest) -> JsonObject:
        """The fields of the reply to `request`."""

    def decode_reply(self, body: bytes) -> ModelReply:
        """Read a reply. Usage that is not given is None. Raises `WireError`."""
        try:
            return self.reply_in(read_object(body))
        except _TOO_DEEP:
            raise _impossible("reply")

    @abstractmethod
    def reply_in(self, fields: JsonObject) -> ModelReply:
        """Read a reply from its fields. Raises `WireError`."""

    def stream_body(self, fields: JsonObject) -> JsonObject:
        """The body to send to a provider, so that the stream tells its usage."""
        return fields

    @abstractmethod
    def stream_reader(self, fields: JsonObject) -> StreamReader:
        """A reader for the answer to `fields`."""

    @abstractmethod
    def encode_stream(
        self, reply: ModelReply, request: ModelRequest, fields: JsonObject
    ) -> Iterator[SseEvent]:
        """Write a reply as events."""

    def encode_stream_error(self, message: str) -> SseEvent:
        """Write an error that ends a stream which has begun."""
        return SseEvent(self.error_event, self.encode_error(500, message).decode())


class InputFormat(Format):
    """One format of texts that are measured, both ways."""

    kind: ClassVar[InputKind]

    @abstractmethod
    def encode_request(self, request: InputRequest) -> bytes:
        """Write a request. Raises `WireError` for what the format cannot say."""

    def decode_request(self, body: bytes) -> InputRequest:
        """Read a request. Raises `WireError`, also for more than `MOST_TEXTS` texts."""
        with _reading("request"):
            request = self.request_in(read_object(body))
        many = len(request.texts)
        if not many:
            raise WireError("it holds no text")
        if many > MOST_TEXTS:
            raise WireError(f"it holds {many:,} texts, and {MOST_TEXTS:,} are the most in one")
        return request

    @abstractmethod
    def request_in(self, fields: JsonObject) -> InputRequest:
        """Read a request from its fields. Raises `WireError`."""

    @abstractmethod
    def encode_reply(self, reply: InputReply, request: InputRequest, fields: JsonObject) -> bytes:
        """Write the reply to `request`, whose body has the `fields`."""

    def decode_reply(self, body: bytes) -> InputReply:
        """Read a reply. Raises `WireError`."""
        with _reading("reply"):
            return self.reply_in(read_object(body))

    @abstractmethod
    def reply_in(self, fields: JsonObject) -> InputReply:
        """Read a reply from its fields. Raises `WireError`."""


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Let hostile nesting too end in a `WireError`."""
    try:
        yield
    except _TOO_DEEP:
        raise _impossible(what)


_TOO_DEEP = (ValidationError, RecursionError)


def _impossible(what: str) -> WireError:
    return WireError(f"the {what} is nested too deeply or holds impossible values")


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise WireError(f"{literal[:40]} is no finite number")
    return number


_READER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read_json(data: bytes | str) -> JsonValue:
    """Read one JSON value; lone surrogates in it become U+FFFD. Raises `WireError`."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        value: JsonValue = _READER.decode(text)
        # Only an escape can smuggle in a surrogate, and most bodies hold none.
        if "\\ud" in text or "\\uD" in text:
            value = _READER.decode(_encodable(_WRITER.encode(value)))
    except WireError:
        raise
    except UnicodeDecodeError:
        raise WireError("not UTF-8")
    except RecursionError:
        raise WireError("nested too deeply")
    except ValueError as error:
        raise WireError(f"no JSON ({str(error)[:100]})")
    return value


def read_object(data: bytes | str) -> JsonObject:
    """Read one JSON object. Raises `WireError`."""
    value = read_json(data)
    if not isinstance(value, dict):
        raise WireError("no JSON object")
    return value


def reply_id(reply: ModelReply, request: ModelRequest) -> str:
    """Return what tells this reply from the others of its conversation: clients take replies of one
    name for one reply, and keep the last.
    """
    calls: list[JsonValue] = [[call.id, call.name] for call in reply.tool_calls]
    return f"gateval-{digest([len(request.messages), reply.text, calls])[:24]}"


def write_json(value: JsonValue) -> bytes:
    """Write a value as compact UTF-8 JSON. Raises `WireError` for NaN and for deep nesting."""
    text = write_text(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _encodable(text).encode()


def write_text(value: JsonValue) -> str:
    """Like `write_json`, as text. Lone surrogates are left to the encoder."""
    try:
        return _WRITER.encode(value)
    except RecursionError:
        raise WireError("nested too deeply")
    except ValueError as error:
        raise WireError(str(error))


def _encodable(text: str) -> str:
    """Return `text` with paired surrogates joined and lone ones replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


ERROR_LIMIT = 300
"""Characters kept of what a provider says about an error."""

FLOAT_LIMIT = 1e300
"""Whole numbers beyond this are no numbers of ours: JSON's integers know no end, floats do."""

PIECE = 512
"""Characters of a text that go into one event of a stream of ours."""

PLACEHOLDERS = {
    "image_url": "[image]", "input_image": "[image]", "input_audio": "[audio]",
    "input_file": "[file]",
}  # fmt: skip
"""Content that is no text, by its type; every other type stands for itself in brackets."""


def as_object(value: JsonValue, where: str) -> JsonObject:
    """Return `value` if it is an object, else raise `WireError` naming `where`."""
    if not isinstance(value, dict):
        raise WireError(f"{where} is no object")
    return value


def as_list(value: JsonValue, where: str) -> list[JsonValue]:
    """Return `value` if it is a list, an empty one for null, else raise `WireError`."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise WireError(f"{where} is no list")
    return value


def as_text(value: JsonValue, where: str) -> str:
    """Return `value` if it is a string, else raise `WireError`."""
    if not isinstance(value, str):
        raise WireError(f"{where} is no text")
    return value


def object_in(fields: JsonObject, key: str) -> JsonObject:
    """Return the object at a key. Raises `WireError`."""
    return as_object(fields.get(key), f"`{key}`")


def list_in(fields: JsonObject, key: str) -> list[JsonValue]:
    """Return the list at a key, an empty one where there is none. Raises `WireError`."""
    return as_list(fields.get(key), f"`{key}`")


def objects_in(fields: JsonObject, key: str, one: str) -> list[JsonObject]:
    """Return the objects in the list at a key; `one` is what each is. Raises `WireError`."""
    return [as_object(item, one) for item in list_in(fields, key)]


def text_in(fields: JsonObject, key: str) -> str:
    """Return the text at a key. Raises `WireError`."""
    return as_text(fields.get(key), f"`{key}`")


def as_number(value: JsonValue) -> float | None:
    """Return a number as float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < FLOAT_LIMIT else None


_MOST_COUNTED = 10**12


def as_count(value: JsonValue) -> int | None:
    """Return a whole number from 0 to a million million; None for anything else: of more nobody
    can count the price.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_COUNTED:
        return None
    return value


def content_text(content: JsonValue, where: str, *, separator: str = "\n") -> str:
    """Return the text of a message: a string, null, or a list of parts joined by `separator`."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = as_list(content, where)
    return separator.join(part_text(part, where) for part in parts)


def pieces_of(content: JsonValue) -> list[str]:
    """Return the pieces in which a text goes into a stream, or comes out of one.

    A text is cut at `PIECE` characters; a list of parts gives the texts of those that have one.
    """
    if isinstance(content, str):
        return [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
    parts = list_of(content)
    return [string_of(part, "text") for part in parts if isinstance(part, dict)]


def part_text(part: JsonValue, where: str) -> str:
    """Return the text of one part of a message, or a placeholder for what is no text."""
    if isinstance(part, str):
        return part
    fields = as_object(part, f"a part of {where}")
    kind = as_text(fields.get("type"), f"the type of a part of {where}")
    if kind in {"text", "input_text", "output_text"}:
        return as_text(fields.get("text"), f"the text of {where}")
    if kind == "refusal":
        return string_of(fields, "refusal")
    return PLACEHOLDERS.get(kind, f"[{kind}]")


def tool_call(
    call_id: JsonValue, name: JsonValue, arguments: JsonValue, *, by_provider: bool = False
) -> ToolCall:
    """Build a tool call from what the model sent; `arguments` is an object or text of one.

    An object nested too deeply to be stored and read again is kept as text.

    Nothing at all counts as no arguments: several servers send that for tools without parameters.
    """
    known_name, known_id = as_text(name, "the name of a tool call"), string_of(call_id)
    value = arguments
    if isinstance(arguments, str):
        value = _parsed(arguments) if arguments.strip() else {}
    if value is None:
        value = {}
    if isinstance(value, dict) and is_strict(value):
        return ToolCall(id=known_id, name=known_name, arguments=value, by_provider=by_provider)
    raw = arguments if isinstance(arguments, str) else write_text(arguments)
    return ToolCall(id=known_id, name=known_name, raw=raw, by_provider=by_provider)


def tool_definition(
    name: JsonValue, fields: JsonObject, schema: JsonValue, key: str = "parameters"
) -> ToolDefinition:
    """Read a tool definition with this schema, which stands under `key`. Raises `WireError`."""
    return ToolDefinition(
        name=as_text(name, "the name of a tool"),
        description=string_of(fields, "description"),
        input_schema={"type": "object"} if schema is None else as_object(schema, f"`{key}`"),
    )


def unknown_role(role: str, of: str = "message") -> WireError:
    """Return the error of a part of a conversation by somebody unknown."""
    return WireError(f'a {of} has the unknown role "{role[:40]}"')


def present(**fields: JsonValue) -> JsonObject:
    """Return the fields that are not None."""
    return {key: value for key, value in fields.items() if value is not None}


def _parsed(text: str) -> JsonValue:
    try:
        return read_json(text)
    except WireError:
        return text


def error_text(body: bytes) -> str:
    """Return what an error body says: its `error.message` or the like, else its first words."""
    try:
        value = read_json(body)
    except WireError:
        value = body[: 4 * ERROR_LIMIT].decode("utf-8", "replace")
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    try:
        text = value if isinstance(value, str) else write_text(value) if value else ""
    except WireError:
        text = ""
    return " ".join(text.split())[:ERROR_LIMIT]


MOST_TEXTS = 2_048
"""Texts in one request: as many as OpenAI takes."""


_LINE_END = re.compile(rb"\r\n|\n|\r")
_LEADING_BOM = b"\xef\xbb\xbf"

KEEP_ALIVE = b":\n\n"
"""A comment, which readers pass over."""


class SseEvent(NamedTuple):
    """One event. `data` is None for a comment."""

    name: str
    data: str | None


class SseReader:
    """Cuts a stream into events, wherever its pieces begin and end."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._name = ""
        self._data: list[str] = []
        self._is_first = True
        self._after_return = False

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Return the events that are complete with this piece."""
        if self._after_return and piece:
            # The line ended with the last piece; this line feed is the other half of its end.
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        seen = len(self._rest)
        self._rest += piece
        self._after_return = self._rest.endswith(b"\r")
        events: list[SseEvent] = []
        start = 0
        for found in _LINE_END.finditer(self._rest, seen):
            self._line(bytes(self._rest[start : found.start()]), events)
            start = found.end()
        del self._rest[:start]
        return events

    @property
    def pending(self) -> int:
        """Bytes and characters held for an event that is not complete."""
        return len(self._rest) + sum(map(len, self._data))

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if self._is_first:
            line = line.removeprefix(_LEADING_BOM)
            self._is_first = False
        if not line:
            if self._data:
                events.append(SseEvent(self._name, "\n".join(self._data)))
            self._name, self._data = "", []
            return
        name, _, value = line.partition(b":")
        if not name:
            events.append(SseEvent("", None))
            return
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._name = text


def write_event(event: SseEvent) -> bytes:
    """Return the bytes of an event."""
    if event.data is None:
        return KEEP_ALIVE
    # A carriage return inside would end the line for a reader; JSON has it escaped.
    lines = event.data.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\ndata: ")
    name = " ".join(event.name.split())
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {lines}\n\n".encode("utf-8", "replace")
