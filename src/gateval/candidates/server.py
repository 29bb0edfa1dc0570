"""One running copy of a server: its process, its port, its folders, and when it can be asked."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import Addresses, Runtime, RuntimeContext
from gateval.candidates.environment import instance_environment
from gateval.candidates.failures import how_it_ended, no_start, server_line, told
from gateval.candidates.preparing import Preparation, Workplace
from gateval.candidates.processes import Programs, Running
from gateval.candidates.program import (
    KIB,
    MIB,
    NotStarted,
    Program,
    ProgramLimits,
    Ran,
    private_folders,
)
from gateval.candidates.redirect import lay_out_hook, redirection
from gateval.candidates.tools import door_environment, with_tools
from gateval.candidates.workdir import copyable, working_copy
from gateval.domain.manifests.playground import Ready
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import NoAnswer
from gateval.gateway.peers import Tables, owned_by
from gateval.ports.model_calls import (
    LocalHttp,
    LocalHttpError,
    LocalReply,
    LocalRequest,
    NoPortLeft,
)
from gateval.ports.storage import Clock

if TYPE_CHECKING:
    from gateval.gateway.local.session import Session

PRINTED_LIMIT = 256 * MIB
"""Bytes that a server may print on each stream in its life."""


@dataclass(frozen=True)
class Launch:
    """All that starts of one server have in common.

    `command` and `env` are as written, with `{port}` where the port will stand. `what` is the
    subject of sentences about it, `key` the command's place. Only one that
    `asks_models` gets a way to them. `place` is where it works, `name` marks its processes;
    `addresses` are those of the services that it may ask, `writes` folders of a playground.
    """

    agent: AgentDefinition
    context: RuntimeContext
    programs: Programs
    place: Workplace
    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    ready: Ready
    what: str = "The server"
    key: str = "runtime.command"
    asks_models: bool = True
    addresses: Addresses = field(default_factory=Addresses)
    writes: tuple[Path, ...] = ()

    @property
    def limits(self) -> ProgramLimits:
        """The limits of a server's output. The limit of time is the caller's."""
        return ProgramLimits(
            seconds=float("inf"),
            grace_seconds=self.context.timeouts.grace_seconds,
            stdout_kept=64 * KIB,
            stdout_bytes=PRINTED_LIMIT,
            stderr_bytes=PRINTED_LIMIT,
        )


async def prepare_launch(
    runtime: Runtime, programs: Programs, ready: Ready | None = None
) -> Launch | NoAnswer:
    """Prepare where an Agent's own command works; return how it is started, or why it cannot be."""
    agent, context, name = runtime.agent, runtime.context, runtime.name
    place = await Preparation(agent, context, context.exports, programs, name).workplace()
    if isinstance(place, NoAnswer):
        return place
    spec = agent.runtime
    hook = await lay_out_hook(spec, context)
    if isinstance(hook, NoAnswer):
        return hook
    if spec.workdir and (refused := await copyable(place, context)):
        return refused
    if hook is not None:
        place = replace(place, reads=(*place.reads, hook))
    own = Addresses(files=str(place.folder) if spec.in_playground else "")
    return Launch(
        agent, context, programs, place, name, spec.command, spec.env, ready or Ready(),
        addresses=own,
    )  # fmt: skip


FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 0.25
POLL_SECONDS = 5.0

LEAST_POLL_SECONDS = 0.1
"""A server that does not answer within less, as the time runs out, has said nothing by that."""

_HOSTS = {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6}
"""Where a server may listen; `localhost` is the second for some of them."""


class NotReady(Exception):
    """The server cannot be asked. The text is a clause to be put after `The server`. `ended` says
    that it is no longer there.
    """

    def __init__(self, message: str, *, ended: bool = False) -> None:
        super().__init__(message)
        self.ended = ended


async def wait_until_ready(
    running: Running, port: int, ready: Ready, http: LocalHttp, clock: Clock
) -> str:
    """Return the address at which the server answers. Raises `NotReady`."""
    until = clock.monotonic() + ready.timeout_seconds
    pause = FIRST_PAUSE_SECONDS
    told = ""
    while True:
        left = until - clock.monotonic()
        said = "did not begin to listen"
        for host in _HOSTS:
            seconds = max(min(left, POLL_SECONDS), 0.01)
            why = await _why_not_yet(host, port, ready, http, running, seconds)
            if why is None:
                return host
            said = why or said
        if not told or left >= LEAST_POLL_SECONDS:
            told = said
        await asyncio.wait({running.ended}, timeout=pause)
        if running.ended.done():
            raise NotReady("ended", ended=True)
        if clock.monotonic() >= until:
            raise NotReady(f"was not ready within {ready.timeout_seconds:g} s: it {told}")
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


async def _why_not_yet(
    host: str, port: int, ready: Ready, http: LocalHttp, running: Running, seconds: float
) -> str | None:
    """Return as a clause why the server is not ready yet, "" for no reaction; None if it is."""
    if ready.path is None:
        return None if await listens(host, port, seconds) else ""
    asked = LocalRequest("GET", ready.path)
    try:
        reply = await http.ask(
            host, port, asked, seconds=seconds, limit=1024 * 1024, owner=running.owner
        )
    except NoPortLeft:
        raise
    except LocalHttpError as error:
        return "" if error.refused else f"{error.message} to GET {ready.path}"
    ok = 200 <= reply.status < 300
    return None if ok else f"answered GET {ready.path} with status {reply.status}"


async def listens(host: str, port: int, seconds: float) -> bool:
    """Whether somebody accepts connections there within this time."""
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port, family=_HOSTS[host])
    except (OSError, TimeoutError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL:
            raise NoPortLeft
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on. Another program may take it
    before the server does; the caller tries another then. Raises `NoPortLeft`.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", 0))
        except OSError:
            raise NoPortLeft
        port: int = probe.getsockname()[1]
        return port


def is_taken(port: int) -> bool:
    """Whether someone listens on this port, on any address that the server could have meant."""
    for host in ("127.0.0.1", "0.0.0.0"):  # noqa: S104 - tried only
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                return True
    return False


PORT_ATTEMPTS = 3
"""Ports tried when another program was faster at taking one."""


class Instance:
    """A server that runs. Made by `start_instance`; its owner has to `stop` it."""

    def __init__(
        self,
        launch: Launch,
        port: int,
        running: Running,
        session: Session | None,
        held: contextlib.AsyncExitStack,
    ) -> None:
        self.launch = launch
        self.running = running
        self.session = session
        self.host = ""
        self.port = port
        self.card = b""
        """What an A2A agent says of itself, once it was asked for that."""
        self._listened = False
        self._held = held

    @property
    def dead(self) -> bool:
        """Whether its process has ended, or printed more than it may."""
        return self.running.ended.done()

    async def wait_until_ready(self) -> None:
        """Learn at which address it answers. Raises `NotReady`."""
        launch, around = self.launch, self.launch.context
        self.host = await wait_until_ready(
            self.running, self.port, launch.ready, around.local_http, around.clock
        )
        if why := self.why_no_port():
            raise NotReady(why)

    def why_no_port(self) -> str:
        """Return, as a clause, that another program has its port, or it has let it go; else "".

        A candidate that sees another's port in its command line may take it first and answer in its
        place: head's could then speak for base's.
        """
        owner = self.running.owner
        if owner is None:
            return ""
        found = Tables().listening(self.port)
        if not all(map(owned_by(owner), found)):
            return f"has no port: another program has taken port {self.port}"
        if self._listened and not found:
            return f"listens on port {self.port} no more"
        self._listened = bool(found)
        return ""

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
        if isinstance(started, Instance):
            return started
        if not (is_taken(port) or any(map(_IN_USE.search, started.detail))):  # or gone by now
            return started
    return await _start_at(launch, free_port())


_IN_USE = re.compile(r"address already in use|EADDRINUSE", re.IGNORECASE)


async def _start_at(launch: Launch, port: int) -> Instance | NoAnswer:
    try:
        instance = await _launched(launch, port)
    except NotStarted as error:
        return no_start(error.reason, server_line(launch.command), error.cause)
    try:
        await instance.wait_until_ready()
    except NotReady as error:
        ran = await instance.stop()
        how = f"{instance.how_it_ended(ran)} before it was ready" if error.ended else str(error)
        polls = f"GET {launch.ready.path}" if launch.ready.path else ""
        reason = f"{launch.what} {how}."
        if not any("{port}" in text for text in (*launch.command, *launch.env.values())):
            reason += (
                f" Each server gets a port of its own: hand it over as `{{port}}` in {launch.key}, "
                "or read the variable PORT."
            )
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
        place, writes = launch.place, launch.writes
        if launch.asks_models and launch.agent.runtime.workdir:
            copy = await working_copy(place, private)
            if isinstance(copy, NoAnswer):
                raise NotStarted(copy.reason, copy.cause)
            place, writes = copy, (*writes, copy.root)
        session = around.open_door(launch.agent) if launch.asks_models else None
        if session:
            stack.callback(session.close)

        def given(text: str) -> str:
            return at.fill(text.replace("{port}", str(port)))

        door = door_environment(session, private)
        written = with_tools({name: given(text) for name, text in launch.env.items()}, door)
        literals = {**written, **at.variables, "PORT": str(port)}
        door |= redirection(launch.agent.runtime, around, session, literals)
        env = instance_environment(around.environ, launch.name, private, literals, door)
        argv = tuple(map(given, launch.command))
        if not launch.asks_models:
            argv = tuple(word.replace("{home}", str(private.home)) for word in argv)
        program = Program(
            argv,
            place.folder,
            env,
            writes=writes,
            reads=place.reads,
            ports=at.ports,
            binds=(port,),
        )
        running = launch.programs.start(program, launch.limits)
        return Instance(launch, port, running, session, stack.pop_all())
