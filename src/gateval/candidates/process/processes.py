"""Runs programs so that nothing of them is left, however the run ends."""

from __future__ import annotations

import asyncio

from gateval.candidates.process.program import Limits, NotStarted, Program, Ran, Starter
from gateval.candidates.process.running import Running
from gateval.domain.trials.trial import Cause
from gateval.ports.clock import Clock

CLOSE_SECONDS = 5.0


class Programs:
    """The programs that one runtime has running."""

    def __init__(self, clock: Clock, starter: Starter) -> None:
        self._clock = clock
        self._starter = starter
        self._running: set[Running] = set()
        self._closed = False

    def start(self, program: Program, limits: Limits) -> Running:
        """Start a program that runs until its `stop` is called. Raises `NotStarted`."""
        if self._closed:
            raise NotStarted("The run is over, so nothing more is started.", Cause.GATE)
        running = Running(program, limits, self._clock, self._starter)
        self._running.add(running)
        running.stopped.add_done_callback(lambda _: self._running.discard(running))
        return running

    async def run(self, program: Program, limits: Limits) -> Ran:
        """Run a program until its first process ends or a limit is reached; then end its group.

        Raises `NotStarted`. When the awaiting task is cancelled, the group is ended all the same.
        """
        running = self.start(program, limits)
        try:
            await asyncio.wait({running.ended}, timeout=limits.seconds)
        finally:
            ran = await running.stop()
        return ran

    async def close(self) -> None:
        """Kill what still runs, and wait until all of it is gone."""
        self._closed = True
        held = tuple(self._running)
        for running in held:
            running.kill()
        if held:
            await asyncio.wait({running.ended for running in held}, timeout=CLOSE_SECONDS)
            await asyncio.gather(*(running.stop() for running in held))
