"""One program that runs, with its pipes: how it ends, what it printed, and how it is stopped."""

from __future__ import annotations

import asyncio

from gateval.candidates.process.capture import Capture
from gateval.candidates.process.pipes import PipeReader, PipeWriter
from gateval.candidates.process.program import End, Limits, Program, Ran, Starter
from gateval.ports.clock import Clock
from gateval.ports.local_http import Owner

DRAIN_SECONDS = 0.5


class Running:
    """A started program. Its starter calls `stop`, also when it has ended by itself.

    `ended` is done once its first process has ended or a stream is over its limit; that its output
    was closed does not count. `stdout` and `stderr` grow meanwhile. `stopped` is done when nothing
    of it is held any more. `Limits.seconds` is for the caller: it does not end by itself.
    """

    def __init__(self, program: Program, limits: Limits, clock: Clock, starter: Starter) -> None:
        """Start it. Raises `NotStarted`."""
        self._started = starter.start(program)
        self._limits = limits
        self._clock = clock
        self._began = clock.monotonic()
        self._stopping = False
        self._by_itself = False
        self._seconds = 0.0
        self._code = 0
        self.stdout = Capture(limits.stdout_kept, limits.stdout_bytes)
        self.stderr = Capture(limits.stderr_kept, limits.stderr_bytes)
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.stopped: asyncio.Future[None] = loop.create_future()
        try:
            self._writer = PipeWriter(self._started.stdin, program.stdin, more=program.listens)
            self._readers = (
                PipeReader(self._started.stdout, self.stdout, self.ended),
                PipeReader(self._started.stderr, self.stderr, self.ended),
            )
        except BaseException:
            self._abandon()
            raise
        self._started.exited.add_done_callback(self._note_end)

    @property
    def owner(self) -> Owner | None:
        """Whose its sockets are; None where nobody can tell."""
        started = self._started
        return None if started.warden is None else Owner(started.user, started.warden)

    def kill(self) -> None:
        """Kill all of its processes at once."""
        if not self.stopped.done():
            self._started.kill()

    async def stop(self) -> Ran:
        """End all of it: politely while its first process lives, then by force.

        May be called again, side by side too. A cancelled call has ended it all the same.
        `Ran.end` is `timed out` where the program had to be stopped.
        """
        if self._stopping:
            await asyncio.wait({self.stopped})
            return self._ran()
        self._stopping = True
        self._seconds = max(self._clock.monotonic() - self._began, 0.0)
        self._by_itself = self._started.exited.done()
        try:
            if not self._by_itself:
                self._started.terminate()
                exited = {self._started.exited}
                await asyncio.wait(exited, timeout=self._limits.grace_seconds)
        finally:
            self.kill()
            try:
                await self._started.settle()
                await self._drain()
            finally:
                self._release()
        return self._ran()

    def printed(self, since: tuple[int, int] = (0, 0)) -> tuple[bytes, bytes]:
        """Return standard output and error after `since`, as far as they are kept."""
        return self.stdout.after(since[0]), self.stderr.after(since[1])

    def tell(self, data: bytes) -> None:
        """Write this to its standard input, which `Program.listens` keeps open."""
        self._writer.feed(data)

    @property
    def heard(self) -> bool:
        """Whether it has read all that it was told."""
        return self._writer.taken

    async def line(self, since: int) -> bytes:
        """Wait for the end of the line that begins after `since` printed bytes, and return it.

        It ends with a line break, unless the program ended or printed too much before.
        """
        while True:
            text, end, _ = self.stdout.after(since).partition(b"\n")
            if end or self.ended.done():
                return text + end
            more = self.stdout.more()
            await asyncio.wait({more, self.ended}, return_when=asyncio.FIRST_COMPLETED)

    def _note_end(self, _: asyncio.Future[None]) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _ran(self) -> Ran:
        return Ran(
            end=self._end(),
            code=self._code,
            stdout=self.stdout.data,
            stderr=self.stderr.data,
            seconds=self._seconds,
        )

    def _end(self) -> End:
        """How it ended. A limit that was broken says more than what came of that."""
        if self._started.over is not None:
            return self._started.over
        if self.stdout.over:
            return End.STDOUT_OVER
        if self.stderr.over:
            return End.STDERR_OVER
        return End.EXITED if self._by_itself else End.TIMED_OUT

    async def _drain(self) -> None:
        """Read what is left in the pipes; not for long, as an escaped process may hold them."""
        closing = {reader.closed for reader in self._readers}
        await asyncio.wait(closing, timeout=DRAIN_SECONDS)

    def _release(self) -> None:
        for end in (self._writer, *self._readers):
            end.close()
        self._code = self._started.release()
        if not self.stopped.done():
            self.stopped.set_result(None)

    def _abandon(self) -> None:
        self._started.kill()
        for pipe in (self._started.stdin, self._started.stdout, self._started.stderr):
            pipe.close()
        self._started.release()
