"""Every wire format by name. A new one: its files here, a line in each table, a test, a sample."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.wire import (
    anthropic_messages,
    anthropic_stream,
    openai_chat,
    openai_chat_stream,
    openai_responses,
    responses_stream,
)
from gateval.wire.base import StreamFormat, WireFormat

WIRE_FORMATS: Mapping[str, WireFormat] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic_messages,
}

STREAM_FORMATS: Mapping[str, StreamFormat] = {
    "openai-chat": openai_chat_stream,
    "openai-responses": responses_stream,
    "anthropic-messages": anthropic_stream,
}
