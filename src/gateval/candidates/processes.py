"""Runs programs so that nothing of them is left, however the run ends.

asyncio's own subprocess support is not used for candidates: it loses the process when it is
cancelled while starting one (python/cpython#125502, #103847), and until it reads the end of every
pipe it does not tell that the process is gone (#119710).
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import sys
import termios
from collections.abc import Sequence
from itertools import groupby
from typing import IO

from gateval.candidates.program import End, NotStarted, Program, ProgramLimits, Ran, Starter
from gateval.domain.trials.trial import Cause
from gateval.ports.model_calls import Owner
from gateval.ports.storage import Clock

LINE_WIDTH = 500
"""Characters kept of one line that is shown to a person."""


class Capture:
    """Keeps the last `keep` bytes of a stream and says when it was longer than `limit`."""

    def __init__(self, keep: int, limit: int) -> None:
        self._keep = keep
        self._limit = limit
        self._kept = bytearray()
        self._waiting: list[asyncio.Future[None]] = []
        self.total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._keep:  # not at every chunk: moving bytes costs
            del self._kept[: -self._keep]
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def more(self) -> asyncio.Future[None]:
        """Return what is done when there are more bytes, or the stream has ended."""
        self._waiting.append(asyncio.get_running_loop().create_future())
        return self._waiting[-1]

    @property
    def over(self) -> bool:
        """Whether the stream was longer than the limit."""
        return self.total > self._limit

    @property
    def data(self) -> bytes:
        """The last bytes, at most `keep`."""
        return bytes(self._kept[-self._keep :])

    def after(self, position: int) -> bytes:
        """Return the stream behind its first `position` bytes, as far as it is kept."""
        count = min(self.total - position, self._keep)
        return bytes(self._kept[-count:]) if count > 0 else b""


def last_lines(data: bytes, count: int) -> tuple[str, ...]:
    """Return the last `count` lines that are not blank, each cut at `LINE_WIDTH` characters."""
    return tuple(lines_of(data)[-count:]) if count > 0 else ()


def lines_of(data: bytes, *, polls: str = "") -> list[str]:
    """Return the lines that are not blank, each cut at `LINE_WIDTH` characters.

    With `polls`, which is how a log names a request that was made over and over, what it says of
    that is left out: lines that hold it, and repetitions that differ in nothing but digits.
    """
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if polls:
        rest = (line for line in lines if polls not in line)
        alikes = groupby(rest, key=lambda line: re.sub(r"[0-9]+", "0", line))
        lines = [next(alike) for _, alike in alikes]
    return [line.rstrip()[:LINE_WIDTH] for line in lines]


def telling_lines(lines: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the last `count` lines, half of them from the first on that tells of an error if it
    comes before: package managers end with their usage and with where their log lies.
    """
    told = [line for line in lines if not _TELLS_NOTHING.search(line)]
    first = next((at for at, line in enumerate(told) if _TELLS.search(line)), len(told))
    last = max(0, len(told) - count)
    if count <= 3 or first >= last:
        return tuple(told[last:]) if count > 0 else ()
    half = count // 2
    return (*told[first : first + half], "\N{HORIZONTAL ELLIPSIS}", *told[half + 1 - count :])


_TELLS = re.compile(
    r"(?i)(?<![\w./-])(?:\w*error|err!|fatal|failed|cannot|could not|unable to|no matching)"
    r"(?![\w./-])"
)
_TELLS_NOTHING = re.compile(r"^npm (?:notice\b|(?:error|ERR!)\s*$|.*A complete log of this run)")


CHUNK = 64 * 1024


class PipeReader:
    """Moves what a program prints into a `Capture`.

    `closed` is done at the end of the stream, on `close`, and when the capture is over its limit;
    then `over`, shared by the streams of a program, is done too.
    """

    def __init__(self, pipe: IO[bytes], capture: Capture, over: asyncio.Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._capture = capture
        self._over = over
        self.closed: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(pipe.fileno(), self._read)

    def _read(self) -> None:
        try:
            chunk = os.read(self._pipe.fileno(), CHUNK)
        except BlockingIOError:
            return
        self._capture.add(chunk)
        if self._capture.over and not self._over.done():
            self._over.set_result(None)
        if not chunk or self._capture.over:
            self.close()

    def close(self) -> None:
        """Read no further."""
        if not self.closed.done():
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()
            self.closed.set_result(None)


class PipeWriter:
    """Feeds a program as fast as it reads. One that does not want to read is not forced to. The
    pipe is closed behind `data`, unless `more` is to come.
    """

    def __init__(self, pipe: IO[bytes], data: bytes, *, more: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._rest = memoryview(b"")
        self._more = more
        os.set_blocking(pipe.fileno(), False)
        self.feed(data)

    def feed(self, data: bytes) -> None:
        """Write this, too; nothing where the program reads no more."""
        if not self._pipe.closed:
            self._rest = memoryview(bytes(self._rest) + data)
            self._loop.add_writer(self._pipe.fileno(), self._write)

    @property
    def taken(self) -> bool:
        """Whether the program read all of it, or reads no more."""
        if self._pipe.closed:
            return True
        unread = fcntl.ioctl(self._pipe.fileno(), termios.FIONREAD, bytes(4))  # ioctl_pipe(2)
        return not self._rest and not int.from_bytes(unread, sys.byteorder)

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._pipe.fileno(), self._rest[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._rest, self._more = memoryview(b""), False
        if not self._rest and self._more:
            self._loop.remove_writer(self._pipe.fileno())
        elif not self._rest:
            self.close()

    def close(self) -> None:
        """Write no further; the program reads the end of its input."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()


DRAIN_SECONDS = 0.5


class Running:
    """A started program. Its starter calls `stop`, also when it has ended by itself.

    `ended` is done once its first process has ended or a stream is over its limit; that its output
    was closed does not count. `stdout` and `stderr` grow meanwhile. `stopped` is done when nothing
    of it is held any more. `ProgramLimits.seconds` is for the caller: it does not end by itself.
    """

    def __init__(
        self, program: Program, limits: ProgramLimits, clock: Clock, starter: Starter
    ) -> None:
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
            self._started.kill()
            for pipe in (self._started.stdin, self._started.stdout, self._started.stderr):
                pipe.close()
            self._started.release()
            raise
        self._started.exited.add_done_callback(self._note_end)

    @property
    def owner(self) -> Owner | None:
        """Whose its sockets are; None where nobody can tell."""
        started = self._started
        return None if started.guard is None else Owner(started.user, started.guard)

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
                # What is left in the pipes; not for long, as an escaped process may hold them.
                closing = {reader.closed for reader in self._readers}
                await asyncio.wait(closing, timeout=DRAIN_SECONDS)
            finally:
                for end in (self._writer, *self._readers):
                    end.close()
                self._code = self._started.release()
                if not self.stopped.done():
                    self.stopped.set_result(None)
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
        """Wait for the end of the line that begins after `since` printed bytes, and return it. It
        ends with a line break, unless the program ended or printed too much before.
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
        return Ran(self._end(), self._code, self.stdout.data, self.stderr.data, self._seconds)

    def _end(self) -> End:
        """How it ended. A limit that was broken says more than what came of that."""
        if self._started.over is not None:
            return self._started.over
        if self.stdout.over:
            return End.STDOUT_OVER
        if self.stderr.over:
            return End.STDERR_OVER
        return End.EXITED if self._by_itself else End.TIMED_OUT


CLOSE_SECONDS = 5.0


class Programs:
    """The programs that one runtime has running."""

    def __init__(self, clock: Clock, starter: Starter) -> None:
        self._clock = clock
        self._starter = starter
        self._running: set[Running] = set()
        self._closed = False

    def start(self, program: Program, limits: ProgramLimits) -> Running:
        """Start a program that runs until its `stop` is called. Raises `NotStarted`."""
        if self._closed:
            raise NotStarted("The run is over, so nothing more is started.", Cause.GATE)
        running = Running(program, limits, self._clock, self._starter)
        self._running.add(running)
        running.stopped.add_done_callback(lambda _: self._running.discard(running))
        return running

    async def run(self, program: Program, limits: ProgramLimits) -> Ran:
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
