"""How the answer of a command line of AgentV is read. Pure.

It is JSON with `output_messages` (or `output`) or `text`, and what it reports: `token_usage`,
`cost_usd`, `duration_ms`, `llm_call_count`; all else is text.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import JsonValue

from gateval.candidates.contract.claims import ClaimError, read_reported, read_steps, read_usage
from gateval.candidates.contract.question import ProgramAnswer, object_in, said_output
from gateval.candidates.contract.streams import refuse_stream
from gateval.domain.base import JsonObject
from gateval.domain.text.quoting import is_blank
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Claimed


def read_output(written: bytes, prompt: str) -> ProgramAnswer:
    """Read the answer of a command line to `prompt`, with which its steps begin.

    Raises `ClaimError` for one that is empty or ambiguous.
    """
    text = written.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if is_blank(text):
        raise ClaimError("it is empty")
    refuse_stream(written, "agentv")
    document = object_in(text, {"text", "output", "output_messages"})
    if document is None:
        return ProgramAnswer(output=text)
    messages = _messages(document)
    usage, claimed = _reported(document, messages)
    if messages:
        told = [*_steps(messages)]
        if not any(step["type"] == "user" for step in told):
            told.insert(0, {"type": "user", "text": prompt})
        steps = read_steps([*told]).steps()
        trace = Trace(steps=steps, source="candidate", usage=usage) if steps else None
        said = said_output(_final(messages), "its last message")
        return ProgramAnswer(said, trace, usage, claimed)
    for key in ("text", "output"):
        if document.get(key) is not None and document[key] != []:
            return ProgramAnswer(said_output(document[key], f"`{key}`"), None, usage, claimed)
    raise ClaimError("it has no message: neither `output_messages` nor `text` holds one")


def _messages(document: JsonObject) -> list[JsonValue]:
    """Return the messages that an answer tells; a text under `output` is none."""
    messages = document.get("output_messages")
    if messages is not None and not isinstance(messages, list):
        raise ClaimError("`output_messages` is no list of messages")
    output = document.get("output")
    return messages or (output if isinstance(output, list) else [])


def _reported(document: JsonObject, messages: list[JsonValue]) -> tuple[Usage, Claimed]:
    """Return what the answer reports of tokens and money, and of time and model calls: as many of
    these as the assistant has messages, where it does not say.
    """
    tokens = document.get("token_usage")
    if tokens is not None and not isinstance(tokens, dict):
        raise ClaimError("`token_usage` is no mapping")
    counted = tokens or {}
    usage = read_usage(
        {"input_tokens": counted.get("input"), "output_tokens": counted.get("output")}
    )
    usd, claimed = read_reported(document)
    if messages and claimed.model_calls is None:
        calls = sum(isinstance(one, dict) and one.get("role") == "assistant" for one in messages)
        claimed = claimed.model_copy(update={"model_calls": calls})
    return usage.model_copy(update={"usd": usd}), claimed


def _final(messages: list[JsonValue]) -> JsonValue:
    """Return the content of the last message of the assistant; of blocks, the texts."""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role", "assistant") == "assistant":
            content = message.get("content")
            if isinstance(content, list) and content and all(isinstance(b, dict) for b in content):
                return "\n".join(_block_text(block) for block in content)
            return content
    return None


def _block_text(block: JsonValue) -> str:
    given = block if isinstance(block, dict) else {}
    return str(given.get("text", given.get("value", "")))


def _steps(messages: list[JsonValue]) -> Iterator[JsonObject]:
    """Yield the steps that messages tell of, in the words of a claimed trace."""
    for message in messages:
        if not isinstance(message, dict):
            raise ClaimError("an entry of its messages is no object")
        role, content = message.get("role", "assistant"), message.get("content")
        if not isinstance(role, str):
            raise ClaimError("the `role` of a message is no text")
        calls = message.get("tool_calls")
        if content is not None and content != "" and role in {"user", "assistant"}:
            yield {"type": str(role), "text": content}
        elif content is not None and role == "tool":
            yield {"type": "tool_result", "tool": message.get("name"), "text": content}
        for call in calls if isinstance(calls, list) else []:
            if not isinstance(call, dict):
                raise ClaimError("an entry of `tool_calls` is no object")
            common: JsonObject = {"tool": call.get("tool"), "call_id": call.get("id")}
            given = call.get("input", {})
            arguments: JsonObject = given if isinstance(given, dict) else {"input": given}
            yield {"type": "tool_call", **common, "arguments": arguments, "seconds": _took(call)}
            if call.get("output") is not None:
                yield {"type": "tool_result", **common, "text": call["output"]}


def _took(call: JsonObject) -> JsonValue:
    """Return the seconds that a call took, as far as it says: by itself, or by its two times."""
    milliseconds = call.get("duration_ms")
    if isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool):
        return milliseconds / 1000
    start, end = call.get("start_time", call.get("timestamp")), call.get("end_time")
    if not isinstance(start, str) or not isinstance(end, str):
        return None
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
