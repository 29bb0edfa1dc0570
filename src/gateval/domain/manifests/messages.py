"""Messages that a fixture says were exchanged: what a conversation begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Self, TypeAlias

from pydantic import Field, JsonValue, model_validator

from gateval.domain.base import JsonObject, Spec
from gateval.domain.manifests.attached import FilePart, TextPart

MESSAGES_LIMIT = 500
"""Messages before a fixture's first turn, and its turns."""


class Role(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


Part: TypeAlias = TextPart | FilePart
Content = (
    str | Annotated[tuple[Annotated[Part, Field(discriminator="type")], ...], Field(min_length=1)]
)


class InputToolCall(Spec):
    """A tool that the assistant called, as the conversation has it."""

    id: str = Field(min_length=1, description="What its result refers to as `toolCallId`.")
    tool: str = Field(min_length=1, description="The tool's name.")
    arguments: JsonObject = Field(default={}, description="What it was called with.")


class InputMessage(Spec):
    """One message of a conversation that has taken place."""

    role: Role = Field(description="Who says it.")
    content: Content = Field(default="", description="What is said: text, or a list of parts.")
    tool_calls: tuple[InputToolCall, ...] = Field(
        default=(), description="The tools that the assistant calls with it."
    )
    tool_call_id: str | None = Field(
        default=None, description="The call whose result a `tool` message is."
    )

    @model_validator(mode="after")
    def _fits_its_role(self) -> Self:
        if self.tool_calls and self.role is not Role.ASSISTANT:
            raise ValueError("Only the assistant has `toolCalls`")
        if (self.tool_call_id is None) is (self.role is Role.TOOL):
            raise ValueError("A `tool` message, and no other, has `toolCallId`")
        if self.role is not Role.USER and any(files_in(self.content)):
            raise ValueError("Only the user sends files and images")
        if not text_of(self.content) and not self.tool_calls and self.role is not Role.TOOL:
            raise ValueError("It says nothing: give it `content`")
        return self

    def as_json(self) -> JsonObject:
        """The message as programs are told it, in the words of chat APIs.

        Its content is a text, or a list of parts where there are files or images.
        """
        content: JsonValue = text_of(self.content)
        if any(files_in(self.content)):
            content = [part.as_json() for part in parts_of(self.content)]
        told: JsonObject = {"role": self.role.value, "content": content}
        if self.tool_calls:
            calls: list[JsonValue] = [
                {"id": one.id, "name": one.tool, "arguments": one.arguments}
                for one in self.tool_calls
            ]
            told["tool_calls"] = calls
        if self.tool_call_id is not None:
            told["tool_call_id"] = self.tool_call_id
        return told


def parts_of(content: Content) -> tuple[Part, ...]:
    """The parts of a content; a text is one."""
    return (TextPart(type="text", text=content),) if isinstance(content, str) else content


def text_of(content: Content) -> str:
    """The text of a message's content, its parts one below the other; files are named."""
    return content if isinstance(content, str) else "\n".join(part.shown for part in content)


def files_in(content: Content) -> Iterator[tuple[int, FilePart]]:
    """Yield the files and images of a content, each with its position from 0."""
    if not isinstance(content, str):
        yield from ((n, part) for n, part in enumerate(content) if isinstance(part, FilePart))


def with_files(content: Content, give: Callable[[FilePart], Part]) -> Content:
    """The content with what `give` makes of each file and image."""
    if isinstance(content, str):
        return content
    return tuple(give(part) if isinstance(part, FilePart) else part for part in content)
