"""Messages that a fixture says were exchanged: what a conversation begins with."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from gateval.domain.base import JsonObject, Spec

MESSAGES_LIMIT = 500
"""Messages before a fixture's first turn, and its turns."""


class Role(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class TextPart(Spec):
    """Text in a message."""

    type: Literal["text"]
    text: str = Field(description="The text.")


Content = str | Annotated[tuple[TextPart, ...], Field(min_length=1)]


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
        if not text_of(self.content) and not self.tool_calls and self.role is not Role.TOOL:
            raise ValueError("It says nothing: give it `content`")
        return self

    def as_json(self) -> JsonObject:
        """The message as programs are told it, in the words of chat APIs."""
        told: JsonObject = {"role": self.role.value, "content": text_of(self.content)}
        if self.tool_calls:
            calls: list[JsonValue] = [
                {"id": one.id, "name": one.tool, "arguments": one.arguments}
                for one in self.tool_calls
            ]
            told["tool_calls"] = calls
        if self.tool_call_id is not None:
            told["tool_call_id"] = self.tool_call_id
        return told


def text_of(content: Content) -> str:
    """The text of a message's content, its parts one below the other."""
    return content if isinstance(content, str) else "\n".join(part.text for part in content)
