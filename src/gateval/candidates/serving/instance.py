"""One running copy of a server: its process, its port, its private folders, its way to models."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from gateval.candidates.allowlist import instance_environment
from gateval.candidates.base import ModelSession, RuntimeContext
from gateval.candidates.process.failures import how_it_ended, no_start, server_line, told
from gateval.candidates.process.private import private_folders
from gateval.candidates.process.processes import Programs
from gateval.candidates.process.program import KIB, MIB, Limits, NotStarted, Program, Ran
from gateval.candidates.process.running import Running
from gateval.candidates.serving.options import HttpOptions
from gateval.candidates.serving.readiness import NotReady, free_port, is_taken, wait_until_ready
from gateval.candidates.workplace import Workplace
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import NoAnswer

PORT_ATTEMPTS = 3
"""Ports tried when another program was faster at taking one."""

PRINTED_LIMIT = 256 * MIB
"""Bytes that a server may print on each stream in its life."""


@dataclass(frozen=True)
class Blueprint:
    """All that instances of one server have in common. `place` is where they work."""

    agent: AgentDefinition
    options: HttpOptions
    context: RuntimeContext
    programs: Programs
    place: Workplace
    name: str

    @property
    def argv(self) -> tuple[str, ...]:
        """The command as written, with `{port}` where the port will stand."""
        return self.agent.runtime.command

    @property
    def limits(self) -> Limits:
        """The limits of a server's output. The limit of time is the caller's."""
        return Limits(
            seconds=float("inf"),
            grace_seconds=self.context.timeouts.grace_seconds,
            stdout_kept=64 * KIB,
            stdout_bytes=PRINTED_LIMIT,
            stderr_bytes=PRINTED_LIMIT,
        )


class Instance:
    """A server that runs. Made by `start_instance`; its owner has to `stop` it."""

    def __init__(
        self,
        blueprint: Blueprint,
        running: Running,
        session: ModelSession | None,
        held: contextlib.AsyncExitStack,
    ) -> None:
        self.blueprint = blueprint
        self.running = running
        self.session = session
        self.host = ""
        self.port = 0
        self._held = held

    @property
    def dead(self) -> bool:
        """Whether its process has ended, or printed more than it may."""
        return self.running.ended.done()

    async def stop(self) -> Ran:
        """End it and everything it held; return how it ended. May be called again."""
        try:
            return await self.running.stop()
        finally:
            await self._held.aclose()

    def how_it_ended(self, ran: Ran) -> str:
        """Return how a dead instance ended, as the end of a sentence."""
        return how_it_ended(ran, self.blueprint.limits)


async def start_instance(blueprint: Blueprint) -> Instance | NoAnswer:
    """Start a server and wait until it is ready, or say why it is not."""
    for _ in range(PORT_ATTEMPTS - 1):
        port = free_port()
        started = await _start_at(blueprint, port)
        if isinstance(started, Instance) or not is_taken(port):
            return started
    return await _start_at(blueprint, free_port())


async def _start_at(blueprint: Blueprint, port: int) -> Instance | NoAnswer:
    try:
        instance = await _launch(blueprint, port)
    except NotStarted as error:
        return no_start(error.reason, server_line(blueprint.argv), error.cause)
    try:
        instance.port = port
        instance.host = await wait_until_ready(
            instance.running,
            port,
            blueprint.options.ready,
            blueprint.context.local_http,
            blueprint.context.clock,
        )
    except NotReady as error:
        ran = await instance.stop()
        how = f"{instance.how_it_ended(ran)} before it was ready" if error.ended else str(error)
        path = blueprint.options.ready.path
        polls = f"GET {path}" if path else ""
        reason = f"The server {how}.{_port_hint(blueprint)}"
        return told(reason, ran, server_line(blueprint.argv), polls=polls)
    except BaseException:
        await instance.stop()
        raise
    return instance


async def _launch(blueprint: Blueprint, port: int) -> Instance:
    """Start the process with all that it needs. Raises `NotStarted`."""
    around, agent = blueprint.context, blueprint.agent
    async with contextlib.AsyncExitStack() as stack:
        private = await stack.enter_async_context(private_folders(around.scratch))
        session = around.door.open(agent.side, agent.models, agent.uses) if around.door else None
        if session:
            stack.callback(session.close)
        literals = {name: _with_port(text, port) for name, text in agent.runtime.env.items()}
        env = instance_environment(
            around.environ,
            literals={**literals, "PORT": str(port)},
            door=session.environment() if session else {},
            home=str(private.home),
            tmp=str(private.tmp),
            name=blueprint.name,
        )
        argv = tuple(_with_port(word, port) for word in blueprint.argv)
        program = Program(argv, blueprint.place.folder, env, reads=blueprint.place.reads)
        running = blueprint.programs.start(program, blueprint.limits)
        return Instance(blueprint, running, session, stack.pop_all())


def _port_hint(blueprint: Blueprint) -> str:
    """Return what to do where a server may have been given no port by its command."""
    runtime = blueprint.agent.runtime
    if any("{port}" in text for text in (*blueprint.argv, *runtime.env.values())):
        return ""
    return (
        " Each server gets a port of its own: hand it over as `{port}` in runtime.command, or read "
        "the variable PORT."
    )


def _with_port(text: str, port: int) -> str:
    return text.replace("{port}", str(port))
