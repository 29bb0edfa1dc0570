"""Every wire format by name. A new one: two files here, a line here and in `streams.py`, a test."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.wire import (
    anthropic_messages,
    openai_chat,
    openai_responses,
)
from gateval.wire.base import WireFormat

WIRE_FORMATS: Mapping[str, WireFormat] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic_messages,
}
