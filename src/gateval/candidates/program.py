"""A program to run, its limits, how it ended; and what every way of starting one has to offer.

As long as the process is not reaped its id cannot be given to another one, so its group can still
be killed without hitting a stranger.
"""

from __future__ import annotations

import asyncio  # `plan` imports this too, and start-up time is a promise
import contextlib
import errno
import os
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

from gateval.domain.trials.trial import Cause

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True)
class Program:
    """What to start. `argv` is as written, never for a shell; `env` is all it will see.

    Of files it may write those below its HOME and TMPDIR, which the gate made, and `writes`; of
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
class ProgramLimits:
    """How long a program may run and how much it may print; more than that ends it. Of each stream
    the last `..._kept` bytes are kept.
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
    """A program could not be started: a sentence, and whose fault it is. `missing` is its name
    where no such program is there.
    """

    def __init__(self, reason: str, cause: Cause, *, missing: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause
        self.missing = missing


class Started(ABC):
    """A program that runs: its three pipes, and how it is watched and ended. `exited` is done once
    its first process has ended.
    """

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    exited: asyncio.Future[None]
    over: End | None = None
    """The cap that it broke, if it was ended for that."""
    user: int | None = None
    """The id of its own user; None when it runs as the gate's."""
    guard: int | None = None
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


POLL_SECONDS = 0.02


class ExitWatch:
    """`exited` is done once the process has ended. Linux tells through a pidfd (pidfd_open(2)).
    Elsewhere, or where that is forbidden, the process is polled, and thereby reaped.
    """

    def __init__(self, process: subprocess.Popen[bytes], *, poll: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._timer: asyncio.TimerHandle | None = None
        self._fd: int | None = None
        if not poll:  # not Linux, an old kernel, or a sandbox may forbid it
            with contextlib.suppress(AttributeError, OSError):
                self._fd = os.pidfd_open(process.pid)
        self.exited: asyncio.Future[None] = self._loop.create_future()
        if self._fd is None:
            self._poll()
        else:
            self._loop.add_reader(self._fd, self._done)

    def _poll(self) -> None:
        if self._process.poll() is None:
            self._timer = self._loop.call_later(POLL_SECONDS, self._poll)
        else:
            self._done()

    def _done(self) -> None:
        self.close()
        if not self.exited.done():
            self.exited.set_result(None)

    def close(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None


GONE_SECONDS = 0.2
REAP_SECONDS = 1.0

_SHORTAGES = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class Groups(Starter):
    """Starts each program in a session of its own, as the gate's user, and nothing more. For
    systems without the parts of Linux that `isolation/` is made of.
    """

    def start(self, program: Program) -> Started:
        """Start it as leader of a new session, so of a new process group. Raises `NotStarted`.

        It inherits no open file but its three pipes, and makes its files private (umask 077).
        Nothing runs between fork and exec: `preexec_fn` may deadlock next to threads, and the
        parent-death signal of Linux is bound to the life of a thread and lost at the next fork.
        """
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                program.argv,
                cwd=program.cwd,
                env=dict(program.env),
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                start_new_session=True,
                umask=0o077,
            )
        except ValueError:
            reason = "The command or its environment holds characters that no program can be given."
            raise NotStarted(reason, Cause.CANDIDATE)
        except OSError as error:
            raise not_started(program, error)
        return Group(process)


class Group(Started):
    """The processes of one group; one that leaves it cannot be reached."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._watch: ExitWatch | None = None
        self._code: int | None = None
        self.stdin = cast("IO[bytes]", process.stdin)
        self.stdout = cast("IO[bytes]", process.stdout)
        self.stderr = cast("IO[bytes]", process.stderr)
        try:
            self._watch = ExitWatch(process)
            self.exited = self._watch.exited
        except BaseException:
            self.kill()
            self.release()
            raise

    def terminate(self) -> None:
        """Ask the group to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the group."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """Signal all processes of the group, unless its id may be a stranger's by now."""
        if self._code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def settle(self) -> None:
        """Wait a short while until the kernel has removed the last process of the killed group."""
        await asyncio.wait({self.exited}, timeout=REAP_SECONDS)
        self._reap()
        waited = 0.0
        while _any_left(self._process.pid) and waited < GONE_SECONDS:
            await asyncio.sleep(0.01)
            waited += 0.01

    def release(self) -> int:
        """Stop watching, reap the first process."""
        if self._watch is not None:
            self._watch.close()
        return self._reap()

    def _reap(self) -> int:
        if self._code is None:
            try:
                self._code = self._process.wait(REAP_SECONDS)
            except subprocess.TimeoutExpired:
                return -signal.SIGKILL
        return self._code


def not_started(program: Program, error: OSError) -> NotStarted:
    """Return what to tell when the system refused to start a program."""
    if error.errno in _SHORTAGES:
        said = os.strerror(error.errno or 0)
        return NotStarted(f"The gate could not start another process ({said}).", Cause.GATE)
    reason = _at_fault(program, error)
    missing = program.argv[0] if reason.endswith(_ELSEWHERE) else ""
    return NotStarted(reason, Cause.CANDIDATE, missing=missing)


_ELSEWHERE = (
    "add it to an image made FROM the gate's, or run `gateval check` on a machine that has it."
)


def _at_fault(program: Program, error: OSError) -> str:
    command = program.argv[0]
    if not command:
        return "The first word of the command is empty; it has to name a program."
    if error.errno == errno.ENOEXEC:
        return f"`{command}` is no program. Begin it with a `#!` line that names its interpreter."
    if "/" in command and isinstance(error, PermissionError):
        return f"`{command}` may not be executed. Make it executable in git (mode 100755)."
    if "/" in command and (program.cwd / command).exists():
        if isinstance(error, FileNotFoundError):
            return (
                f"`{command}` was not started: the program that its first line (`#!`) names is "
                "not there. Install it, or name the interpreter in runtime.command."
            )
    elif isinstance(error, FileNotFoundError | PermissionError):  # PATH may hold closed folders
        return f"`{command}` was not found. Let runtime.setup install it, {_ELSEWHERE}"
    return f"`{command}` was not started: {error.strerror or error}."


def _any_left(leader: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        # Orphans of the group are ours to reap where the gate is process 1 of a container.
        while os.waitpid(-leader, os.WNOHANG) != (0, 0):
            pass
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


REMOVE_SECONDS = 60

WORKDIR = "workdir"
"""What a copy of an Agent's files is called in a private folder."""


@dataclass(frozen=True)
class PrivateFolders:
    """The folders that become HOME and TMPDIR of a process."""

    home: Path
    tmp: Path

    @property
    def workdir(self) -> Path:
        """Where its copy of the Agent's files is, if it has one."""
        return self.home.parent / WORKDIR


@contextlib.asynccontextmanager
async def private_folders(scratch: Path) -> AsyncIterator[PrivateFolders]:
    """Make fresh folders below `scratch`, readable by nobody else; remove them on the way out."""
    root = Path(tempfile.mkdtemp(prefix="candidate-", dir=scratch))
    folders = PrivateFolders(home=root / "home", tmp=root / "tmp")
    try:
        folders.home.mkdir(mode=0o700)
        folders.tmp.mkdir(mode=0o700)
        yield folders
    finally:
        try:
            for folder in (folders.home, folders.tmp, root):
                folder.rmdir()
        except OSError:
            await asyncio.to_thread(remove_tree, root)


def remove_tree(root: Path) -> None:
    """Remove a folder that a hostile program has filled; whatever resists is left, never raised.

    rm does it and not `shutil.rmtree`, which opens a file per level of depth: a folder nested
    2,000 deep would take the gate's files away from all other trials.
    """
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if not os.path.lexists(root):
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [*command, "--", str(root)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                timeout=REMOVE_SECONDS,
                check=False,
            )
