"""The interface of a runtime, and everything that it gets from outside: models, addresses, a
conversation.
"""

from __future__ import annotations

import base64
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gateval.candidates.once import Once
from gateval.candidates.program import Starter
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.manifests.fixture import FixtureInput, ToolReplay
from gateval.domain.manifests.messages import (
    Attached,
    Content,
    FilePart,
    InputMessage,
    Role,
    files_in,
    with_files,
)
from gateval.domain.manifests.playground import (
    OWN_FILES,
    PLAYGROUND,
    VARIABLE,
    ServiceSpec,
    filled,
    joined,
)
from gateval.domain.plan.absent import Surroundings
from gateval.domain.plan.plan import AgentDefinition, LayerInputs
from gateval.domain.trials.model_call import Caller, CallsMade
from gateval.domain.trials.trace import Replay, Trace, offered_tools
from gateval.domain.trials.trial import Answer, NoAnswer, TrialKey, Turns
from gateval.errors import RepositoryError
from gateval.events import Listener
from gateval.ports.model_calls import LocalHttp, ModelCalls, ModelTrouble
from gateval.ports.storage import Clock, KeptLayers

if TYPE_CHECKING:
    from gateval.gateway.local.server import GatewayServer
    from gateval.gateway.local.session import Session


class SeenTrial(NamedTuple):
    """What the gateway saw of a trial: why models were out of reach, if they were, and the rest.
    All of it is None where there was no door to models.
    """

    trouble: ModelTrouble | None = None
    trace: Trace | None = None
    calls: CallsMade | None = None


def end_trial(session: Session | None, limit: float, *, late: bool) -> SeenTrial:
    """End the trial under way, which could take `limit` seconds and did if it was `late`."""
    if session is None:
        return SeenTrial()
    trouble, calls = session.trouble(limit, late=late), session.calls
    return SeenTrial(trouble, session.end(), calls)


@dataclass(frozen=True)
class TrialRequest:
    """One question to a candidate.

    With `turns` the user says one after the other, and `input` holds what was there before.
    `caller` names the trial for recordings of its calls, None where there are none.
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
    caller: Caller | None = None

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
    have users of their own, who may not go where the gate's goes. `nowhere` says of a model what is
    missing if nobody said where its provider is; empty for all others.
    """

    run: str
    calls: ModelCalls
    door: GatewayServer | None
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
    nowhere: Callable[[str], str] = lambda _: ""

    def open_door(self, agent: AgentDefinition) -> Session | None:
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
        """Ask the candidate once. Trials may run side by side. Never raises for anything that the
        candidate does, and leaves nothing of it behind, also when the awaiting task is cancelled.
        """

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask the turns of `request` one after the other, each with all messages before it."""
        return await converse(with_history(request, self.answer), request, self.context.clock)

    @abstractmethod
    async def close(self) -> None:
        """End whatever still runs. May be called twice; leaves no process."""


async def with_contents(request: TrialRequest, exports: Exports) -> TrialRequest:
    """Return the request with the content of each file and image. Raises `RepositoryError`."""
    said = (*(one.content for one in request.input.messages), *request.turns)
    oids = {part.content.oid for content in said for _, part in files_in(content) if part.content}
    if not oids:
        return request
    found = await exports.contents(oids)

    def give(part: FilePart) -> FilePart:
        facts = part.content
        return part if facts is None else part.model_copy(update={"content": _held(facts, found)})

    turns = tuple(with_files(turn, give) for turn in request.turns)
    return replace(request, input=request.input.with_files(give), turns=turns)


def _held(facts: Attached, found: Mapping[str, bytes]) -> Attached:
    data = found.get(facts.oid)
    if data is None or hashlib.sha256(data).hexdigest() != facts.digest:
        raise RepositoryError(f"The attached file {facts.name} is not what was planned with.")
    return facts.model_copy(update={"data": base64.b64encode(data).decode("ascii")})


Say = Callable[[FixtureInput, float], Awaitable[Answer | NoAnswer]]
"""Has the candidate answer within so many seconds. `prompt` of the input is what the user says now,
`messages` all that was said, this included. The trace holds what is new."""

Ask = Callable[["TrialRequest"], Awaitable[Answer | NoAnswer]]


def with_history(request: TrialRequest, ask: Ask) -> Say:
    """Send all messages again with every turn: the candidate keeps nothing between turns."""
    return lambda asked, seconds: ask(
        replace(request, input=asked, turns=(), timeout_seconds=seconds)
    )


async def converse(say: Say, request: TrialRequest, clock: Clock) -> Answer | NoAnswer:
    """Have the candidate answer the turns of `request`, which share its time. The first without an
    answer ends it.
    """
    turns, began, before = Turns(), clock.monotonic(), request.input.messages
    for number, turn in enumerate(request.turns, 1):
        asked = request.input.said(before, turn)
        left = request.timeout_seconds - (clock.monotonic() - began)
        given = await say(asked, max(round(left, 2), 0.01))
        if isinstance(given, NoAnswer):
            return _in_turn(given, number, len(request.turns), turns)
        turns.add(asked, given)
        said = InputMessage(role=Role.ASSISTANT, content=given.output)
        before = (*asked.messages, said)
    return turns.answer()


def _in_turn(given: NoAnswer, number: int, count: int, turns: Turns) -> NoAnswer:
    reason = f"In turn {number} of {count}: {given.reason}"
    calls = given.calls if given.calls and given.calls.unanswered else turns.calls(given.calls)
    told = {"reason": reason, "trace": turns.trace(given.trace), "calls": calls}
    return given.model_copy(update=told)


@dataclass(frozen=True)
class Addresses:
    """The services that run: name → host and port, and the variables that say so.

    `playground` is the path of the trial's, "" where it has none. `files` is the folder of the
    Agent's own files, where its programs begin in playgrounds, else "".
    """

    at: dict[str, tuple[str, int]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    playground: str = ""
    files: str = ""

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that a program beside them has to reach."""
        return tuple(port for _, port in self.at.values())

    def beside(self, service: ServiceSpec, host: str, port: int) -> Addresses:
        """Return these and one more."""
        return replace(
            self,
            at={**self.at, service.name: (host, port)},
            variables={**self.variables, service.variable: joined(host, port)},
        )

    def inside(self, playground: str, env: dict[str, str]) -> Addresses:
        """Return these for programs that work in this playground, with its variables."""
        variables = {**self.variables, **env, VARIABLE: playground}
        return replace(self, variables=variables, playground=playground)

    def joined(self, other: Addresses) -> Addresses:
        """Return both; where they name the same, `other` is meant."""
        return Addresses(
            {**self.at, **other.at},
            {**self.variables, **other.variables},
            other.playground or self.playground,
            other.files or self.files,
        )

    def fill(self, text: str) -> str:
        """Return `text`, which a manifest says, with `{services.NAME.port}` and its like filled."""
        given = text.replace(PLAYGROUND, self.playground) if self.playground else text
        return filled(given.replace(OWN_FILES, self.files) if self.files else given, self.at)

    def words(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the words of a command line, filled."""
        return tuple(map(self.fill, texts))

    def literals(self, env: dict[str, str]) -> dict[str, str]:
        """Return the literals of an environment, filled, and the variables beside them."""
        return {**{name: self.fill(text) for name, text in env.items()}, **self.variables}


@dataclass(frozen=True)
class Playground:
    """The playground of one trial: its folder, which the candidate may write, and its addresses."""

    root: Path
    addresses: Addresses

    def shut(self) -> None:
        """Close it to others, now that its candidate is gone: it was given back readable."""
        self.root.chmod(0o700)
