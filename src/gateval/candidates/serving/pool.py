"""The instances of one server: one trial at a time each, the dead replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateval.candidates.base import TrialRequest
from gateval.candidates.process.program import End, Ran
from gateval.candidates.serving.asking import Asked, ask
from gateval.candidates.serving.instance import Blueprint, Instance, start_instance
from gateval.domain.trials.trial import Answer, Cause, NoAnswer

LOSSES_LIMIT = 5
"""Losses in a row, without an answer between them, after which nothing more is started."""


class Pool:
    """Starts instances when they are needed, `instances` at most at the same time.

    `warn` is told what a person should know: the loss of an instance, and stray model calls.
    """

    def __init__(self, blueprint: Blueprint, warn: Callable[[str], None]) -> None:
        self._blueprint = blueprint
        self._warn = warn
        self._slots = asyncio.Semaphore(blueprint.options.instances)
        self._idle: list[Instance] = []
        self._all: set[Instance] = set()
        self._losses = 0
        self._last_loss = ""
        self._stray = 0

    async def warm_up(self) -> NoAnswer | None:
        """Start the first instance, or say why none can be started."""
        async with self._slots:
            started = await self._start()
            if isinstance(started, NoAnswer):
                return started
            self._idle.append(started)
        return None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Have one instance answer. It is not asked anything else meanwhile."""
        async with self._slots:
            instance = await self._living()
            if isinstance(instance, NoAnswer):
                return instance
            keep = False
            try:
                heard = await ask(instance, request)
                keep = heard.whole and not heard.dead and not self._each_trial_its_own
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

    @property
    def _each_trial_its_own(self) -> bool:
        return self._blueprint.options.restart == "perTrial"

    async def _living(self) -> Instance | NoAnswer:
        """Return an instance that lives, started if need be, or why there is none."""
        while self._idle:
            instance = self._idle.pop()
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
        started = await self._start()
        if isinstance(started, NoAnswer):
            self._losses += 1
            self._last_loss = started.reason
        return started

    async def _start(self) -> Instance | NoAnswer:
        started = await start_instance(self._blueprint)
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

    def _reckon(self, heard: Asked, ran: Ran, instance: Instance) -> Answer | NoAnswer:
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
