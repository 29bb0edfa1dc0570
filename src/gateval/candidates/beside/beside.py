"""All that runs beside the trials of one Agent on one side, and what it makes of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from gateval.candidates.beside.commands import Commands, Ground
from gateval.candidates.beside.services import Lease, Services
from gateval.candidates.serving.launch import Launch
from gateval.domain.trials.trial import Answer, NoAnswer
from gateval.events import CandidateWarned


class Beside:
    """Services and commands; for an Agent that has neither, nothing is done. `launch` is its own.

    `one_by_one`: trials may not run side by side, since they share services and what runs before
    or after one of them changes these. Then each holds `turn`.
    """

    def __init__(self, launch: Launch) -> None:
        runtime = launch.agent.runtime
        self.launch = launch
        self.services = Services(launch, self.warn)
        self._commands = Commands(launch, self.warn)
        self.one_by_one = bool(runtime.services) and runtime.around
        self.turn: AbstractAsyncContextManager[None] = (
            asyncio.Lock() if self.one_by_one else nullcontext()
        )

    async def trial(
        self, lease: Lease, ground: Ground, ask: Callable[[], Awaitable[Answer | NoAnswer]]
    ) -> Answer | NoAnswer:
        """Have `ask` ask the candidate once, between `before` and `after`."""
        failed = await self._commands.before(ground)
        if failed is not None:
            self.services.distrust(lease)
            return failed
        given = await self.services.checked(lease, await ask())
        if not await self._commands.after(ground):
            self.services.distrust(lease)
        return given

    def warn(self, message: str) -> None:
        """Tell what a person should know of this side's candidates."""
        agent = self.launch.agent
        self.launch.context.on_event(
            CandidateWarned(agent=agent.name, side=agent.side, message=message, lasting=True)
        )

    async def close(self) -> None:
        """End the services."""
        self._commands.close()
        await self.services.close()
