"""The gate's hold on one candidate that a warden minds."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from typing import IO, Any

from gateval.candidates.process.program import End, NotStarted, Started
from gateval.domain.trials.trial import Cause

START_SECONDS = 60.0
"""How long a start may take; lending a large export to a set-up is part of it."""

END_SECONDS = 60.0
"""How long all that is left of a candidate may take to go."""

_PACKET = 65_536

_CAPS = {"memory": End.MEMORY_OVER, "disk": End.DISK_OVER, "processes": End.PROCESSES_OVER}


class Confined(Started):
    """Speaks to a warden through `control` (see `supervisor/warden.py` for the words)."""

    def __init__(
        self, control: socket.socket, pipes: tuple[IO[bytes], ...], user: int | None, warden: int
    ) -> None:
        self.user = user
        self.warden = warden
        self._loop = asyncio.get_running_loop()
        self._control = control
        self._code = -int(signal.SIGKILL)
        self.stdin, self.stdout, self.stderr = pipes
        self.exited = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        control.settimeout(0)
        self._loop.add_reader(control.fileno(), self._listen)

    def terminate(self) -> None:
        """Ask the group to end."""
        self._say(b"T")

    def kill(self) -> None:
        """Have everything ended that the candidate ever started."""
        self._say(b"K")

    async def settle(self) -> None:
        """Wait until the warden says that nothing is left."""
        await asyncio.wait({self._gone}, timeout=END_SECONDS)

    def release(self) -> int:
        """Let go of the warden; it ends what is left, if anything is, and itself."""
        if not self._gone.done():  # the wait for it was cancelled
            self._control.settimeout(START_SECONDS)
            while not self._gone.done():
                self._listen()
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        return self._code

    def _say(self, word: bytes) -> None:
        if not self._gone.done():
            try:
                self._control.send(word)
            except OSError:
                self._end()

    def _listen(self) -> None:
        try:
            packet = self._control.recv(_PACKET)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if packet:
            self._hear(json.loads(packet))
        else:
            self.over = End.UNWATCHED
            self._end()

    def _hear(self, said: dict[str, Any]) -> None:
        if "over" in said:
            self.over = _CAPS[said["over"]]
        elif "gone" in said:
            self._code = self._code if said["gone"] is None else said["gone"]
            self._end()
        if not self.exited.done():
            self.exited.set_result(None)

    def _end(self) -> None:
        self._loop.remove_reader(self._control.fileno())
        for future in (self.exited, self._gone):
            if not future.done():
                future.set_result(None)


def first_word(control: socket.socket) -> dict[str, Any]:
    """Wait until the warden says that the program runs, or why not. Raises `NotStarted`."""
    control.settimeout(START_SECONDS)
    try:
        packet = control.recv(_PACKET)
    except OSError:
        packet = b""
    if not packet:
        reason = "The gate's supervisor does not answer, so nothing can be started."
        raise NotStarted(reason, Cause.GATE)
    said: dict[str, Any] = json.loads(packet)
    return said
