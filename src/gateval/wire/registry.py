"""Every format by name. A new one: a file here, a line here and in `streams.py`, and a test."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.wire.anthropic import messages as anthropic_messages
from gateval.wire.base import Format, WireFormat
from gateval.wire.gemini import content, embedding, embeddings
from gateval.wire.inputs import openai_embeddings, openai_moderations
from gateval.wire.inputs.base import InputFormat
from gateval.wire.openai import chat as openai_chat
from gateval.wire.openai import responses as openai_responses

WIRE_FORMATS: Mapping[str, WireFormat] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic_messages,
    "gemini-content": content,
}
"""What models are asked in: conversations, and replies to them."""

INPUT_FORMATS: Mapping[str, InputFormat] = {
    "openai-embeddings": openai_embeddings,
    "openai-moderations": openai_moderations,
    "gemini-embeddings": embeddings,
    "gemini-embedding": embedding,
}
"""What texts are measured in."""

FORMATS: Mapping[str, Format] = {**WIRE_FORMATS, **INPUT_FORMATS}
