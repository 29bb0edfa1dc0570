"""What a case asks, as our fixtures have it: messages with files, calls and their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue, ValidationError

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.manifests.fixtures.attached import FilePart, TextPart
from gateval.domain.manifests.fixtures.messages import (
    Content,
    InputMessage,
    InputToolCall,
    Part,
    Role,
    text_of,
)
from gateval.formats.agentv.cases.messages import rendered


class NoInput(ValueError):
    """Messages that no fixture can hold; the message is a sentence."""


def fixture_input(messages: Sequence[JsonObject]) -> FixtureInput:
    """Return the input of a fixture. One text of the user is its prompt. Raises `NoInput`."""
    said = list(_messages(messages))
    if not said or said[-1].role is not Role.USER:
        raise NoInput("The last message has to be the user's: the agent answers it.")
    if len(said) == 1 and isinstance(said[0].content, str):
        return FixtureInput(type=InputType.PROMPT, payload={"prompt": said[0].content})
    return FixtureInput(type=InputType.PROMPT, messages=tuple(said))


def messages_before(messages: Sequence[JsonObject]) -> tuple[InputMessage, ...]:
    """Return what was said before the first turn of a conversation. Raises `NoInput`."""
    return tuple(_messages(messages))


def _messages(messages: Sequence[JsonObject]) -> Iterator[InputMessage]:
    """Yield the messages. A result of a tool belongs to the oldest call that has none yet; one
    without a call is told as the assistant's, as AgentV does.
    """
    open_calls: list[str] = []
    count = 0
    for message in messages:
        role, content = Role(str(message["role"])), content_of(message.get("content"))
        written = message.get("tool_calls")
        calls: list[InputToolCall] = []
        results: list[InputMessage] = []
        for call in written if isinstance(written, list) else []:
            count += 1
            made, result = _call(call, count)
            calls.append(made)
            if result is None:
                open_calls.append(made.id)
            else:
                results.append(_checked(role=Role.TOOL, content=result, tool_call_id=made.id))
        if role is Role.TOOL and open_calls:
            yield _checked(role=role, content=text_of(content), tool_call_id=open_calls.pop(0))
        elif role is Role.TOOL:
            yield _checked(role=Role.ASSISTANT, content=f"@[Tool]:\n{text_of(content)}")
        else:
            yield _checked(role=role, content=content, tool_calls=tuple(calls))
        yield from results


def _checked(**fields: object) -> InputMessage:
    try:
        return InputMessage.model_validate(fields)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise NoInput(f"{message}.") from None


def _call(call: JsonValue, number: int) -> tuple[InputToolCall, str | None]:
    """Return a call and the text of its result, None where it has none."""
    written = call if isinstance(call, dict) else {}
    given, output, name = written.get("input"), written.get("output"), written.get("id")
    made = InputToolCall(
        id=name if isinstance(name, str) and name else f"call-{number}",
        tool=str(written.get("tool")),
        arguments=given if isinstance(given, dict) else {} if given is None else {"input": given},
    )
    return made, None if output is None else rendered(output)


def content_of(content: JsonValue) -> Content:
    """Return a content as a fixture has it: blocks of text alone are one text."""
    if not isinstance(content, list):
        return "" if content is None else rendered(content)
    parts = [_part(block) for block in content]
    if all(isinstance(part, TextPart) and part.file is None for part in parts):
        return "\n".join(part.shown for part in parts)
    return tuple(parts)


def _part(block: JsonValue) -> Part:
    if not isinstance(block, dict) or "type" not in block:
        return TextPart(type="text", text=rendered(block))
    if block["type"] == "text":
        return TextPart(type="text", text=str(block.get("value", "")))
    path, text = str(block["file"]), block.get("text")
    if isinstance(text, str):
        name = str(block["path"])
        return TextPart(
            type="text", text=f'<file path="{_plain(name)}">\n{text.strip()}\n</file>', file=name
        )
    kind = "image" if block["type"] == "image" else "file"
    return FilePart.model_validate({"type": kind, "path": f"/{path}"})


def _plain(name: str) -> str:
    return name.translate({ord(char): "_" for char in '<>"\n'})
