"""The gate's ends of a program's three pipes, served by the event loop without threads or tasks.

asyncio's own subprocess support is not used for candidates: it loses the process when it is
cancelled while starting one (python/cpython#125502, #103847), and until it reads the end of every
pipe it does not tell that the process is gone (#119710).
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
import termios
from typing import IO

from gateval.candidates.process.capture import Capture

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
    """Feeds a program as fast as it reads. One that does not want to read is not forced to.

    The pipe is closed behind `data`, unless `more` is to come.
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
