"""A program to run, its limits, how it ended; and what every way of starting one has to offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gateval.domain.trials.trial import Cause

if TYPE_CHECKING:
    import asyncio  # `plan` imports this too, and start-up time is a promise

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True)
class Program:
    """What to start. `argv` is as written, never for a shell; `env` is all it will see.

    Of files it may write those below its HOME and TMPDIR, which `private.py` made, and `writes`; of
    the run's files it may read what `cwd` is in, and `reads`. `ports` may be connected to by TCP
    even where the policy limits them, and `binds` listened on; an `offline` one reaches not even
    the gateway there. One that is `cut_off` has no network under any policy, and writes nowhere
    else. With `listens`, its input stays open for more.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    stdin: bytes = b""
    writes: tuple[Path, ...] = ()
    reads: tuple[Path, ...] = ()
    ports: tuple[int, ...] = ()
    binds: tuple[int, ...] = ()
    listens: bool = False
    offline: bool = False
    cut_off: bool = False


@dataclass(frozen=True)
class Limits:
    """How long a program may run and how much it may print; more than that ends it.

    Of each stream the last `..._kept` bytes are kept.
    """

    seconds: float
    grace_seconds: float
    stdout_kept: int = MIB
    stdout_bytes: int = MIB
    stderr_kept: int = 64 * KIB
    stderr_bytes: int = 64 * MIB


class End(StrEnum):
    """How a program ended: by itself, or stopped for its time, for what it printed or used.

    `UNWATCHED`: the process of the gate that minded it ended first, and the program with it.
    """

    EXITED = "exited"
    TIMED_OUT = "timed out"
    STDOUT_OVER = "standard output"
    STDERR_OVER = "standard error"
    MEMORY_OVER = "memory"
    DISK_OVER = "disk"
    PROCESSES_OVER = "processes"
    UNWATCHED = "unwatched"


@dataclass(frozen=True)
class Ran:
    """A program that has ended. `code` is its exit code, negative for a signal."""

    end: End
    code: int
    stdout: bytes
    stderr: bytes
    seconds: float


class NotStarted(Exception):
    """A program could not be started: a sentence, and whose fault it is.

    `missing` is its name where no such program is there.
    """

    def __init__(self, reason: str, cause: Cause, *, missing: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause
        self.missing = missing


class Started(ABC):
    """A program that runs: its three pipes, and how it is watched and ended.

    `exited` is done once its first process has ended.
    """

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    exited: asyncio.Future[None]
    over: End | None = None
    """The cap that it broke, if it was ended for that."""
    user: int | None = None
    """The id of its own user; None when it runs as the gate's."""
    warden: int | None = None
    """The process that all of it descends from; None where nobody keeps it together."""

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

    listens_freely: bool = True
    """Whether programs may listen on any port, and not only on their own."""

    async def emptied(self) -> str:
        """Wait until nothing lives of all that was started, and make sure that more can be started;
        a clause on what is wrong, empty if nothing is or where nobody can tell.
        """
        return ""

    @abstractmethod
    def start(self, program: Program) -> Started:
        """Start it, with its pipes open. Raises `NotStarted`. Needs a running event loop."""
