"""What a fixture keeps of an earlier run: answers of tools, and the trace it was taken from."""

from __future__ import annotations

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, Spec


class ToolReplay(Spec):
    """A recorded answer of a tool.

    It answers calls of `tool`; with `arguments`, only calls with exactly these arguments. Among the
    entries that match a call equally, the nth answers the nth such call and the last one all
    further calls. With `error`, the tool fails with that text; with `status`, it is out of reach.
    """

    tool: str = Field(min_length=1, description="The tool whose calls are answered.")
    arguments: JsonObject | None = Field(
        default=None, description="Answer only calls with exactly these arguments."
    )
    result: JsonValue = Field(default=None, description="What the tool answers.")
    error: str | None = Field(default=None, description="The text that the tool fails with.")
    status: int | None = Field(
        default=None,
        ge=400,
        le=599,
        description="The HTTP status with which the tool is out of reach, for a program.",
    )
    delay: float = Field(
        default=0, ge=0, le=300, description="Seconds that the tool takes to answer."
    )


class Origin(Spec):
    """Where a promoted fixture came from."""

    trace_id: str | None = Field(default=None, description="The trace it was taken from.")
    promoted_at: str | None = Field(default=None, description="When it was taken, in quotes.")
    promoted_by: str | None = Field(default=None, description="Who took it.")
