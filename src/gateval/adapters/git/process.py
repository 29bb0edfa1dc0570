"""One git process under way: its output within limits, its end, and why it failed."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from typing import IO, cast

from gateval.adapters.git.explain import explain
from gateval.errors import RepositoryError

_PIECE = 1024 * 1024

_GRACE = 5.0
"""Seconds that git gets to clean up."""


class GitProcess:
    """A git at work. `out` is its standard output; end it with `close` whatever happens.

    `answered` says of one that is asked again that all its answers were read.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], errors: IO[bytes], command: str, timeout: float
    ) -> None:
        self.out = cast("IO[bytes]", process.stdout)
        self.answered = False
        self._process = process
        self._errors = errors
        self._command = command
        self._timeout = timeout
        self._expired = False
        self._timer = self._started_timer()

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None and not self._expired

    def ask(self, questions: bytes) -> None:
        """Write these lines to it; its time starts anew."""
        self._timer.cancel()
        self._timer = self._started_timer()
        stdin = cast("IO[bytes]", self._process.stdin)
        try:
            stdin.write(questions)
            stdin.flush()
        except OSError:
            raise self.failure() from None

    def read(self, limit: int) -> bytes:
        """Return all output; raises `RepositoryError` beyond `limit` bytes."""
        pieces: list[bytes] = []
        total = 0
        while piece := self.out.read(_PIECE):
            pieces.append(piece)
            total += len(piece)
            if total > limit:
                raise RepositoryError(
                    f"`git {self._command}` answers with more than {limit:,} bytes.",
                    hint="This repository is larger than Gateval can look at.",
                )
        return b"".join(pieces)

    def finish(self) -> tuple[int, bytes]:
        """Wait for the end; return exit code and standard error."""
        code = self._process.wait()
        if self._expired and code < 0:
            raise RepositoryError(
                f"`git {self._command}` did not end within {self._timeout:g} seconds."
            )
        self._errors.seek(0)
        return code, self._errors.read(_PIECE)

    def failure(self) -> RepositoryError:
        """The reason why the output ended too early."""
        _, err = self.finish()
        return explain(self._command, err)

    def close(self) -> None:
        """End the process if it still runs, and free what it held."""
        self._timer.cancel()
        self._process.kill()
        if self._process.stdin is not None:
            with suppress(OSError):  # what was not written yet
                self._process.stdin.close()
        self.out.close()
        self._process.wait()

    def _started_timer(self) -> threading.Timer:
        timer = threading.Timer(self._timeout, self._expire)
        timer.daemon = True
        timer.start()
        return timer

    def _expire(self) -> None:
        """Ask git to end, so that it takes its lock files away, and end it if it does not."""
        self._expired = True
        self._process.terminate()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
