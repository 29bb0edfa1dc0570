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
from gateval.wire.base import Format, InputFormat, WireFormat

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
