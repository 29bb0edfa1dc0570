"""The Agent manifest: what is under test, and how to start it."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from gateval.domain.base import JsonObject, ModelName, Name, Spec, Value, empty
from gateval.domain.manifests.playground import (
    NAME_PATTERN,
    OWN_FILES,
    PLAYGROUND,
    ServiceSpec,
    plain_path,
)
from gateval.domain.problems import SourceLocation
from gateval.domain.text import quote

MCP_TOOL = "mcp"
"""The `type` of such an entry, which has a `command` too."""


class AgentTool(Spec):
    """A tool of the agent; `name` or, in older manifests, `type` names it. Extra keys are kept."""

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    """The name that the model calls."""
    type: str | None = None
    """Names the tool where `name` is absent."""
    description: str = ""
    """What the model is told about the tool."""
    input_schema: JsonObject | None = None
    """JSON Schema of the tool's arguments, an object."""
    enabled: bool = True
    """Whether the model is offered the tool."""

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
    name: Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=63)]
    """What it is called in sentences."""
    description: str = ""
    """For readers."""
    enabled: bool = True
    """Whether it is started."""
    command: tuple[str, ...] = Field(min_length=1)
    """A program and its arguments, in `runtime.cwd`. It speaks over standard input and output, or
    over HTTP where there is a `path`."""
    env: dict[str, str] = {}
    """Environment variables with literal values; no secrets."""
    path: Annotated[str, Field(max_length=2000), AfterValidator(plain_path)] | None = None
    """Where it listens over Streamable HTTP (`/mcp`), at the port that `{port}` in the command, or
    the variable PORT, tells it."""


MODEL_RUNTIME = "model"


class SystemFile(Spec):
    """A system prompt that stands in a file."""

    file: str = Field(min_length=1)
    """Path of the file, relative to the manifest's folder; with a leading `/`, to the repository
    root."""


class LayerSpec(Spec):
    """A set-up that sees its inputs only, made once for all Agents that ask for the same."""

    run: tuple[str, ...] = Field(min_length=1)
    """A program and its arguments: installs what the agent needs."""
    inputs: tuple[str, ...] = Field(min_length=1)
    """Patterns of the files that it sees, relative to `cwd`; with a leading `/`, to the repository
    root."""
    creates: tuple[str, ...] = Field(min_length=1)
    """What it makes, relative to `cwd`; linked there for the agent, read-only."""


class ConversationMode(StrEnum):
    """How a program follows a conversation: told all of it in each turn, or as one process."""

    HISTORY = "history"
    PROCESS = "process"


class ModelCallsNeed(StrEnum):
    """Whether an answer counts that no model gave: of an agent whose calls failed, or that stopped
    making any.
    """

    REQUIRED = "required"
    OPTIONAL = "optional"


_SOURCE = re.compile(r"\.(?:py|json|[cm]?[jt]sx?)$")
"""How files end that a bridge loads."""


class RuntimeSpec(Spec):
    """How to start the agent: the fields every runtime knows, and the rest in `options`.

    `options` was checked by the runtime's own model when the manifest was read. `servers` are those
    of the agent's `tools` that the gate starts. `bridge` is the digest of the gate's own program
    that has the agent answer, if there is one: agents that answered by another are not the same.
    `hook` is that of the files that lead its calls to the gateway, if `redirect` asks for them.
    """

    type: str = MODEL_RUNTIME
    """Which runtime starts the agent."""
    cwd: str | None = None
    """The agent's working directory, relative to the manifest's folder (default) or, with a leading
    `/`, to the repository root. `{playground}`: it begins in the trial's playground, if there is
    one, and `{agent}` is the manifest's folder in `command`."""
    setup: tuple[str, ...] | LayerSpec = ()
    """A program and its arguments, run before the first trial in the agent's own files: installs
    what the agent needs. With `run`, `inputs` and `creates`, a layer that is made once for all
    Agents that ask for the same."""
    command: tuple[str, ...] = ()
    """The program that is the agent, and its arguments."""
    env: dict[str, str] = empty()
    """Environment variables with literal values; no secrets."""
    conversation: ConversationMode = ConversationMode.HISTORY
    """How a program follows the `turns` of a fixture: it gets all messages again in each, or one
    process (or server) goes on and gets what the user says now."""
    before: tuple[str, ...] = ()
    """A program and its arguments, run before each trial: resets a database, say."""
    after: tuple[str, ...] = ()
    """A program and its arguments, run after each trial."""
    services: tuple[ServiceSpec, ...] = ()
    """Servers that the trials need, in the order of their start."""
    workdir: Literal["copy"] | None = Field(default=None, exclude_if=operator.not_)
    """`copy`: the agent works in a copy of its files that it may write, one for each trial, or for
    each server. What a layer made is linked there and stays read-only."""
    redirect: bool = Field(default=False, exclude_if=operator.not_)
    """Calls to known addresses of model providers (`https://api.openai.com`) go to the gateway, by
    a hook that Python and Node load first. For SDKs that read no base URL from the environment."""
    options: JsonObject = empty()
    hook: str = Field(default="", exclude_if=operator.not_)
    bridge: str = Field(default="", exclude_if=operator.not_)
    servers: tuple[ToolServerSpec, ...] = ()

    @property
    def starts_process(self) -> bool:
        """Whether a program of the repository runs: the agent, or a server of its tools."""
        return self.type != MODEL_RUNTIME or bool(self.servers)

    @property
    def around(self) -> bool:
        """Whether something runs before or after each trial."""
        return bool(self.before or self.after)

    @property
    def in_playground(self) -> bool:
        """Whether its programs begin in the playground of a trial that has one."""
        return self.cwd == PLAYGROUND

    @property
    def own_cwd(self) -> str:
        """The folder of its own files that it works in, as the manifest names it."""
        return "." if self.cwd is None or self.in_playground else self.cwd

    def own_commands(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield what runs in the agent's own files: the key below `runtime`, and the words.

        Of one that begins in a playground, words are seen from its own files.
        """
        prefix = f"{OWN_FILES}/" if self.in_playground else ""
        for key, words in self._commands():
            yield key, tuple(word.removeprefix(prefix) for word in words)

    def _commands(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield from (("setup", self.own_setup), ("command", self.command))
        for key in ("target", "framework") if self.bridge else ():
            file = str(self.options.get(key, "")).partition(":")[0]
            if _SOURCE.search(file):
                yield key, (file,)
        yield from (("before", self.before), ("after", self.after))
        for index, service in enumerate(self.services):
            yield f"services[{index}].command", service.command
        for server in self.servers:
            yield f"tools {server.name}", server.command

    @property
    def layer(self) -> LayerSpec | None:
        """The set-up, if it is a layer."""
        return self.setup if isinstance(self.setup, LayerSpec) else None

    @property
    def own_setup(self) -> tuple[str, ...]:
        """The command of a set-up that works in the agent's own files; empty if there is none."""
        return () if isinstance(self.setup, LayerSpec) else self.setup


class AgentSpec(Spec):
    """`spec` of an Agent. Keys nobody here knows are kept and hashed: several generations exist."""

    model_config = ConfigDict(extra="allow")

    models: tuple[str, ...] = ()
    """Models as `provider/model-id`; the first is asked, the others if it fails."""
    uses: tuple[ModelName, ...] = ()
    """Other models that a program asks, beside `models`: for a part of its task, say. What neither
    key names is refused."""
    system: str | SystemFile | None = None
    """The system prompt: text, or the file it stands in."""
    tools: tuple[AgentTool, ...] = ()
    """The tools of the agent."""
    runtime: RuntimeSpec | None = None
    """How to start the agent. Without it, the gate itself runs models, system prompt and tools."""
    model_calls: ModelCallsNeed = ModelCallsNeed.REQUIRED
    """`optional`: an answer counts though every model call of it failed, and the agent may stop
    calling models. The manifest of the target branch decides."""
    watch: tuple[str, ...] | None = None
    """Patterns of the files whose change changes the agent, relative to the manifest's folder.
    Default: for a program everything under `cwd`, else nothing."""
    include: tuple[str, ...] = ()
    """Patterns of further files that the agent depends on, relative to the manifest's folder; with
    a leading `/`, to the repository root."""


class Agent(Value):
    """An Agent as read from one revision.

    `path` is the tracked file's path, `folder` the folder it stands in ("" is the repository
    root). `places` maps `spec.KEY` and `metadata.KEY` to the place of that key;
    `other_metadata` are the keys in `metadata` that nothing here reads. `digest` covers the
    manifest's whole meaning (canonical JSON of the document without places), not the files it
    refers to. `mapped` are keys of `spec` that the gate config says in its place, and where there.
    """

    kind: Literal["Agent"] = "Agent"
    name: Name
    labels: dict[str, str] = {}
    other_metadata: tuple[str, ...] = ()
    spec: AgentSpec
    place: SourceLocation
    path: str
    places: Mapping[str, SourceLocation] = {}
    mapped: Mapping[str, str] = {}
    digest: str

    @property
    def folder(self) -> str:
        """The folder of the manifest, without a trailing slash; "" is the repository root."""
        return self.path.rpartition("/")[0]

    @property
    def asked_models(self) -> tuple[str, ...]:
        """All models that it may ask, its own first."""
        return (*self.spec.models, *self.spec.uses)

    @property
    def runtime_type(self) -> str:
        """`model` when the manifest says nothing."""
        return self.spec.runtime.type if self.spec.runtime else MODEL_RUNTIME

    @property
    def starts_process(self) -> bool:
        """Whether a program of the repository runs for it."""
        return self.spec.runtime is not None and self.spec.runtime.starts_process


_PRIVATE = frozenset({"HOME", "TMPDIR"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_EXPRESSION = re.compile(r"\$\{\{[^{}]*\}\}")
_SECRET = re.compile(r"secrets\.(\w+)")

_OTHER_PROVIDERS = [
    "AZURE_OPENAI", "CLAUDE", "MISTRAL", "GROQ", "XAI", "COHERE", "DEEPSEEK", "VOYAGE", "TOGETHER",
    "FIREWORKS", "PERPLEXITY", "CEREBRAS", "REPLICATE", "NVIDIA", "HF", "HUGGINGFACE",
    "HUGGING_FACE", "GOOGLE_GENAI", "GOOGLE_GENERATIVE_AI",
]  # fmt: skip

_RUNNER = re.compile(
    r"(ACTIONS|INPUT|GATEVAL)_.*|(GITHUB|GH)_.*TOKEN.*|GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)"
)


def refusal(name: str, providers: Collection[str]) -> str | None:
    """Return why `policy.candidateEnv` may not name this variable, as a sentence, or None.

    `providers` are the prefixes of the variables of the providers that the gate calls itself.
    """
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name of an environment variable."
    upper = name.upper()
    if upper in _PRIVATE:
        return f"{name} cannot be passed to candidates: each trial has a private one."
    if _provider_key(frozenset(providers)).fullmatch(upper):
        return (
            f"{name} looks like the key of a model provider, and candidates run code from the pull "
            "request. They reach models through the gateway, without the key; remove the name."
        )
    if _RUNNER.fullmatch(upper):
        return (
            f"{name} belongs to the gate or to the runner and would let code from the pull request "
            "act in their name; remove the name."
        )
    return None


def refusals(names: Iterable[str], providers: Collection[str]) -> tuple[str, ...]:
    """Return the sentences for all names that `policy.candidateEnv` may not hold."""
    return tuple(sentence for name in names if (sentence := refusal(name, providers)))


def expression_problem(literal: str, name: str) -> str | None:
    """Return what is wrong with a literal for the variable `name` that only a workflow would fill
    in, as `${{ secrets.X }}` is, or None.
    """
    found = _EXPRESSION.search(literal)
    if found is None:
        return None
    secret = _SECRET.search(found[0])
    said = f"{quote(found[0])} is an expression of a workflow, which nobody fills in here. "
    if (secret[1] if secret else name).upper().endswith("_API_KEY"):
        said += "A program reaches models without their keys; for another one, set "
    else:
        said += "Set "
    return (
        f"{said}{name} in the environment of the gate, remove it here, and name it in "
        "policy.candidateEnv of .github/gateval.yml."
    )


@cache
def _provider_key(providers: frozenset[str]) -> re.Pattern[str]:
    prefix = "|".join(sorted({*providers, *_OTHER_PROVIDERS}))
    return re.compile(
        rf"({prefix})_(.*_)?(KEYS?|TOKEN|SECRET)(_.*)?"
        "|GOOGLE_API_KEY|CO_API_KEY|AWS_BEARER_TOKEN_BEDROCK"
    )
