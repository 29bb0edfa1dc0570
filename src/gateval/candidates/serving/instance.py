"""One running copy of a server: its process, its port, its private folders, its way to models."""

from __future__ import annotations

import contextlib
import re

from gateval.candidates.doors.models import ModelSession
from gateval.candidates.doors.tools import door_environment, with_tools
from gateval.candidates.environment import instance_environment
from gateval.candidates.process.failures import how_it_ended, no_start, server_line, told
from gateval.candidates.process.private import private_folders
from gateval.candidates.process.program import NotStarted, Program, Ran
from gateval.candidates.process.running import Running
from gateval.candidates.serving.launch import Launch
from gateval.candidates.serving.readiness import NotReady, free_port, is_taken, wait_until_ready
from gateval.domain.trials.trial import NoAnswer
from gateval.ports.local_http import LocalReply, LocalRequest

_DENIED = re.compile(rb"EACCES|[Pp]ermission denied")

PORT_ATTEMPTS = 3
"""Ports tried when another program was faster at taking one."""


class Instance:
    """A server that runs. Made by `start_instance`; its owner has to `stop` it."""

    def __init__(
        self,
        launch: Launch,
        port: int,
        running: Running,
        session: ModelSession | None,
        held: contextlib.AsyncExitStack,
    ) -> None:
        self.launch = launch
        self.running = running
        self.session = session
        self.host = ""
        self.port = port
        self._held = held

    @property
    def dead(self) -> bool:
        """Whether its process has ended, or printed more than it may."""
        return self.running.ended.done()

    async def ask(self, request: LocalRequest, *, seconds: float, limit: int) -> LocalReply:
        """Send it a request, and nobody else who has its port. Raises `LocalHttpError`."""
        http, owner = self.launch.context.local_http, self.running.owner
        return await http.ask(
            self.host, self.port, request, seconds=seconds, limit=limit, owner=owner
        )

    async def stop(self) -> Ran:
        """End it and everything it held; return how it ended. May be called again."""
        try:
            return await self.running.stop()
        finally:
            await self._held.aclose()

    def how_it_ended(self, ran: Ran) -> str:
        """Return how a dead instance ended, as the end of a sentence."""
        return how_it_ended(ran, self.launch.limits)


async def start_instance(launch: Launch) -> Instance | NoAnswer:
    """Start a server and wait until it is ready, or say why it is not."""
    for _ in range(PORT_ATTEMPTS - 1):
        port = free_port()
        started = await _start_at(launch, port)
        if isinstance(started, Instance) or not is_taken(port):
            return started
    return await _start_at(launch, free_port())


async def _start_at(launch: Launch, port: int) -> Instance | NoAnswer:
    try:
        instance = await _launched(launch, port)
    except NotStarted as error:
        return no_start(error.reason, server_line(launch.command), error.cause)
    try:
        instance.host = await wait_until_ready(
            instance.running, port, launch.ready, launch.context.local_http, launch.context.clock
        )
    except NotReady as error:
        ran = await instance.stop()
        how = f"{instance.how_it_ended(ran)} before it was ready" if error.ended else str(error)
        path = launch.ready.path
        polls = f"GET {path}" if path else ""
        reason = f"{launch.what} {how}.{_port_hint(launch)}{_not_its_port(launch, ran)}"
        return told(reason, ran, server_line(launch.command), polls=polls)
    except BaseException:
        await instance.stop()
        raise
    return instance


async def _launched(launch: Launch, port: int) -> Instance:
    """Start the process with all that it needs. Raises `NotStarted`."""
    around, at = launch.context, launch.addresses
    async with contextlib.AsyncExitStack() as stack:
        private = await stack.enter_async_context(private_folders(around.scratch))
        session = around.open_door(launch.agent) if launch.asks_models else None
        if session:
            stack.callback(session.close)

        def given(text: str) -> str:
            return at.fill(text.replace("{port}", str(port)))

        door = door_environment(session, private)
        written = with_tools({name: given(text) for name, text in launch.env.items()}, door)
        literals = {**written, **at.variables, "PORT": str(port)}
        env = instance_environment(around.environ, launch.name, private, literals, door)
        argv = tuple(map(given, launch.command))
        if not launch.asks_models:
            argv = tuple(word.replace("{home}", str(private.home)) for word in argv)
        folder, reads = launch.place.folder, launch.place.reads
        program = Program(
            argv, folder, env, writes=launch.writes, reads=reads, ports=at.ports, binds=(port,)
        )
        running = launch.programs.start(program, launch.limits)
        return Instance(launch, port, running, session, stack.pop_all())


def _not_its_port(launch: Launch, ran: Ran) -> str:
    """Return why it could not listen, if it says that it was not allowed to."""
    if launch.context.starter.listens_freely or not _DENIED.search(ran.stderr + ran.stdout):
        return ""
    return (
        " It was not permitted something. A model provider answers on this machine, so programs "
        "may listen on the port that they are given (`{port}`, PORT) and on one that the system "
        "chooses (port 0), no other: policy.bindPorts of the gate config adds some."
    )


def _port_hint(launch: Launch) -> str:
    """Return what to do where a server may have been given no port by its command."""
    if launch.takes_port:
        return ""
    return (
        f" Each server gets a port of its own: hand it over as `{{port}}` in {launch.key}, "
        "or read the variable PORT."
    )
