"""The Agent manifest: what is under test, and how to start it."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from gateval.domain.base import JsonObject, Name, Spec, Value
from gateval.domain.place import Place

MODEL_RUNTIME = "model"


class SystemFile(Spec):
    """A system prompt that stands in a file. `file` is relative to the manifest's folder."""

    file: str = Field(min_length=1)


class AgentTool(Spec):
    """A tool of the agent; `name` or, in older manifests, `type` names it. Extra keys are kept."""

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    type: str | None = None
    description: str = ""
    input_schema: JsonObject | None = None
    enabled: bool = True

    @property
    def tool_name(self) -> str:
        """The name assertions use."""
        return self.name or self.type or ""


class RuntimeSpec(Spec):
    """How to start the agent: the fields every runtime knows, and the rest in `options`.

    `options` was checked by the runtime's own model when the manifest was read.
    """

    type: str = MODEL_RUNTIME
    cwd: str | None = None
    setup: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    options: JsonObject = {}


class AgentSpec(Spec):
    """`spec` of an Agent. Keys nobody here knows are kept and hashed: several generations exist."""

    model_config = ConfigDict(extra="allow")

    models: tuple[str, ...] = ()
    system: str | SystemFile | None = None
    tools: tuple[AgentTool, ...] = ()
    runtime: RuntimeSpec | None = None
    watch: tuple[str, ...] | None = None


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
