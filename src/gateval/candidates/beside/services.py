"""The services of one Agent on one side: started in order, shared by its trials, ended together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gateval.candidates.beside.addresses import Addresses
from gateval.candidates.process.failures import server_line, told
from gateval.candidates.process.program import Ran
from gateval.candidates.serving.instance import Instance, start_instance
from gateval.candidates.serving.launch import Launch
from gateval.candidates.serving.readiness import listens
from gateval.domain.manifests.fixtures.services import ServiceSpec
from gateval.domain.trials.trial import Answer, Cause, NoAnswer

LOSSES_LIMIT = 5
"""Losses in a row, without a trial that went well between them: nothing more is started then."""

SHOWN_SECONDS = 0.05
"""How long the end of a service is waited for after each trial: its ports close while it ends."""

DYING_SECONDS = 0.25
"""How long the end of a service may still show after its port has closed."""


@dataclass(eq=False)
class Lease:
    """Services that run together. One that was lost, or distrusted, is not given out again."""

    addresses: Addresses = field(default_factory=Addresses)
    instances: list[tuple[ServiceSpec, Instance]] = field(default_factory=list)
    spent: bool = False

    @property
    def lost(self) -> bool:
        """Whether one of them has ended by itself."""
        return any(instance.dead for _, instance in self.instances)

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
    """Starts them when they are first needed, and anew when one was lost.

    `launch` is that of the Agent; `warn` is told of losses between trials.
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
            if old is not None and not old.spent and not old.lost:
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
        if not lease.lost:
            self._losses = 0
            return given
        service, instance = next(one for one in lease.instances if one[1].dead)
        ran = await instance.stop()
        loss = _loss(service, instance, ran)
        self._losses += 1
        self._last_loss = loss
        lease.spent = True
        if isinstance(given, NoAnswer):
            return given.model_copy(update={"reason": f"{given.reason} {loss} meanwhile."})
        failed = told(f"{loss} while the agent was asked.", ran, server_line(service.command))
        return failed.model_copy(update={"trace": given.trace, "seconds": given.seconds})

    def distrust(self, lease: Lease) -> None:
        """Start anew before the next trial: nobody knows what these hold by now."""
        lease.spent = True

    async def close(self) -> None:
        """End all of them, the last one first."""
        if self._lease is not None:
            await self._end(self._lease)
            self._lease = None

    async def _end(self, lease: Lease) -> str:
        """End them all, and return how one was lost before: the empty string if none was."""
        lost = ""
        for service, instance in reversed(lease.instances):
            dead = instance.dead
            ran = await instance.stop()
            lost = _loss(service, instance, ran) if dead else lost
        return lost


def _loss(service: ServiceSpec, instance: Instance, ran: Ran) -> str:
    return f"The service `{service.name}` {instance.how_it_ended(ran)}"
