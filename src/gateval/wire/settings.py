"""What a request sets beside its messages, model and tools: parameters that change the answer, in
the names of its wire format. A pull request may change them without anybody seeing it in the code.

Only names that are listed are told: a request may hold an address, a user or a key, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.strict_json import object_of

OPENAI_CHAT = (
    "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty",
    "logit_bias", "seed", "stop", "reasoning_effort", "reasoning", "thinking", "enable_thinking",
    "chat_template_kwargs", "verbosity", "modalities", "response_format", "tool_choice",
    "function_call", "parallel_tool_calls", "web_search_options",
)  # fmt: skip
"""OpenAI's, and what compatible servers (vLLM, OpenRouter, DeepSeek, Qwen) take besides."""

OPENAI_RESPONSES = (
    "top_p", "reasoning", "text", "tool_choice", "parallel_tool_calls", "max_tool_calls",
    "truncation",
)  # fmt: skip
ANTHROPIC = (
    "top_p", "top_k", "stop_sequences", "thinking", "tool_choice", "output_config",
    "output_format",
)  # fmt: skip
GEMINI = (
    "topP", "topK", "stopSequences", "seed", "presencePenalty", "frequencyPenalty",
    "thinkingConfig", "responseMimeType", "responseSchema", "responseJsonSchema",
    "responseModalities", "mediaResolution",
)  # fmt: skip
"""Of `generationConfig`."""

GEMINI_BESIDE = ("toolConfig", "safetySettings")

_LONGEST = 2_000
"""Characters of a value; of a longer one its digest is told, for half of a secret is not found."""

_WORD = re.compile(r"[^\s\"{}\[\]]+")


def settings_of(fields: JsonObject, names: Iterable[str]) -> tuple[str, ...]:
    """Return what is set of these, each as its name and its value; of an object, one for each key.
    What is null is not set.
    """
    found = ((name, fields.get(name)) for name in names)
    return tuple(told for name, value in found for told in _told(name, value))


def _told(name: str, value: JsonValue) -> Iterator[str]:
    if value is None:
        return
    inner = object_of(value)
    if inner:
        for key in sorted(inner):
            if inner[key] is not None:
                yield f"{name}.{key[:80]} {_text(inner[key])}"
        return
    yield f"{name} {_text(value)}"


def _text(value: JsonValue) -> str:
    if isinstance(value, str) and len(value) <= _LONGEST and _WORD.fullmatch(value):
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:g}"
    text = canonical_json(value)
    if len(text) <= _LONGEST:
        return text
    return f"({len(text):,} characters, {hashlib.sha256(text.encode()).hexdigest()[:12]})"
