"""A program that was started in one of several ways: what `Running` needs to know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import IO, TYPE_CHECKING

from gateval.candidates.process.program import End, Program

if TYPE_CHECKING:
    import asyncio  # `plan` imports this too, and start-up time is a promise


class Started(ABC):
    """Its three pipes, and how it is watched and ended. `exited`: its first process has ended."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    exited: asyncio.Future[None]
    over: End | None = None
    """The cap that it broke, if it was ended for that."""
    user: int | None = None
    """The id of its own user; None when it runs as the gate's."""

    @abstractmethod
    def terminate(self) -> None:
        """Ask it to end. Only while its first process lives."""

    @abstractmethod
    def kill(self) -> None:
        """Kill all of it at once, as far as it can be reached."""

    @abstractmethod
    async def settle(self) -> None:
        """Wait until all that was killed is gone, but not for ever."""

    @abstractmethod
    def release(self) -> int:
        """Give back what the gate holds of it, and return the exit code; negative for a signal."""


class Starter(ABC):
    """Starts programs, one way for a whole run."""

    @abstractmethod
    def start(self, program: Program) -> Started:
        """Start it, with its pipes open. Raises `NotStarted`. Needs a running event loop."""
