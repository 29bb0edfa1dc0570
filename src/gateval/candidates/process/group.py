"""A process group: started as its own session, signalled as a whole, seen to be gone."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
from typing import IO, cast

from gateval.candidates.process.exit_watch import ExitWatch
from gateval.candidates.process.program import NotStarted, Program, Started, Starter
from gateval.domain.trials.trial import Cause

GONE_SECONDS = 0.2
REAP_SECONDS = 1.0

_SHORTAGES = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class Groups(Starter):
    """Starts each program in a session of its own, as the gate's user, and nothing more.

    For systems without the parts of Linux that `isolation/` is made of.
    """

    def start(self, program: Program) -> Started:
        """Start it. Raises `NotStarted`."""
        return Group(_start_group(program))


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


def _start_group(program: Program) -> subprocess.Popen[bytes]:
    """Start a program as leader of a new session, so of a new process group. Raises `NotStarted`.

    It inherits no open file but its three pipes, and makes its files private (umask 077). Nothing
    runs between fork and exec: `preexec_fn` may deadlock next to threads, and the parent-death
    signal of Linux is bound to the life of a thread and lost at the next fork.
    """
    try:
        return subprocess.Popen(
            program.argv,
            cwd=program.cwd,
            env=dict(program.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            umask=0o077,
        )
    except ValueError:
        reason = "The command or its environment holds characters that no program can be given."
        raise NotStarted(reason, Cause.CANDIDATE)
    except OSError as error:
        raise not_started(program, error)


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
