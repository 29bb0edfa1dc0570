"""The pieces of OpenAI Chat Completions: messages, tool calls and tools, both ways."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import Message, MessageFile, ToolCall, ToolDefinition
from gateval.wire.base import WireError
from gateval.wire.fields import as_list, as_object, as_text, content_text, text_or_empty, tool_call
from gateval.wire.json_text import write_text


def message_out(message: Message) -> JsonObject:
    """Return one message."""
    fields: JsonObject = {"role": message.role, "content": message.text}
    if message.parts:
        fields["content"] = [_part_out(part) for part in message.parts]
    if message.role == "assistant" and message.tool_calls:
        fields["content"] = message.text or None
        fields["tool_calls"] = [call_out(call) for call in message.tool_calls]
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id or ""
    return fields


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.is_image:
        return {"type": "image_url", "image_url": {"url": part.url}}
    return {"type": "file", "file": {"filename": part.name, "file_data": part.url}}


def call_out(call: ToolCall) -> JsonObject:
    """Return a tool call; its arguments are text."""
    arguments = write_text(call.arguments) if call.raw is None else call.raw
    function: JsonObject = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def tool_out(tool: ToolDefinition) -> JsonObject:
    """Return a tool definition."""
    function: JsonObject = {"name": tool.name, "parameters": tool.input_schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def message_in(item: JsonValue) -> Message:
    """Read one message. Raises `WireError`."""
    fields = as_object(item, "a message")
    role = as_text(fields.get("role"), "the role of a message")
    content = fields.get("content")
    if role == "assistant":
        text = content_text(content, "`content`", separator="")
        text += text_or_empty(fields.get("refusal"))
        return Message(role="assistant", text=text, tool_calls=calls_in(fields))
    if role in {"tool", "function"}:
        # `function` is the older form, which knows the call by the function's name only.
        call_id = text_or_empty(fields.get("tool_call_id" if role == "tool" else "name"))
        return Message(role="tool", text=content_text(content, "`content`"), tool_call_id=call_id)
    if role in {"system", "developer"}:
        return Message(role="system", text=content_text(content, "`content`"))
    if role == "user":
        return Message(role="user", text=content_text(content, "`content`"))
    raise WireError(f'a message has the unknown role "{role[:40]}"')


def calls_in(message: JsonObject) -> tuple[ToolCall, ...]:
    """Read the tool calls of an assistant message, the older single `function_call` included."""
    calls = [
        _call_in(as_object(item, "a tool call"))
        for item in as_list(message.get("tool_calls"), "`tool_calls`")
    ]
    if message.get("function_call") is not None:
        older = as_object(message["function_call"], "`function_call`")
        calls.append(tool_call(older.get("name"), older.get("name"), older.get("arguments")))
    return tuple(calls)


def _call_in(fields: JsonObject) -> ToolCall:
    if fields.get("type") == "custom":
        custom = as_object(fields.get("custom"), "`custom`")
        return tool_call(fields.get("id"), custom.get("name"), custom.get("input"))
    function = as_object(fields.get("function"), "`function`")
    return tool_call(fields.get("id"), function.get("name"), function.get("arguments"))


def tools_in(fields: JsonObject) -> tuple[ToolDefinition, ...]:
    """Read the tools of a request, the older `functions` included."""
    definitions = [
        as_object(tool.get(text_or_empty(tool.get("type")) or "function"), "a tool's definition")
        for tool in (as_object(item, "a tool") for item in as_list(fields.get("tools"), "`tools`"))
    ]
    older = as_list(fields.get("functions"), "`functions`")
    definitions += [as_object(item, "a function") for item in older]
    return tuple(_tool_in(definition) for definition in definitions)


def _tool_in(fields: JsonObject) -> ToolDefinition:
    schema = fields.get("parameters")
    return ToolDefinition(
        name=as_text(fields.get("name"), "the name of a tool"),
        description=text_or_empty(fields.get("description")),
        input_schema={"type": "object"} if schema is None else as_object(schema, "`parameters`"),
    )
