"""Every wire format by name, and its stream. A new one: a file here, a line here, and a test."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.wire import (
    anthropic,
    gemini,
    gemini_embedding,
    gemini_embeddings,
    openai_chat,
    openai_embeddings,
    openai_moderations,
    openai_responses,
)
from gateval.wire import anthropic as anthropic_stream
from gateval.wire import gemini as gemini_stream
from gateval.wire import openai_chat as openai_chat_stream
from gateval.wire import openai_responses as openai_responses_stream
from gateval.wire.base import Format, InputFormat, StreamFormat, WireFormat

WIRE_FORMATS: Mapping[str, WireFormat] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic,
    "gemini-content": gemini,
}
"""What models are asked in: conversations, and replies to them."""

INPUT_FORMATS: Mapping[str, InputFormat] = {
    "openai-embeddings": openai_embeddings,
    "openai-moderations": openai_moderations,
    "gemini-embeddings": gemini_embeddings,
    "gemini-embedding": gemini_embedding,
}
"""What texts are measured in."""

FORMATS: Mapping[str, Format] = {**WIRE_FORMATS, **INPUT_FORMATS}


STREAM_FORMATS: Mapping[str, StreamFormat] = {
    "openai-chat": openai_chat_stream,
    "openai-responses": openai_responses_stream,
    "anthropic-messages": anthropic_stream,
    "gemini-content": gemini_stream,
}
