"""The gate's side of isolation: starts the supervisor, and has it start and end programs."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, Self

from gateval.candidates.isolation.supervisor.candidate_guard import kill_descendants, started_at
from gateval.candidates.isolation.supervisor.confine import Order, SupervisorConfig, pack
from gateval.candidates.isolation.supervisor.disk import remove_tree
from gateval.candidates.program import End, NotStarted, Program, Started, Starter, not_started
from gateval.domain.trials.trial import Cause

START_SECONDS = 60.0
"""How long a start may take; lending a large export to a set-up is part of it."""

END_SECONDS = 60.0
"""How long all that is left of a candidate may take to go."""

_PACKET = 65_536

_CAPS = {"memory": End.MEMORY_OVER, "disk": End.DISK_OVER, "processes": End.PROCESSES_OVER}


class Confined(Started):
    """Speaks to the guard through `control` (see `supervisor/candidate_guard.py` for the words)."""

    def __init__(
        self, control: socket.socket, pipes: tuple[IO[bytes], ...], user: int | None, guard: int
    ) -> None:
        self.user = user
        self.guard = guard
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
        """Wait until the guard says that nothing is left."""
        await asyncio.wait({self._gone}, timeout=END_SECONDS)

    def release(self) -> int:
        """Let go of the guard; it ends what is left, if anything is, and itself."""
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
    """Wait until the guard says that the program runs, or why not. Raises `NotStarted`."""
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


CLOSE_SECONDS = 60.0
EMPTIED_SECONDS = 30.0
ORPHANS_SECONDS = 5.0

_SOURCE = Path(__file__).parents[3]
_ENTRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from gateval.candidates.isolation.supervisor.main import main; main()"
)


class SupervisorClient(Starter):
    """Starts candidates through a supervisor of their own, which ends with the `with` block.

    On the way out everything is ended and the house's folder removed. That happens also when this
    process is killed; the supervisor then does it alone. Keep it open until all is stopped.
    """

    def __init__(self, supervisor_config: SupervisorConfig) -> None:
        self._supervisor_config = supervisor_config
        self.listens_freely = supervisor_config.binds is None

    def __enter__(self) -> Self:
        self._open()
        return self

    def _open(self) -> None:
        nowhere = subprocess.DEVNULL
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _ENTRY, str(_SOURCE)],
                stdin=theirs.fileno(), stdout=nowhere, stderr=nowhere,
                env={}, cwd="/", start_new_session=True,
            )  # fmt: skip
        self._supervisor = ours
        self._since = started_at(self._process.pid)
        self._send([pack(self._supervisor_config)])

    async def emptied(self) -> str:
        """See `Starter`. A supervisor that was killed is replaced, when what it left is ended."""
        deadline = time.monotonic() + EMPTIED_SECONDS
        while True:
            lives = self._living()
            if lives is None:
                await asyncio.to_thread(self._end_orphans)
                self._process.wait()
                self._supervisor.close()
                self._open()
            elif not lives:
                return ""
            elif time.monotonic() > deadline:
                many = "1 process" if lives == 1 else f"{lives} processes"
                return f"{many} of the run could not be ended"
            else:
                await asyncio.sleep(0.01)  # guards end by themselves, and tell nobody

    def _living(self) -> int | None:
        """Ask the supervisor how many processes live below it; None where it does not answer."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            ours.settimeout(EMPTIED_SECONDS)
            try:
                socket.send_fds(self._supervisor, [b"q"], [theirs.fileno()])
                theirs.close()
                return int(json.loads(ours.recv(1024))["lives"])
            except (OSError, ValueError):
                return None

    def __exit__(self, *_: object) -> None:
        self._supervisor.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process.wait(CLOSE_SECONDS) != 0:  # it was killed
                self._end_orphans()
                remove_tree(self._supervisor_config.folder)

    def _end_orphans(self) -> None:
        """End what a supervisor has left that was killed. Processes that this one had before (of
        git, say) are none of its.
        """
        deadline = time.monotonic() + ORPHANS_SECONDS
        while kill_descendants(0, self._since) and time.monotonic() < deadline:
            time.sleep(0.01)  # orphans end when the kernel gets to it, and it tells nobody
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass

    def start(self, program: Program) -> Started:
        """Start a program in isolation. Raises `NotStarted`."""
        pipes = [os.pipe(), os.pipe(), os.pipe()]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        try:
            control, said = self._ask(program, theirs)
        except BaseException:
            for end in ours:
                os.close(end)
            raise
        finally:
            for end in theirs:
                os.close(end)
        files = zip(ours, ("wb", "rb", "rb"), strict=True)
        kept: tuple[IO[bytes], ...] = tuple(
            os.fdopen(end, mode, buffering=0) for end, mode in files
        )
        return Confined(control, kept, said["user"], said["guard"])

    def _ask(self, program: Program, pipes: list[int]) -> tuple[socket.socket, dict[str, Any]]:
        """Have a guard start the program, and return the line to it and what it says first."""
        order = self._order(program)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._send([pack(order), *pipes, theirs.fileno()])
            said = first_word(ours)
        except BaseException:
            ours.close()
            raise
        if "pid" not in said:
            ours.close()
            raise self._refused(program, said["error"])
        return ours, said

    def _order(self, program: Program) -> Order:
        texts = (*program.argv, *program.env, *program.env.values())
        if any("=" in name for name in program.env) or not all(map(_usable, texts)):
            reason = "The command or its environment holds characters that no program can be given."
            raise NotStarted(reason, Cause.CANDIDATE)
        home, tmp = program.env["HOME"], program.env["TMPDIR"]
        return Order(
            argv=list(program.argv),
            cwd=str(program.cwd),
            env=dict(program.env),
            reads=[self._root(folder) for folder in (program.cwd, *program.reads)],
            owned=[str(Path(home).parent), home, tmp],
            lent=[self._root(folder) for folder in program.writes],
            offline=program.offline,
            cut_off=program.cut_off,
            ports=list(program.ports),
            binds=list(program.binds),
        )

    def _root(self, folder: Path) -> str:
        """The export that a folder is in: what lies directly in the run's folder."""
        scratch = Path(self._supervisor_config.folder)
        try:
            return str(scratch / folder.relative_to(scratch).parts[0])
        except (ValueError, IndexError):
            return str(folder)

    def _send(self, files: list[int]) -> None:
        """Send descriptors; the first of them is a memory file, closed here."""
        try:
            socket.send_fds(self._supervisor, [b"o"], files)
        except OSError:
            reason = "The gate's supervisor has ended, so nothing can be started."
            raise NotStarted(reason, Cause.GATE)
        finally:
            os.close(files[0])

    def _refused(self, program: Program, number: int) -> NotStarted:
        path = program.env.get("PATH", os.defpath)
        found = shutil.which(program.argv[0], path=path) if program.argv[0] else None
        if found and number == errno.EACCES and self._supervisor_config.users is not None:
            return NotStarted(
                f"`{program.argv[0]}` ({found}) cannot be run by the user that agents run as. "
                "Install it where every user may go, or run the gate as an ordinary user, which "
                "isolates them less.",
                Cause.GATE,
            )
        return not_started(program, OSError(number, os.strerror(number)))


def _usable(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
