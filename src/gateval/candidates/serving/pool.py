"""The instances of one server: one trial at a time each, the dead replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from gateval.candidates.base import TrialRequest
from gateval.candidates.process.program import End, Ran
from gateval.candidates.serving.asking import Asked, ask
from gateval.candidates.serving.instance import Blueprint, Instance, start_instance
from gateval.candidates.talk import Talk
from gateval.domain.manifests.fixture import FixtureInput
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
        held = Held(self, request)
        try:
            return await held.ask(request)
        finally:
            await held.close()

    def talk(self, request: TrialRequest) -> Talk:
        """Return a conversation with one instance, which is not asked anything else meanwhile."""
        return Held(self, request)

    async def take(self) -> Instance | NoAnswer:
        """Wait for a free place, and return an instance for it or why there is none.

        What was taken is given back; where none was, the place is free again.
        """
        await self._slots.acquire()
        taken: Instance | NoAnswer | None = None
        try:
            taken = await self._living()
        finally:
            if not isinstance(taken, Instance):
                self._slots.release()
        return taken

    async def give_back(self, instance: Instance, heard: Asked | None) -> Answer | NoAnswer | None:
        """Take an instance back after what was `heard` last, None for a question cut off.

        Returns the answer that counts, which says how an instance ended that is gone.
        """
        try:
            fine = heard is not None and heard.whole and not heard.dead
            if fine and not self._each_trial_its_own:
                self._losses = 0
                self._idle.append(instance)
                return heard.given if heard else None
            ran = await self._end(instance)
            return self._reckon(heard, ran, instance) if heard else None
        finally:
            self._slots.release()

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


class Held(Talk):
    """A place in the pool and its instance, taken when it is first asked."""

    def __init__(self, pool: Pool, request: TrialRequest) -> None:
        self._pool = pool
        self._request = request
        self._instance: Instance | None = None
        self._heard: Asked | None = None
        self._over = False
        self._conversation = uuid4().hex

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Ask what the user says now: the server remembers the rest, by `payload.conversation`."""
        payload = {"conversation": self._conversation, **asked.payload}
        now = asked.model_copy(update={"messages": (), "payload": payload})
        return await self.ask(replace(self._request, input=now, turns=(), timeout_seconds=seconds))

    async def ask(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask once more. What is not in order gives the instance back, and its place."""
        if self._over:
            reason = "The server that this conversation was with has ended."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        if self._instance is None:
            taken = await self._pool.take()
            if isinstance(taken, NoAnswer):
                return taken
            self._instance = taken
        self._heard = None
        self._heard = heard = await ask(self._instance, request)
        if heard.whole and not heard.dead:
            return heard.given
        return await self._release() or heard.given

    async def close(self) -> None:
        """Give back what is still held."""
        if self._instance is not None:
            await self._release()

    async def _release(self) -> Answer | NoAnswer | None:
        instance, self._instance, self._over = self._instance, None, True
        assert instance is not None  # noqa: S101 - the callers hold one
        return await self._pool.give_back(instance, self._heard)
