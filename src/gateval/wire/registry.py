"""Every wire format by name. A new one: its own file here, one line below, one test, one sample."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.wire import anthropic_messages, openai_chat
from gateval.wire.base import WireFormat

WIRE_FORMATS: Mapping[str, WireFormat] = {
    "openai-chat": openai_chat,
    "anthropic-messages": anthropic_messages,
}
