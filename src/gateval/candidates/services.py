"""What runs beside the trials of one Agent on one side: services, and commands before and after.

What they fail at is the Agent's own doing, as with a set-up: head's broken `before` must not turn
a regression into a trial that nobody measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from gateval.candidates.base import Addresses
from gateval.candidates.environment import instance_environment
from gateval.candidates.failures import command_line, failure, no_start, server_line, told
from gateval.candidates.preparing import Workplace
from gateval.candidates.program import NotStarted, PrivateFolders, Program, ProgramLimits, Ran
from gateval.candidates.server import Instance, Launch, listens, start_instance
from gateval.domain.manifests.playground import ServiceSpec
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.events import CandidateWarned

LOSSES_LIMIT = 5
"""Losses in a row, without a trial that went well between them: nothing more is started then."""

SHOWN_SECONDS = 0.05
"""How long the end of a service is waited for after each trial: its ports close while it ends."""

DYING_SECONDS = 0.25
"""How long the end of a service may still show after its port has closed."""


class SeenService(NamedTuple):
    """A service that was looked at. It is lost where it is dead or has no port any more: `why` is a
    clause on that.
    """

    service: ServiceSpec
    instance: Instance
    dead: bool
    why: str

    async def stop(self) -> tuple[str, Ran]:
        """End it; return as a sentence how it was lost, and how it ended."""
        ran = await self.instance.stop()
        how = self.why or self.instance.how_it_ended(ran)
        return f"The service `{self.service.name}` {how}", ran


def _look(running: tuple[ServiceSpec, Instance]) -> SeenService:
    service, one = running
    return SeenService(service, one, one.dead, "" if one.dead else one.why_no_port())


@dataclass(eq=False)
class Lease:
    """Services that run together. One that was lost, or distrusted, is not given out again."""

    addresses: Addresses = field(default_factory=Addresses)
    instances: list[tuple[ServiceSpec, Instance]] = field(default_factory=list)
    spent: bool = False

    def lost(self) -> SeenService | None:
        """Return the first that has ended by itself, or has lost its port; None if none has."""
        return next((one for one in map(_look, self.instances) if one.dead or one.why), None)

    async def settle(self) -> None:
        """Wait until the end of one that is lost has shown, but not for long."""
        if not self.instances:
            return
        ends = {one.running.ended for _, one in self.instances}
        await asyncio.wait(ends, timeout=SHOWN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for _, one in self.instances:
            if not one.dead and not await listens(one.host, one.port, DYING_SECONDS):
                await asyncio.wait({one.running.ended}, timeout=DYING_SECONDS)


class Services:
    """Starts them when they are first needed, and anew when one was lost. `launch` is that of the
    Agent; `warn` is told of losses between trials.
    """

    def __init__(self, launch: Launch, warn: Callable[[str], None]) -> None:
        self._launch = launch
        self._warn = warn
        self._lock = asyncio.Lock()
        self._lease: Lease | None = None
        self._losses = 0
        self._last_loss = ""

    async def lease(self) -> Lease | NoAnswer:
        """Return services that run, started if need be, or why they do not."""
        async with self._lock:
            old = self._lease
            if old is not None and not old.spent and not old.lost():
                return old
            if old is not None:
                loss = await self._end(old)
                if loss and not old.spent:
                    self._losses += 1
                    self._last_loss = loss
                    self._warn(f"{loss} between two trials; the services are started anew.")
            if self._losses >= LOSSES_LIMIT:
                reason = (
                    f"Services were lost {self._losses} times without a trial that went well in "
                    f"between, and are not started again. {self._last_loss}."
                )
                return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
            return await self._start()

    async def _start(self) -> Lease | NoAnswer:
        lease = self._lease = Lease(self._launch.addresses)
        for index, service in enumerate(self._launch.agent.runtime.services):
            launch = replace(
                self._launch,
                command=service.command,
                env=service.env,
                ready=service.ready,
                what=f"The service `{service.name}`",
                key=f"runtime.services[{index}].command",
                asks_models=False,
                addresses=lease.addresses,
            )
            started = await start_instance(launch)
            if isinstance(started, NoAnswer):
                await self._end(lease)
                self._losses += 1
                self._last_loss = started.reason.rstrip(".")
                return started
            lease.instances.append((service, started))
            lease.addresses = lease.addresses.beside(service, started.host, started.port)
        return lease

    async def checked(self, lease: Lease, given: Answer | NoAnswer) -> Answer | NoAnswer:
        """Return what a trial gave, or why it counts for nothing: a service was lost meanwhile."""
        if lease.spent:
            return given
        await lease.settle()
        lost = lease.lost()
        if lost is None:
            self._losses = 0
            return given
        loss, ran = await lost.stop()
        self._losses += 1
        self._last_loss = loss
        lease.spent = True
        if isinstance(given, NoAnswer):
            return given.model_copy(update={"reason": f"{given.reason} {loss} meanwhile."})
        failed = told(f"{loss} while the agent was asked.", ran, server_line(lost.service.command))
        return failed.model_copy(update={"trace": given.trace, "seconds": given.seconds})

    async def close(self) -> None:
        """End all of them, the last one first."""
        if self._lease is not None:
            await self._end(self._lease)
            self._lease = None

    async def _end(self, lease: Lease) -> str:
        """End them all, and return how one was lost before: the empty string if none was."""
        lost = ""
        for one in map(_look, reversed(lease.instances)):
            loss, _ = await one.stop()
            lost = loss if one.dead or one.why else lost
        return lost


@dataclass(frozen=True)
class CommandContext:
    """Where the commands of one trial run: where services are, in which private folders, and at
    which port the Agent's server is, if it is one. `writes` are folders of a playground, and the
    copy of the Agent's files that the trial has; `place` is the working place in that.
    """

    addresses: Addresses
    private: PrivateFolders
    port: int | None = None
    writes: tuple[Path, ...] = ()
    place: Workplace | None = None


class SideServices:
    """Services and commands; for an Agent that has neither, nothing is done. `launch` is its own.

    `one_by_one`: trials may not run side by side, since they share services and what runs before
    or after one of them changes these. Then each holds `turn`.
    """

    def __init__(self, launch: Launch) -> None:
        runtime = launch.agent.runtime
        self.launch = launch
        self.services = Services(launch, self.warn)
        self.one_by_one = bool(runtime.services) and runtime.around
        self.turn: AbstractAsyncContextManager[None] = (
            asyncio.Lock() if self.one_by_one else nullcontext()
        )
        self._failed = 0

    async def trial(
        self,
        lease: Lease,
        commands: CommandContext,
        ask: Callable[[], Awaitable[Answer | NoAnswer]],
    ) -> Answer | NoAnswer:
        """Have `ask` ask the candidate once, between `before` and `after`. Where one of these
        failed, nobody knows what the services hold by now.
        """
        runtime = self.launch.agent.runtime
        failed = await self._run("before", runtime.before, commands)
        if failed is not None:
            lease.spent = True
            return failed
        given = await self.services.checked(lease, await ask())
        failed = await self._run("after", runtime.after, commands)
        if failed is not None:
            lease.spent = True
            self._failed += 1
            if self._failed == 1:
                said = "; ".join(failed.detail[1:])[-500:]
                shown = f" It printed: {said}" if said else ""
                self.warn(
                    f"{failed.reason}{shown} The answer counts, as it came before; what the "
                    "gate started beside it is started anew for the next one."
                )
        return given

    def warn(self, message: str) -> None:
        """Tell what a person should know of this side's candidates."""
        agent = self.launch.agent
        self.launch.context.on_event(
            CandidateWarned(agent=agent.name, side=agent.side, message=message, lasting=True)
        )

    async def close(self) -> None:
        """End the services, and tell how often `after` failed."""
        if self._failed > 1:
            self.warn(f"`after` failed {self._failed} times.")
        self._failed = 0
        await self.services.close()

    async def _run(
        self, key: str, argv: tuple[str, ...], commands: CommandContext
    ) -> NoAnswer | None:
        """Run `before` or `after`, and return why it counts as failed, or None."""
        if not argv:
            return None
        # The last user of the folders gave them back readable. Only the outermost is closed again,
        # which nobody but the gate can have put something else in the place of.
        outermost, port = commands.private.home.parent, commands.port
        outermost.chmod(0o700)
        try:
            shown, home = "{port}" if port is None else str(port), str(commands.private.home)
            words = (word.replace("{port}", shown).replace("{home}", home) for word in argv)
            return await self._done(key, commands.addresses.words(words), commands)
        finally:
            outermost.chmod(0o700)

    async def _done(
        self, key: str, argv: tuple[str, ...], commands: CommandContext
    ) -> NoAnswer | None:
        launch, private, port = self.launch, commands.private, commands.port
        place = commands.place or launch.place
        timeouts = launch.context.timeouts
        limits = ProgramLimits(timeouts.beside_seconds, timeouts.grace_seconds)
        server = {} if port is None else {"PORT": str(port)}
        literals = commands.addresses.literals(launch.agent.runtime.env) | server
        program = Program(
            argv,
            place.folder,
            instance_environment(launch.context.environ, launch.name, private, literals),
            writes=(private.home, *commands.writes),
            reads=place.reads,
            ports=(*(() if port is None else (port,)), *commands.addresses.ports),
        )
        try:
            ran = await launch.programs.run(program, limits)
        except NotStarted as error:
            line = command_line(argv)
            return no_start(f"`{key}` could not be run. {error.reason}", line, error.cause)
        failed = failure(f"`{key}`", ran, argv, limits)
        if failed is None or key != "before":
            return failed
        return failed.model_copy(update={"reason": f"{failed.reason} The agent was not asked."})
