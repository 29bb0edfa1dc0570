"""The instances of one server: one trial at a time each, the dead replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gateval.candidates.base import TrialRequest
from gateval.candidates.beside.addresses import Playground
from gateval.candidates.beside.beside import Beside
from gateval.candidates.beside.commands import Ground
from gateval.candidates.beside.services import Lease
from gateval.candidates.playground.made import in_playground, told_of
from gateval.candidates.process.private import private_folders
from gateval.candidates.process.program import End, Ran
from gateval.candidates.serving.asking import ServerAnswer
from gateval.candidates.serving.exchanging import Exchange, Turning
from gateval.candidates.serving.instance import Instance, start_instance
from gateval.candidates.serving.launch import Launch
from gateval.candidates.serving.options import HttpOptions
from gateval.candidates.talk import converse
from gateval.domain.trials.trial import Answer, Cause, NoAnswer

LOSSES_LIMIT = 5
"""Losses in a row, without an answer between them, after which nothing more is started."""


class Pool:
    """Starts instances when they are needed, `instances` at most at the same time.

    `beside` is told what a person should know: the loss of an instance, and stray model calls.
    """

    def __init__(self, launch: Launch, options: HttpOptions, beside: Beside) -> None:
        self._launch = launch
        self._options = options
        self._beside = beside
        self._warn = beside.warn
        self._slots = asyncio.Semaphore(1 if beside.one_by_one else options.instances)
        self._idle: list[Instance] = []
        self._all: set[Instance] = set()
        self._losses = 0
        self._last_loss = ""
        self._stray = 0

    async def warm_up(self) -> NoAnswer | None:
        """Start the first instance, or say why none can be started."""
        async with self._slots:
            lease = await self._beside.services.lease()
            started = lease if isinstance(lease, NoAnswer) else await self._start(lease)
            if isinstance(started, NoAnswer):
                return started
            self._idle.append(started)
        return None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Have one instance answer. It is not asked anything else meanwhile."""
        return await self._exchange(request, lambda exchange: exchange.ask(request))

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Have one instance answer all turns. It is not asked anything else meanwhile."""
        mode, clock = self._launch.agent.runtime.conversation, self._launch.context.clock
        return await self._exchange(
            request, lambda exchange: converse(Turning(exchange, request, mode), request, clock)
        )

    async def _exchange(
        self, request: TrialRequest, asking: Callable[[Exchange], Awaitable[Answer | NoAnswer]]
    ) -> Answer | NoAnswer:
        async with self._slots:
            lease = await self._beside.services.lease()
            if isinstance(lease, NoAnswer):
                return lease
            ground = request.playground
            instance = await self._living(lease, ground)
            if isinstance(instance, NoAnswer):
                return instance
            keep, alone = False, self._options.restart == "perTrial" or ground is not None
            try:
                heard = await self._heard(instance, lease, asking, ground)
                keep = heard.whole and not heard.dead and not alone
            finally:
                if keep:
                    self._idle.append(instance)
                else:
                    ran = await self._end(instance)
            if keep:
                self._losses = 0
                return heard.given
            return self._reckon(heard, ran, instance)

    async def close(self) -> None:
        """Stop all instances, and tell of model calls that came when no trial was under way."""
        self._idle.clear()
        await asyncio.gather(*(self._end(instance) for instance in tuple(self._all)))
        if self._stray:
            calls = "1 model call" if self._stray == 1 else f"{self._stray} model calls"
            self._warn(f"The server made {calls} while no trial was under way; refused.")
            self._stray = 0

    async def _heard(
        self,
        instance: Instance,
        lease: Lease,
        asking: Callable[[Exchange], Awaitable[Answer | NoAnswer]],
        ground: Playground | None,
    ) -> ServerAnswer:
        """Ask the instance, between what runs before and after."""
        exchange = Exchange(instance, self._options)
        if self._launch.agent.runtime.around:
            async with private_folders(self._launch.context.scratch) as private:
                at = Ground(told_of(ground, lease.addresses), private, instance.port)
                given = await self._beside.trial(lease, at, lambda: asking(exchange))
        else:
            given = await self._beside.services.checked(lease, await asking(exchange))
        heard = exchange.heard or ServerAnswer(given, whole=True, dead=instance.dead)
        return heard._replace(given=given)

    async def _living(self, lease: Lease, ground: Playground | None) -> Instance | NoAnswer:
        """Return an instance that lives beside these services, started if need be, or why there is
        none. Only one that was started for a playground may write there.
        """
        while self._idle and ground is None:
            instance = self._idle.pop()
            if instance.launch.addresses is not lease.addresses:
                await self._end(instance)  # the services that it knows are gone
                continue
            if not instance.dead:
                return instance
            how = instance.how_it_ended(await self._end(instance))
            self._lost(f"The server {how} between two trials")
        if self._losses >= LOSSES_LIMIT:
            reason = (
                f"The server was lost {self._losses} times without an answer in between and is "
                f"not started again. {self._last_loss}"
            )
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        started = await self._start(lease, ground)
        if isinstance(started, NoAnswer):
            self._losses += 1
            self._last_loss = started.reason
        return started

    async def _start(self, lease: Lease, ground: Playground | None = None) -> Instance | NoAnswer:
        started = await start_instance(in_playground(self._launch, lease.addresses, ground))
        if isinstance(started, Instance):
            self._all.add(started)
        return started

    async def _end(self, instance: Instance) -> Ran:
        """Stop an instance and return how it ended."""
        try:
            return await instance.stop()
        finally:
            if instance in self._all and instance.session:
                self._stray += instance.session.stray
            self._all.discard(instance)

    def _reckon(self, heard: ServerAnswer, ran: Ran, instance: Instance) -> Answer | NoAnswer:
        """Return what came of a trial whose instance is gone, and count the loss if it is one."""
        given, how = heard.given, instance.how_it_ended(ran)
        if heard.dead:
            self._lost(f"The server {how} in a trial")
        if isinstance(given, Answer):
            self._losses = 0
        elif heard.dead:
            told = {"reason": f"{given.reason} It {how}."}
            fault = {"cause": Cause.GATE} if ran.end is End.UNWATCHED else {}
            return given.model_copy(update={**told, **fault})
        return given

    def _lost(self, what: str) -> None:
        self._losses += 1
        self._last_loss = f"{what}."
        self._warn(f"{what}; it is replaced.")
