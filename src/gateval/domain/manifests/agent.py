"""The Agent manifest: what is under test, and how to start it."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from gateval.domain.base import JsonObject, Name, Spec, Value
from gateval.domain.repository.place import Place

MODEL_RUNTIME = "model"


class SystemFile(Spec):
    """A system prompt that stands in a file."""

    file: str = Field(
        min_length=1,
        description="Path of the file, relative to the manifest's folder; with a leading `/`, to "
        "the repository root.",
    )


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


class RuntimeSpec(Spec):
    """How to start the agent: the fields every runtime knows, and the rest in `options`.

    `options` was checked by the runtime's own model when the manifest was read.
    """

    type: str = Field(default=MODEL_RUNTIME, description="Which runtime starts the agent.")
    cwd: str | None = Field(
        default=None,
        description="The agent's working directory, relative to the manifest's folder (default) "
        "or, with a leading `/`, to the repository root.",
    )
    setup: tuple[str, ...] = Field(
        default=(),
        description="A program and its arguments, run once before the first trial: installs what "
        "the agent needs.",
    )
    command: tuple[str, ...] = Field(
        default=(), description="The program that is the agent, and its arguments."
    )
    env: dict[str, str] = Field(
        default={}, description="Environment variables with literal values; no secrets."
    )
    options: JsonObject = {}


class AgentSpec(Spec):
    """`spec` of an Agent. Keys nobody here knows are kept and hashed: several generations exist."""

    model_config = ConfigDict(extra="allow")

    models: tuple[str, ...] = Field(
        default=(),
        description="Models as `provider/model-id`; the first is asked, the others if it fails.",
    )
    system: str | SystemFile | None = Field(
        default=None, description="The system prompt: text, or the file it stands in."
    )
    tools: tuple[AgentTool, ...] = Field(default=(), description="The tools of the agent.")
    runtime: RuntimeSpec | None = Field(
        default=None,
        description="How to start the agent. Without it, the gate itself runs models, system "
        "prompt and tools.",
    )
    watch: tuple[str, ...] | None = Field(
        default=None,
        description="Patterns of the files whose change changes the agent, relative to the "
        "manifest's folder. Default: for a program everything under `cwd`, else nothing.",
    )


class Agent(Value):
    """An Agent as read from one revision.

    `path` is the tracked file's path, `folder` the folder it stands in ("" is the repository
    root). `places` maps `spec.KEY` to the place of that key. `digest` covers the manifest's whole
    meaning (canonical JSON of the document without places), not the files it refers to.
    """

    kind: Literal["Agent"] = "Agent"
    name: Name
    labels: dict[str, str] = {}
    spec: AgentSpec
    place: Place
    path: str
    places: dict[str, Place] = {}
    digest: str

    @property
    def folder(self) -> str:
        """The folder of the manifest, without a trailing slash; "" is the repository root."""
        return self.path.rpartition("/")[0]

    @property
    def runtime_type(self) -> str:
        """`model` when the manifest says nothing."""
        return self.spec.runtime.type if self.spec.runtime else MODEL_RUNTIME
