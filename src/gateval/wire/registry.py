"""Every wire format by name. A new one: a file or class, a line here, and a test."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.wire import inputs
from gateval.wire.anthropic import anthropic
from gateval.wire.base import Format, InputFormat, WireFormat
from gateval.wire.gemini import gemini
from gateval.wire.openai_chat import openai_chat
from gateval.wire.openai_responses import openai_responses

WIRE_FORMATS: Mapping[str, WireFormat] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic,
    "gemini-content": gemini,
}
"""What models are asked in: conversations, and replies to them."""

INPUT_FORMATS: Mapping[str, InputFormat] = {
    "openai-embeddings": inputs.openai_embeddings,
    "openai-moderations": inputs.openai_moderations,
    "gemini-embeddings": inputs.gemini_embeddings,
    "gemini-embedding": inputs.gemini_embedding,
}
"""What texts are measured in."""

FORMATS: Mapping[str, Format] = {**WIRE_FORMATS, **INPUT_FORMATS}
