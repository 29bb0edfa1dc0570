"""The stream of every wire format, by name. Only candidates that call models themselves need it."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.wire.anthropic import stream as anthropic_stream
from gateval.wire.base import StreamFormat
from gateval.wire.gemini import stream as gemini_stream
from gateval.wire.openai import chat_stream as openai_chat_stream
from gateval.wire.openai import responses_stream

STREAM_FORMATS: Mapping[str, StreamFormat] = {
    "openai-chat": openai_chat_stream,
    "openai-responses": responses_stream,
    "anthropic-messages": anthropic_stream,
    "gemini-content": gemini_stream,
}
