"""What a wire format is: the one seam between the neutral form of a call and a provider's bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from pydantic import ValidationError

from gateval.domain.model_call import ModelReply, ModelRequest

P = ParamSpec("P")
R = TypeVar("R")


class WireError(ValueError):
    """Bytes that are not what the format promises, or a call that it cannot express.

    `str()` of it is a sentence without the closing full stop, to be put after who said it.
    """


class WireFormat(Protocol):
    """One wire format, both ways, not streamed. A module with these names fulfils it.

    Attributes: `base_path` is what a base URL of this format ends with by convention (the official
    SDKs expect it in OPENAI_BASE_URL and not in ANTHROPIC_BASE_URL), `path` is the generation
    endpoint below a base URL.
    """

    base_path: str
    path: str

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that authenticate with `key` (None: no key) and name the API version."""

    def encode_request(self, request: ModelRequest) -> bytes:
        """Write a request. Raises `WireError` for numbers that are not finite."""

    def decode_request(self, body: bytes) -> ModelRequest:
        """Read a request; what is no text becomes `[image]` and the like. Raises `WireError`."""

    def encode_reply(self, reply: ModelReply, request: ModelRequest) -> bytes:
        """Write the reply to `request`; a reply that names no model gets the requested one."""

    def decode_reply(self, body: bytes) -> ModelReply:
        """Read a reply. Usage that is not given is None. Raises `WireError`."""

    def encode_error(self, status: int, message: str) -> bytes:
        """Write an error as a provider answers it with the HTTP status `status`."""

    def decode_error(self, body: bytes) -> str:
        """Read what an error body says, at most 300 characters, empty for nothing. Never raises."""


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
