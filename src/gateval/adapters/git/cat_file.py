"""Questions to `git cat-file`: each to a process of its own, or to one that stays for the next.

To start git takes a hundred times longer than an answer, and to plan a change takes about ten.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateval.adapters.git.process import GitProcess
    from gateval.adapters.git.run import Git

_AT_ONCE = 4096
"""Bytes that any pipe takes at once, so that neither side waits for the other to read (POSIX)."""

_STREAM_ABOVE = "core.bigFileThreshold=8m"
"""Blobs above this size pass through git in pieces instead of being held in memory."""


class Kept:
    """The processes that stay, one for each mode of `cat-file`; they end with the last block."""

    def __init__(self) -> None:
        self._counted = threading.Lock()
        self._used = threading.Lock()
        self._blocks = 0
        self._started: dict[str, tuple[GitProcess, ExitStack]] = {}

    @contextmanager
    def block(self) -> Iterator[None]:
        """Keep processes until the outermost block ends."""
        with self._counted:
            self._blocks += 1
        try:
            yield
        finally:
            with self._counted:
                self._blocks -= 1
                if not self._blocks:
                    with self._used:  # another thread that still asks gets its answer
                        for mode in tuple(self._started):
                            self._end(mode)

    @contextmanager
    def process(self, git: Git, mode: str) -> Iterator[GitProcess | None]:
        """Give the process of this mode, or None where none is kept or another thread asks.

        It stays only if `answered` is set once all answers were read.
        """
        process = self._taken(git, mode)
        if process is None:
            yield None
            return
        try:
            yield process
        finally:
            if not process.answered:
                self._end(mode)
            self._used.release()

    def _taken(self, git: Git, mode: str) -> GitProcess | None:
        """Return a process that is this thread's until `_used` is released, or None without it."""
        if not self._used.acquire(blocking=False):
            return None
        with ExitStack() as undo:
            undo.callback(self._used.release)
            if not self._blocks:
                return None
            if mode in self._started and not self._started[mode][0].alive:
                self._end(mode)
            process = self._started[mode][0] if mode in self._started else self._start(git, mode)
            process.answered = False
            undo.pop_all()
        return process

    def _start(self, git: Git, mode: str) -> GitProcess:
        stack = ExitStack()
        started = git.start("cat-file", mode, stdin=None, config=(_STREAM_ABOVE,))
        process = stack.enter_context(started)
        self._started[mode] = process, stack
        return process

    def _end(self, mode: str) -> None:
        _, stack = self._started.pop(mode)
        stack.close()


@contextmanager
def asked(git: Git, mode: str, questions: bytes) -> Iterator[GitProcess]:
    """Ask `git cat-file` in this mode and give the process whose output is the answers.

    Leaving early is fine; set `answered` where all was read.
    """
    with ExitStack() as stack:
        kept = None
        if len(questions) <= _AT_ONCE:
            kept = stack.enter_context(git.kept.process(git, mode))
        if kept is not None:
            kept.ask(questions)
            yield kept
            return
        config = (_STREAM_ABOVE,)
        given = git.start("cat-file", mode, "--buffer", stdin=questions, config=config)
        yield stack.enter_context(given)


def looked_up(git: Git, questions: bytes) -> list[bytes]:
    """Return what `git cat-file --batch-check` says to each line of `questions`."""
    with asked(git, "--batch-check", questions) as process:
        lines = [process.out.readline() for _ in range(questions.count(b"\n"))]
        if not all(line.endswith(b"\n") for line in lines):
            raise process.failure()
        process.answered = True
    return [line.removesuffix(b"\n") for line in lines]
