"""The interface of a wire format: between the neutral form of a call and a provider's bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple, ParamSpec, Protocol, TypeVar

from pydantic import ValidationError

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.wire.sse import SseEvent

P = ParamSpec("P")
R = TypeVar("R")


class WireError(ValueError):
    """Bytes that are not what the format promises, or a call that it cannot express.

    `str()` of it is a sentence without the closing full stop, to be put after who said it.
    """


class Format(Protocol):
    """What all formats have in common: where a call goes, and how it is refused.

    Attributes: `base_path` is what a base URL of this format ends with by convention (the official
    SDKs expect it in OPENAI_BASE_URL and not in ANTHROPIC_BASE_URL), `path` is the endpoint below a
    base URL; `{model}` in it stands for the model id.
    """

    base_path: str
    path: str

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that authenticate with `key` (None: no key) and name the API version."""

    def for_model(self, fields: JsonObject, model: str) -> JsonObject:
        """The body that asks the model with the id `model` what the body `fields` asks."""

    def encode_error(self, status: int, message: str) -> bytes:
        """Write an error as a provider answers it with the HTTP status `status`."""

    def decode_error(self, body: bytes) -> str:
        """Read what an error body says, at most 300 characters, empty for nothing. Never raises."""


class WireFormat(Format, Protocol):
    """One wire format, both ways, not streamed. A module with these names fulfils it.

    Its stream is a `StreamFormat`. Where `path` names the model, a body that comes to us bears it
    as `model` all the same, and a stream is asked for by `stream`: the server puts both there.
    """

    def encode_request(self, request: ModelRequest) -> bytes:
        """Write a request. Raises `WireError` for numbers that are not finite."""

    def decode_request(self, body: bytes) -> ModelRequest:
        """Read a request; what is no text becomes `[image]` and the like. Raises `WireError`."""

    def encode_reply(self, reply: ModelReply, request: ModelRequest) -> bytes:
        """Write the reply to `request`; a reply that names no model gets the requested one."""

    def decode_reply(self, body: bytes) -> ModelReply:
        """Read a reply. Usage that is not given is None. Raises `WireError`."""


class EventRole(NamedTuple):
    """The role of an event in a stream, beyond a part of the reply.

    `ends` says that nothing follows it. `hidden` says that it came only because the gateway asked
    for it, and that who asked the gateway did not. `error` is what a failed stream says.
    """

    ends: bool = False
    hidden: bool = False
    error: str = ""


class StreamReader(Protocol):
    """Reads one streamed reply, event by event."""

    def read(self, event: SseEvent) -> EventRole:
        """Take the next event. Raises `WireError` for what the format does not know."""

    def reply(self) -> ModelReply:
        """The reply, the same as if it had not been streamed. Raises `WireError` if it broke off
        before it was complete.
        """

    def so_far(self) -> ModelReply:
        """Return the reply until now, for a reader who has heard enough. Never raises."""


class StreamFormat(Protocol):
    """How a wire format streams. A module with these names fulfils it.

    `fields` is the body of the request, as the candidate sent it. `path` is the endpoint for
    streams below a base URL.
    """

    path: str

    def stream_body(self, fields: JsonObject) -> JsonObject:
        """The body to send to a provider, so that the stream tells its usage."""

    def stream_reader(self, fields: JsonObject) -> StreamReader:
        """A reader for the answer to `fields`."""

    def encode_stream(
        self, reply: ModelReply, request: ModelRequest, fields: JsonObject
    ) -> Iterator[SseEvent]:
        """Write a reply as events."""

    def encode_stream_error(self, message: str) -> SseEvent:
        """Write an error that ends a stream which has begun."""


def decoder(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function that reads `what`, so that hostile nesting too ends in a `WireError`."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def read(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except (ValidationError, RecursionError):
                raise WireError(f"the {what} is nested too deeply or holds impossible values")

        return read

    return wrap
