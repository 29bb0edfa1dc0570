"""Agents, context and questions for tests that start candidates."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml
from pydantic import JsonValue

from gateval.adapters.machine import SystemClock
from gateval.bridges import bridge_digest
from gateval.candidates.base import ProcessTimeouts, RuntimeContext, TrialRequest
from gateval.candidates.environment import MARKER, candidate_environment
from gateval.candidates.program import Groups, Starter
from gateval.candidates.registry import RUNTIMES
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import AgentSpec, ConversationMode, LayerSpec, RuntimeSpec
from gateval.domain.manifests.fixture import FixtureInput, InputType, ToolReplay
from gateval.domain.plan.absent import Surroundings
from gateval.domain.plan.plan import AgentDefinition, LayerInputs
from gateval.domain.problems import SourceLocation
from gateval.domain.trials.model_call import Caller, CallsMade, ToolDefinition
from gateval.domain.trials.trace import Replay, Trace
from gateval.domain.trials.trial import Side, TrialKey
from gateval.errors import RepositoryError
from gateval.events import Event
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.loopback_client import LoopbackClient
from gateval.ports.model_calls import ModelCalls, ModelTrouble
from tests.helpers.scripted_calls import ScriptedCalls


@dataclass
class Folders:
    """Exports that were made before: one folder for each side, or the reason why there is none."""

    root: Path | str
    asked: list[Side] = field(default_factory=list)
    outside: tuple[str, ...] = ()
    blobs: dict[str, bytes] = field(default_factory=dict)

    async def folder(self, agent: AgentDefinition, links: Mapping[str, Path]) -> Path:
        assert not links
        self.asked.append(agent.side)
        if isinstance(self.root, str):
            raise RepositoryError(self.root)
        return self.root

    def inputs(self, agent: AgentDefinition, spec: LayerSpec) -> LayerInputs:
        raise NotImplementedError("a test of layers takes a repository")

    async def write_inputs(self, agent: AgentDefinition, inputs: LayerInputs, folder: Path) -> None:
        raise NotImplementedError("a test of layers takes a repository")

    async def contents(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        return {oid: self.blobs[oid] for oid in oids}

    def around(self, agent: AgentDefinition) -> Surroundings:
        return Surroundings((), self.outside)


@dataclass
class Door:
    """A model door without models behind it: knows its sessions, and gives `trace` per trial."""

    trace: Trace | None = None
    opened: list[tuple[Side, tuple[str, ...]]] = field(default_factory=list)
    begun: int = 0
    ended: int = 0
    closed: int = 0
    stray: int = 0
    asks: bool = False
    tools_asked: bool = False

    def open(
        self,
        side: Side,
        models: tuple[str, ...],
        uses: tuple[str, ...] = (),
        tools: tuple[ToolDefinition, ...] = (),
    ) -> Door:
        self.opened.append((side, models))
        return self

    def environment(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "throw-away"}

    def trouble(self, limit: float, *, late: bool = False) -> ModelTrouble | None:
        assert limit > 0
        return None

    @property
    def calls(self) -> CallsMade | None:
        return None

    def begin(
        self, repetition: int = 1, replay: Replay | None = None, caller: Caller | None = None
    ) -> None:
        self.begun += 1

    def end(self) -> Trace | None:
        self.ended += 1
        return self.trace

    def close(self) -> None:
        self.closed += 1


class World:
    """One run: a folder for exported files, a scratch folder, and what was told on the way.

    `environ` is the gate's environment as candidates may see it. The run's name is unique, so that
    `survivors` finds this run's processes and no others.
    """

    def __init__(
        self,
        tmp_path: Path,
        *,
        calls: ModelCalls | None = None,
        door: GatewayServer | Door | None = None,
        environ: Mapping[str, str] | None = None,
        timeouts: ProcessTimeouts | None = None,
        starter: Starter | None = None,
    ) -> None:
        self.export = tmp_path / "export"
        self.export.mkdir()
        scratch = tmp_path / "scratch"
        scratch.mkdir(mode=0o700, exist_ok=starter is not None)
        self.folders = Folders(self.export)
        self.events: list[Event] = []
        self.http = LoopbackClient()
        self.context = RuntimeContext(
            run=secrets.token_hex(6),
            calls=calls or ScriptedCalls(),
            door=cast("GatewayServer | None", door),
            exports=self.folders,
            environ=candidate_environment(os.environ if environ is None else environ),
            clock=SystemClock(),
            local_http=self.http,
            scratch=scratch,
            starter=starter or Groups(),
            on_event=self.events.append,
            timeouts=timeouts or ProcessTimeouts(setup_seconds=20, grace_seconds=0.2),
        )

    def write(self, name: str, program: str) -> None:
        """Put a file into the export."""
        path = self.export / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(program))

    def leftovers(self) -> list[str]:
        """What is still in the scratch folder."""
        return sorted(path.name for path in self.context.scratch.iterdir())

    def survivors(self) -> list[int]:
        """Ids of processes that still carry the marker of this run."""
        return survivors(self.context.run)


def survivors(run: str) -> list[int]:
    """Ids of the processes that carry the marker of this run's candidates."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(v.startswith(f"{MARKER}=".encode()) and run.encode() in v for v in variables):
            found.append(int(folder.name))
    return found


def is_up(pid: int) -> bool:
    """Whether this process is there and no zombie."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] not in "ZX"


async def ended(pid: int) -> None:
    """Wait until this process has ended, and the loop has turned often enough to learn of it."""
    while is_up(pid):  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0.01)
    for _ in range(50):
        await asyncio.sleep(0.001)


def no_survivors(run: str, seconds: float = 30) -> bool:
    """Whether the run's candidates are all gone within this time."""
    end = time.monotonic() + seconds
    while survivors(run):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def open_files() -> int:
    """How many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def python_agent(
    script: str = "agent.py",
    *,
    name: str = "bot",
    side: Side = Side.HEAD,
    cwd: str = "",
    setup: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    models: tuple[str, ...] = (),
) -> AgentDefinition:
    """An Agent whose command runs a Python file of the export."""
    return command_agent(
        (sys.executable, "-I", script),
        name=name, side=side, cwd=cwd, setup=setup, env=env, models=models,
    )  # fmt: skip


def command_agent(
    command: tuple[str, ...],
    *,
    name: str = "bot",
    side: Side = Side.HEAD,
    cwd: str = "",
    setup: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    models: tuple[str, ...] = (),
) -> AgentDefinition:
    """An Agent that is a program."""
    return AgentDefinition(
        name=name,
        side=side,
        place=SourceLocation(file="agent.yaml"),
        models=models,
        runtime=RuntimeSpec(type="command", command=command, setup=setup, env=dict(env or {})),
        cwd=cwd,
        closure="0" * 64,
    )


def agentv_agent(line: str, *, files_format: str | None = None) -> AgentDefinition:
    """An Agent that is a command line with the placeholders of AgentV."""
    options: JsonObject = {"line": line}
    if files_format is not None:
        options["filesFormat"] = files_format
    return command_agent(()).model_copy(
        update={"runtime": RuntimeSpec(type="agentv", options=options)}
    )


def bridged_agent(language: str, target: str, **written: JsonValue) -> AgentDefinition:
    """An Agent that a bridge has answer; `written` are further keys of its `runtime`."""
    spec: JsonObject = {"runtime": {"type": language, "target": target, **written}}
    runtime = RuntimeSpec.model_validate(_runtime(spec))
    return command_agent(()).model_copy(update={"runtime": runtime})


def agent_from(manifest: Path, *, cwd: str = "") -> AgentDefinition:
    """The Agent of a manifest file that holds one document, as if planned from there."""
    document = yaml.safe_load(manifest.read_text())
    spec = AgentSpec.model_validate(document["spec"] | {"runtime": _runtime(document["spec"])})
    return AgentDefinition(
        name=document["metadata"]["name"],
        side=Side.HEAD,
        place=SourceLocation(file=manifest.name),
        models=spec.models,
        system=spec.system if isinstance(spec.system, str) else "",
        tools=spec.tools,
        runtime=spec.runtime or RuntimeSpec(),
        cwd=cwd,
        closure="0" * 64,
    )


def _runtime(spec: JsonObject) -> JsonObject:
    """The runtime as the reader gives it: what only some know stands in `options`."""
    raw = spec.get("runtime")
    written = raw if isinstance(raw, dict) else {}
    shared = {key: value for key, value in written.items() if key in RuntimeSpec.model_fields}
    options = {key: written[key] for key in written if key not in shared}
    bridge = RUNTIMES[str(written.get("type", "model"))].bridge
    if bridge:
        going_on = ConversationMode.PROCESS.value
        shared = {"conversation": going_on, **shared, "bridge": bridge_digest(bridge)}
    return {**shared, "options": options}


def ask(
    prompt: str = "hello",
    *,
    payload: dict[str, JsonValue] | None = None,
    replay: tuple[ToolReplay, ...] = (),
    shadow: tuple[str, ...] = (),
    timeout: float = 20,
    side: Side = Side.HEAD,
) -> TrialRequest:
    """A trial's question."""
    return TrialRequest(
        key=TrialKey(eval="secret-eval", fixture="secret-fixture", side=side, repetition=1),
        input=FixtureInput(type=InputType.PROMPT, payload=payload or {"prompt": prompt}),
        tool_replay=replay,
        shadow_tools=shadow,
        timeout_seconds=timeout,
    )
