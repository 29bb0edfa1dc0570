"""Runs programs so that nothing of them is left, whichever way the run ends.

What the group cannot reach is a process that has left it (a daemon that called setsid itself);
isolation by user id is the answer to that.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
from typing import IO, cast

from gateval.candidates.capture import Capture
from gateval.candidates.exit_watch import ExitWatch
from gateval.candidates.group import reap, signal_group, start_group, wait_until_gone
from gateval.candidates.pipes import PipeReader, PipeWriter
from gateval.candidates.program import End, Limits, NotStarted, Program, Ran
from gateval.domain.trial import Cause
from gateval.ports import Clock

DRAIN_SECONDS = 0.5
CLOSE_SECONDS = 5.0


class Programs:
    """The programs that one runtime has running."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: set[_Running] = set()
        self._closed = False

    async def run(self, program: Program, limits: Limits) -> Ran:
        """Run a program until its first process ends or a limit is reached; then end its group.

        That its output was closed does not count as its end. Raises `NotStarted`. When the
        awaiting task is cancelled, the group is ended all the same.
        """
        if self._closed:
            raise NotStarted("The run is over, so nothing more is started.", Cause.GATE)
        began = self._clock.monotonic()
        running = _Running(start_group(program), program.stdin, limits)
        self._running.add(running)
        try:
            end = await running.wait()
            seconds = self._clock.monotonic() - began
        finally:
            try:
                await running.stop()
            finally:
                self._running.discard(running)
        return Ran(
            end=running.over or end,
            code=running.code,
            stdout=running.stdout.data,
            stderr=running.stderr.data,
            seconds=max(seconds, 0.0),
        )

    async def close(self) -> None:
        """Kill what still runs, and wait until whoever awaits it has cleaned up."""
        self._closed = True
        for running in self._running:
            running.kill()
        if self._running:
            await asyncio.wait({r.stopped for r in self._running}, timeout=CLOSE_SECONDS)


class _Running:
    """One started program with its pipes."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self.code = 0
        self.stdout = Capture(limits.stdout_kept, limits.stdout_bytes)
        self.stderr = Capture(limits.stderr_kept, limits.stderr_bytes)
        loop = asyncio.get_running_loop()
        self.stopped: asyncio.Future[None] = loop.create_future()
        self._over: asyncio.Future[None] = loop.create_future()
        try:
            self._watch = ExitWatch(process)
            self._writer = PipeWriter(cast("IO[bytes]", process.stdin), stdin)
            self._readers = (
                PipeReader(cast("IO[bytes]", process.stdout), self.stdout, self._over),
                PipeReader(cast("IO[bytes]", process.stderr), self.stderr, self._over),
            )
        except BaseException:
            self.kill()
            reap(process)
            for pipe in (process.stdin, process.stdout, process.stderr):
                cast("IO[bytes]", pipe).close()
            raise

    async def wait(self) -> End:
        """Wait until the first process ends, a stream is over its limit, or time is up."""
        ends = {self._watch.exited, self._over}
        await asyncio.wait(ends, timeout=self._limits.seconds, return_when=asyncio.FIRST_COMPLETED)
        return End.EXITED if self._watch.exited.done() else End.TIMED_OUT

    @property
    def over(self) -> End | None:
        """The stream that was over its limit, if any; certain once the program was stopped."""
        if self.stdout.over:
            return End.STDOUT_OVER
        return End.STDERR_OVER if self.stderr.over else None

    def kill(self) -> None:
        """Kill all processes of the group at once, unless its id may be a stranger's by now."""
        if not self.stopped.done():
            signal_group(self._process.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """End the whole group: politely while its first process lives, then by force."""
        try:
            if not self._watch.exited.done():
                signal_group(self._process.pid, signal.SIGTERM)
                await asyncio.wait({self._watch.exited}, timeout=self._limits.grace_seconds)
        finally:
            self.kill()
            try:
                await self._drain()
            finally:
                self._release()
        await wait_until_gone(self._process.pid)

    async def _drain(self) -> None:
        """Read what is left in the pipes; not for long, as an escaped process may hold them."""
        closing = {self._watch.exited, *(reader.closed for reader in self._readers)}
        await asyncio.wait(closing, timeout=DRAIN_SECONDS)

    def _release(self) -> None:
        for end in (self._writer, *self._readers, self._watch):
            end.close()
        self.code = reap(self._process)
        if not self.stopped.done():
            self.stopped.set_result(None)
