"""The tools of an Agent, and the MCP servers that a declarative one has them from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from gateval.domain.base import JsonObject, Spec
from gateval.domain.manifests.fixtures.services import NAME_PATTERN, plain_path

MCP_TOOL = "mcp"
"""The `type` of such an entry, which has a `command` too."""


class AgentTool(Spec):
    """A tool of the agent; `name` or, in older manifests, `type` names it. Extra keys are kept."""

    model_config = ConfigDict(extra="allow")

    name: str | None = Field(default=None, description="The name that the model calls.")
    type: str | None = Field(default=None, description="Names the tool where `name` is absent.")
    description: str = Field(default="", description="What the model is told about the tool.")
    input_schema: JsonObject | None = Field(
        default=None, description="JSON Schema of the tool's arguments, an object."
    )
    enabled: bool = Field(default=True, description="Whether the model is offered the tool.")

    @property
    def tool_name(self) -> str:
        """The name assertions use."""
        return self.name or self.type or ""

    @property
    def is_server(self) -> bool:
        """Whether it stands for the tools of an MCP server, which a `command` starts."""
        return self.type == MCP_TOOL and "command" in (self.model_extra or {})


class ToolServerSpec(Spec):
    """An MCP server that the gate starts for each trial, behind the walls of candidates."""

    type: Literal["mcp"]
    name: Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=63)] = Field(
        description="What it is called in sentences."
    )
    description: str = Field(default="", description="For readers.")
    enabled: bool = Field(default=True, description="Whether it is started.")
    command: tuple[str, ...] = Field(
        min_length=1,
        description="A program and its arguments, in `runtime.cwd`. It speaks over standard input "
        "and output, or over HTTP where there is a `path`.",
    )
    env: dict[str, str] = Field(
        default={}, description="Environment variables with literal values; no secrets."
    )
    path: Annotated[str, Field(max_length=2000), AfterValidator(plain_path)] | None = Field(
        default=None,
        description="Where it listens over Streamable HTTP (`/mcp`), at the port that `{port}` in "
        "the command, or the variable PORT, tells it.",
    )
