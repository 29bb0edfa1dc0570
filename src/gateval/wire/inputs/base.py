"""The interface of a format for calls without a conversation: embeddings, moderation."""

from __future__ import annotations

from typing import Protocol

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.input_call import InputKind, InputReply, InputRequest
from gateval.wire.base import Format, WireError
from gateval.wire.fields import part_text

MOST_TEXTS = 2_048
"""Texts in one request: as many as OpenAI takes."""


class InputFormat(Format, Protocol):
    """One format, both ways. A module with these names fulfils it."""

    kind: InputKind

    def encode_request(self, request: InputRequest) -> bytes:
        """Write a request. Raises `WireError` for what the format cannot say."""

    def decode_request(self, body: bytes) -> InputRequest:
        """Read a request. Raises `WireError`, also for more than `MOST_TEXTS` texts."""

    def encode_reply(self, reply: InputReply, request: InputRequest, fields: JsonObject) -> bytes:
        """Write the reply to `request`, whose body has the `fields`."""

    def decode_reply(self, body: bytes) -> InputReply:
        """Read a reply. Raises `WireError`."""


def counted(texts: list[str]) -> tuple[str, ...]:
    """Return the texts of a request. Raises `WireError` if they are none, or too many."""
    if not texts:
        raise WireError("it holds no text")
    if len(texts) > MOST_TEXTS:
        raise WireError(f"it holds {len(texts):,} texts, and {MOST_TEXTS:,} are the most in one")
    return tuple(texts)


def vector_in(value: JsonValue) -> list[float]:
    """Return a list of numbers. Raises `WireError`."""
    if not isinstance(value, list):
        raise WireError("an embedding that is no list")
    numbers = [float(one) for one in value if isinstance(one, int | float)]
    if len(numbers) != len(value) or not numbers:
        raise WireError("an embedding that is not made of numbers")
    return numbers


def input_text(value: JsonValue) -> str:
    """Return one text, or a part of content with a placeholder for what is none."""
    return part_text(value, "`input`")
