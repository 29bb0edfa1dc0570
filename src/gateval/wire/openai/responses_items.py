"""The items of OpenAI Responses: messages, calls, results and tools, to neutral form and back."""

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
    text_or_empty,
    tool_call,
)
from gateval.wire.json_text import write_text


def items_out(message: Message) -> Iterator[JsonObject]:
    """Give the input items that a message is written as."""
    if message.role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.tool_call_id or "",
            "output": message.text,
        }
        return
    if message.parts:
        yield {"role": message.role, "content": [_part_out(part) for part in message.parts]}
    elif message.text or not message.tool_calls:
        yield {"role": message.role, "content": message.text}
    for call in message.tool_calls:
        yield call_out(call)


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    if part.is_image:
        return {"type": "input_image", "image_url": part.url, "detail": "auto"}
    return {"type": "input_file", "filename": part.name, "file_data": part.url}


def call_out(call: ToolCall) -> JsonObject:
    """Return a tool call as an item; its arguments are text."""
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": write_text(call.arguments) if call.raw is None else call.raw,
    }


def tool_out(tool: ToolDefinition) -> JsonObject:
    """Return a tool definition."""
    fields: JsonObject = {"type": "function", "name": tool.name, "parameters": tool.input_schema}
    fields["strict"] = False
    return {**fields, "description": tool.description} if tool.description else fields


def messages_in(items: JsonValue) -> tuple[Message, ...]:
    """Read the input of a request. Raises `WireError`.

    What one reply said stands in several items (text, calls); they become one message again.
    """
    if isinstance(items, str):
        return (Message(role="user", text=items),)
    messages: list[Message] = []
    for item in as_list(items, "`input`"):
        message = _message_in(as_object(item, "an item of `input`"))
        if message is None:
            continue
        last = messages[-1] if messages else None
        if last is not None and last.role == message.role == "assistant":
            messages[-1] = last.model_copy(
                update={
                    "text": last.text + message.text,
                    "tool_calls": (*last.tool_calls, *message.tool_calls),
                }
            )
        else:
            messages.append(message)
    return tuple(messages)


def _message_in(item: JsonObject) -> Message | None:
    """Read one item; None for what is no part of the conversation, such as reasoning."""
    kind = text_or_empty(item.get("type")) or ("message" if "role" in item else "item_reference")
    if kind == "message":
        return _spoken(item)
    if kind == "item_reference":
        raise WireError(
            "`item_reference` names an item stored in the provider's account, which this gateway "
            "keeps closed; send the item itself, or `previous_response_id`"
        )
    if kind.endswith("_call"):
        return Message(role="assistant", tool_calls=(call_in(item),))
    if kind.endswith("_call_output"):
        output = item.get("output")
        text = content_text(output, "`output`") if isinstance(output, str | list) else ""
        return Message(
            role="tool",
            text=text or (write_text(output) if isinstance(output, dict) else ""),
            tool_call_id=text_or_empty(item.get("call_id")),
        )
    return None


def _spoken(item: JsonObject) -> Message:
    role = as_text(item.get("role"), "the role of a message")
    if role == "assistant":
        text = content_text(item.get("content"), "`content`", separator="")
        return Message(role="assistant", text=text)
    if role in {"system", "developer"}:
        return Message(role="system", text=content_text(item.get("content"), "`content`"))
    if role == "user":
        return Message(role="user", text=content_text(item.get("content"), "`content`"))
    raise WireError(f'a message has the unknown role "{role[:40]}"')


def call_in(item: JsonObject) -> ToolCall:
    """Read a call of a function, a custom tool, or one of the provider's own tools."""
    kind = text_or_empty(item.get("type"))
    name = item.get("name") or kind.removesuffix("_call")
    given = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
    call = tool_call(item.get("call_id") or item.get("id"), name, given)
    is_other = kind not in {"function_call", "custom_tool_call"}
    return call.model_copy(update={"by_provider": True}) if is_other else call


def output_in(items: JsonValue) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Return what a reply said, what it refused in words, and which tools it called."""
    text = refusal = ""
    calls = []
    for each in as_list(items, "`output`"):
        item = as_object(each, "an item of `output`")
        kind = text_or_empty(item.get("type"))
        if kind == "message":
            for part in as_list(item.get("content"), "`content`"):
                fields = as_object(part, "a part of `content`")
                text += text_or_empty(fields.get("text"))
                refusal += text_or_empty(fields.get("refusal"))
        elif kind.endswith("_call"):
            calls.append(call_in(item))
    return text, refusal, tuple(calls)


def tools_in(fields: JsonObject) -> tuple[ToolDefinition, ...]:
    """Read the tools of a request: those of namespaces, and those that a search has found, too.

    Raises `WireError`.
    """
    given = fields.get("input")
    found = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    searches = [item for item in found if item.get("type") == "tool_search_output"]
    listed = [
        as_object(tool, "a tool")
        for source in (fields, *searches)
        for tool in as_list(source.get("tools"), "`tools`")
    ]
    return tuple(each for tool in listed for each in _tools_in(tool))


def _tools_in(fields: JsonObject) -> Iterator[ToolDefinition]:
    if fields.get("type") != "namespace":
        yield _tool_in(fields)
        return
    for tool in as_list(fields.get("tools"), "`tools`"):
        yield _tool_in(as_object(tool, "a tool"))


def _tool_in(fields: JsonObject) -> ToolDefinition:
    kind = text_or_empty(fields.get("type")) or "function"
    schema = fields.get("parameters")
    return ToolDefinition(
        name=as_text(fields.get("name", kind), "the name of a tool"),
        description=text_or_empty(fields.get("description")),
        input_schema={"type": "object"} if schema is None else as_object(schema, "`parameters`"),
    )
