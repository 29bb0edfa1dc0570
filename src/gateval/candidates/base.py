"""The interface of a runtime, and everything that it gets from outside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gateval.candidates.doors.models import ModelDoor, ModelSession
from gateval.candidates.process.once import Once
from gateval.candidates.process.program import Starter
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.fixtures.messages import Content
from gateval.domain.manifests.fixtures.recorded import ToolReplay
from gateval.domain.plan.absent import Surroundings
from gateval.domain.plan.layer import LayerInputs
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.tools import Replay, offered_tools
from gateval.domain.trials.trial import Answer, NoAnswer, TrialKey
from gateval.events import Listener
from gateval.ports.clock import Clock
from gateval.ports.layers import KeptLayers
from gateval.ports.local_http import LocalHttp
from gateval.ports.model_calls import ModelCalls

if TYPE_CHECKING:
    from gateval.candidates.beside.addresses import Playground


@dataclass(frozen=True)
class TrialRequest:
    """One question to a candidate.

    With `turns` the user says one after the other, and `input` holds what was there before.
    Of these only `input`, `turns` and `playground` may ever reach the candidate: the key names the
    fixture, and the replays tell what its tools will answer.
    """

    key: TrialKey
    input: FixtureInput
    tool_replay: tuple[ToolReplay, ...]
    shadow_tools: tuple[str, ...]
    timeout_seconds: float
    turns: tuple[Content, ...] = ()
    playground: Playground | None = None

    @property
    def replay(self) -> Replay:
        """What answers for tools in this trial, as no call was made yet."""
        return Replay(self.tool_replay, self.shadow_tools)


class LayerFiles(Protocol):
    """What the set-ups of layers see."""

    def inputs(self, agent: AgentDefinition, spec: LayerSpec) -> LayerInputs:
        """The files that the set-up of this Agent's layer sees. Raises `RepositoryError`."""

    async def write_inputs(self, agent: AgentDefinition, inputs: LayerInputs, folder: Path) -> None:
        """Write them into an empty folder. Raises `RepositoryError`."""


class Exports(LayerFiles, Protocol):
    """Where the files of Agents lie."""

    async def folder(self, agent: AgentDefinition, links: Mapping[str, Path]) -> Path:
        """The folder with the files of this Agent at its side's revision, written once.

        `links` are symbolic links to what a layer made: path in the folder → target. Agents with
        the same files and links share it where no set-up writes into it. Raises
        `RepositoryError`.
        """

    async def contents(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        """The files of messages by their git objects. Raises `RepositoryError`."""

    def around(self, agent: AgentDefinition) -> Surroundings:
        """The files that are in this folder, and the tracked files that are not."""


@dataclass(frozen=True)
class ProcessTimeouts:
    """How long to wait, in seconds: for a set-up to end, for what runs before or after a trial, and
    between asking to end and killing.
    """

    setup_seconds: float = 600
    beside_seconds: float = 60
    grace_seconds: float = 2


@dataclass(frozen=True)
class RuntimeContext:
    """The outside world of all runtimes of a run.

    `run` names the run. `environ` holds only what `allowlist.candidate_environment` lets through.
    `scratch` is a private folder of the run; its maker removes it. `starter` starts programs
    in isolation. `setups` remembers which set-ups were done, across agents that share an export;
    `kept` holds layers of earlier runs, None where none are kept. `own_users` says that candidates
    have users of their own, who may not go where the gate's goes.
    """

    run: str
    calls: ModelCalls
    door: ModelDoor | None
    exports: Exports
    environ: Mapping[str, str]
    clock: Clock
    local_http: LocalHttp
    scratch: Path
    starter: Starter
    on_event: Listener
    timeouts: ProcessTimeouts = ProcessTimeouts()
    setups: Once[NoAnswer | None] = field(default_factory=Once)
    kept: KeptLayers | None = None
    own_users: bool = False

    def open_door(self, agent: AgentDefinition) -> ModelSession | None:
        """Open the door to models and tools for one instance of the Agent, if there is a door."""
        if self.door is None:
            return None
        return self.door.open(agent.side, agent.models, agent.uses, offered_tools(agent.tools))


class Runtime(ABC):
    """One way to start an Agent and to ask it. One instance serves one Agent on one side."""

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        self.agent = agent
        self.context = context

    @property
    def name(self) -> str:
        """The name of its instances, which also marks their processes."""
        return f"{self.agent.name}-cand-{self.context.run}"

    @abstractmethod
    async def prepare(self) -> NoAnswer | None:
        """Do what all trials need, before the first. What went wrong is each trial's answer."""

    @abstractmethod
    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask the candidate once. Trials may run side by side.

        Never raises for anything that the candidate does, and leaves nothing of it behind, also
        when the awaiting task is cancelled.
        """

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask the turns of `request` one after the other, each with all messages before it."""
        from gateval.candidates.talk import EachAnew, converse  # it imports this module

        return await converse(EachAnew(request, self.answer), request, self.context.clock)

    @abstractmethod
    async def close(self) -> None:
        """End whatever still runs. May be called twice; leaves no process."""
