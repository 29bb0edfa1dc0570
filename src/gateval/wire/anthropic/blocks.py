"""The pieces of Anthropic Messages: turns, content blocks and tools, to neutral form and back."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import Message, MessageFile, ToolCall, ToolDefinition
from gateval.wire.base import WireError
from gateval.wire.fields import (
    as_list,
    as_object,
    as_text,
    content_text,
    part_text,
    text_or_empty,
    tool_call,
)

UNREADABLE_ARGUMENTS = "unreadable_arguments"
"""Under this name the text goes that a model sent instead of an object of arguments."""

_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
"""Blocks in which a model calls a tool, its own, the provider's, or a remote server's."""


def turns_out(messages: tuple[Message, ...]) -> list[JsonValue]:
    """Return the conversation in alternating turns, without system messages and empty texts."""
    turns: list[tuple[str, list[JsonValue]]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [] if message.role == "system" else _blocks(message)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    return [{"role": role, "content": _plain(blocks)} for role, blocks in turns]


def _blocks(message: Message) -> list[JsonValue]:
    if message.role == "tool":
        result: JsonObject = {
            "type": "tool_result",
            "tool_use_id": message.tool_call_id or "",
            "content": message.text,
        }
        return [{**result, "is_error": True} if message.is_error else result]
    if message.parts:
        return [_part_out(part) for part in message.parts if part]
    text: list[JsonValue] = [text_block(message.text)] if message.text else []
    return text + [call_out(call) for call in message.tool_calls]


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return text_block(part)
    source: JsonObject = {"type": "base64", "media_type": part.media_type, "data": part.data}
    if part.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": part.name}


def _plain(blocks: list[JsonValue]) -> JsonValue:
    """Return the short form of a message that is a single text."""
    first = blocks[0]
    alone = len(blocks) == 1 and isinstance(first, dict) and first["type"] == "text"
    return first["text"] if alone and isinstance(first, dict) else blocks


def text_block(text: str) -> JsonObject:
    """Return a text block."""
    return {"type": "text", "text": text}


def call_out(call: ToolCall) -> JsonObject:
    """Return a tool call as a block; its input is always an object."""
    given: JsonObject = {UNREADABLE_ARGUMENTS: call.raw} if call.raw is not None else call.arguments
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def tool_out(tool: ToolDefinition) -> JsonObject:
    """Return a tool definition."""
    fields: JsonObject = {"name": tool.name, "input_schema": tool.input_schema}
    return {**fields, "description": tool.description} if tool.description else fields


def system_in(system: JsonValue) -> Iterator[Message]:
    """Give one system message for each block of the top-level system prompt."""
    blocks = [system] if isinstance(system, str) else as_list(system, "`system`")
    for block in blocks:
        yield Message(role="system", text=part_text(block, "`system`"))


def messages_in(fields: JsonObject) -> Iterator[Message]:
    """Give the neutral messages that one turn stands for. Raises `WireError`."""
    role = as_text(fields.get("role"), "the role of a message")
    content = fields.get("content")
    if role == "assistant":
        text, calls = assistant_in(content)
        yield Message(role="assistant", text=text, tool_calls=calls)
    elif role == "system":
        yield Message(role="system", text=content_text(content, "`content`"))
    elif role == "user":
        yield from _user_in([content] if isinstance(content, str) else content)
    else:
        raise WireError(f'a message has the unknown role "{role[:40]}"')


def _user_in(content: JsonValue) -> Iterator[Message]:
    """Give a tool message for each result, and one user message for each run of other blocks."""
    texts: list[str] = []
    blocks = as_list(content, "`content`")
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            if texts:
                yield Message(role="user", text="\n".join(texts))
                texts = []
            yield Message(
                role="tool",
                text=content_text(block.get("content"), "a tool result"),
                tool_call_id=text_or_empty(block.get("tool_use_id")),
                is_error=block.get("is_error") is True,
            )
        else:
            texts.append(part_text(block, "`content`"))
    if texts or not blocks:
        yield Message(role="user", text="\n".join(texts))


def assistant_in(content: JsonValue) -> tuple[str, tuple[ToolCall, ...]]:
    """Return what was said and which tools were called; reasoning and the like is passed over."""
    if isinstance(content, str):
        return content, ()
    text = ""
    calls = []
    for item in as_list(content, "`content`"):
        block = as_object(item, "a content block")
        if block.get("type") == "text":
            text += as_text(block.get("text"), "the text of `content`")
        elif text_or_empty(block.get("type")) in _CALLS:
            call = tool_call(block.get("id"), block.get("name"), block.get("input"))
            is_other = block.get("type") != "tool_use"
            calls.append(call.model_copy(update={"by_provider": True}) if is_other else call)
    return text, tuple(calls)


def tool_in(fields: JsonObject) -> ToolDefinition:
    """Read a tool definition. Raises `WireError`."""
    schema = fields.get("input_schema")
    return ToolDefinition(
        # Some of the provider's own tools are known by their type alone.
        name=as_text(fields.get("name", fields.get("type")), "the name of a tool"),
        description=text_or_empty(fields.get("description")),
        input_schema={"type": "object"} if schema is None else as_object(schema, "`input_schema`"),
    )
