"""What a case says of the answer that it wants: material for those who judge, never for the agent.

The words are those of chat APIs, so that programs and templates of others read them as they are.
"""

from __future__ import annotations

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, Spec, canonical_json


class Reference(Spec):
    """What a good answer is. No candidate is told of it; assertions, judges and checks are."""

    outcome: str = Field(
        default="", max_length=20_000, description="What a good answer does, in prose."
    )
    answer: JsonValue = Field(
        default=None, description="A good answer: a text, or JSON. Without it, that of `messages`."
    )
    context: JsonValue = Field(
        default=None,
        description="What a good answer rests on: a text, or JSON such as a list of documents.",
    )
    messages: tuple[JsonObject, ...] = Field(
        default=(),
        max_length=500,
        description="The messages of a good run, each with `role`, `content` and `tool_calls`.",
    )
    metadata: JsonObject = Field(default={}, description="What judges and checks are told besides.")
    case: str = Field(default="", description="What the case is called where it was written.")
    conversation: str = Field(default="", description="The conversation that the case is part of.")
    input_files: tuple[str, ...] = Field(
        default=(), description="The files that stand in the input, by path."
    )
    guideline_files: tuple[str, ...] = Field(
        default=(), description="Those of them that are rules to keep to."
    )

    @property
    def wanted(self) -> JsonValue:
        """The content of a good answer: `answer`, else that of the last expected message.

        A message without content stands for its tool calls; None where nothing is expected.
        """
        if self.answer is not None or not self.messages:
            return self.answer
        last = self.messages[-1]
        content = last.get("content")
        return content if content not in (None, "", []) else last.get("tool_calls")

    @property
    def text(self) -> str:
        """`wanted` as text: JSON where it is none, empty where nothing is expected."""
        return _text(self.wanted)

    @property
    def context_text(self) -> str:
        """`context` as text, in the same way."""
        return _text(self.context)

    @property
    def expected(self) -> list[JsonValue]:
        """The expected messages, where only an answer is written as one of the assistant."""
        if self.messages or self.answer is None:
            return list(self.messages)
        return [{"role": "assistant", "content": self.answer}]


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value)
