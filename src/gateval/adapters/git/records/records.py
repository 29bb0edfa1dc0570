"""Records in git: files on refs of their own, written with plumbing and an ordinary push.

All work is done in a private bare repository in a temporary folder, made for the purpose. So the
user's index, working tree, refs, hooks, filters and shallow boundary cannot be touched, nothing
that a pull request left in `.git/config` is obeyed while a token is at hand, and two header lines
with tokens (ours and one that `actions/checkout` stored) never meet.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self, TypeVar

from tenacity import RetryCallState, Retrying
from tenacity.retry import retry_if_exception
from tenacity.stop import stop_after_attempt, stop_any, stop_before_delay
from tenacity.wait import wait_random_exponential

from gateval.adapters.git.records.destination import (
    REMOTE,
    Destination,
    environment,
    without_secrets,
)
from gateval.adapters.git.records.fast_import import NOBODY, Author, write_commit
from gateval.adapters.git.records.refusals import Refusal, RefusalKind, refusal
from gateval.adapters.git.records.stored import stored_at, too_large
from gateval.adapters.git.run import Git, GitResult
from gateval.domain.repository.paths import show_path
from gateval.errors import RecordsError, RepositoryError
from gateval.ports.records import Edit, RecordFile, Stored

TIP = "refs/gateval/tip"
"""Where the private repository keeps what the remote has."""

_ANY = tuple(range(-64, 256))
_CONFIG = (
    "gc.auto=0",
    "maintenance.auto=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.pushOption=",
    "push.recurseSubmodules=no",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=30",
)
T = TypeVar("T")

_ABSENT = re.compile(r"couldn't find remote ref", re.IGNORECASE)


class PushRetries(NamedTuple):
    """How long to go on when others write at the same time, or the remote is out of reach.

    No attempt starts later than `seconds` after the first, and none after the outage of that
    number. Waits are random; they begin at about `race_wait` or `outage_wait` seconds and grow to
    20 times that. One git process may take `process_seconds`.
    """

    attempts: int = 60
    seconds: float = 120
    outages: int = 3
    race_wait: float = 0.05
    outage_wait: float = 2
    process_seconds: float = 60


PATIENCE = PushRetries()


class GitRecords:
    """Fulfils `ports.records.Records` for one remote. Use it as a context: it holds a folder.

    `near` is git in the user's repository, which is asked for its object format and nothing else.
    """

    def __init__(
        self,
        near: Git,
        remote: Destination,
        environ: Mapping[str, str],
        *,
        author: Author = NOBODY,
        retries: PushRetries = PATIENCE,
    ) -> None:
        self._near = near
        self._remote = remote
        self._env = environment(remote, environ)
        self._environ = environ
        self._author = author
        self._retries = retries
        self._stack = contextlib.ExitStack()
        self._private: Git | None = None

    @property
    def where(self) -> str:
        """The remote as people may see it, without a secret."""
        return show_path(self._remote.url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._private = None

    def read(self, file: RecordFile) -> Stored | None:
        """Return the remote's content of now, or None when it has no such ref."""
        return self._persistently("read", file, lambda: self._fetch(file))

    def change(self, file: RecordFile, edit: Callable[[bytes], Edit | None]) -> str | None:
        """Write what `edit` makes of the content; again on what others wrote meanwhile."""
        return self._persistently("write", file, lambda: self._attempt(file, edit))

    def _attempt(self, file: RecordFile, edit: Callable[[bytes], Edit | None]) -> str | None:
        tip = self._fetch(file)
        made = edit((tip and tip.content) or b"")
        if made is None:
            return None
        if len(made.content) > file.limit:
            raise RecordsError(too_large(file))
        old = tip.commit if tip else ""
        parent = old if file.keeps_history else None
        commit = write_commit(
            self._git(), file.path, made, parent=parent or None, author=self._author
        )
        # The history's ref is replaced, but only if it still is what was read.
        lease = () if file.keeps_history else (f"--force-with-lease={file.ref}:{old}",)
        options = ("--porcelain", "--no-progress", "--no-verify", *lease)
        answer = self._talk("push", *options, "--", REMOTE, f"{commit}:{file.ref}")
        if answer.code:
            raise _Refused(self._refusal("write", file, answer))
        return commit

    def _fetch(self, file: RecordFile) -> Stored | None:
        answer = self._talk(
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
            REMOTE,
            f"+{file.ref}:{TIP}",
        )
        said = self._said(answer)
        if answer.code and _ABSENT.search(said):
            return None
        if answer.code:
            raise _Refused(self._refusal("read", file, answer))
        return stored_at(self._git(), TIP, file)

    def _talk(self, command: str, *arguments: str) -> GitResult:
        """Run a git that speaks to the remote, whatever comes of it."""
        git = self._git()
        try:
            return git.run(command, *arguments, accept=_ANY, env=self._env, config=_CONFIG)
        except RepositoryError as error:  # it took too long
            return GitResult(1, b"", error.message.encode())

    def _git(self) -> Git:
        """Git in the private repository, made when it is first needed."""
        if self._private is None:
            answer = self._near.run("rev-parse", "--show-object-format")
            folder = self._stack.enter_context(
                TemporaryDirectory(prefix="gateval-records-", ignore_cleanup_errors=True)
            )
            git = Git(Path(folder), self._environ, timeout=self._retries.process_seconds)
            kind = f"--object-format={answer.out.decode().strip()}"
            git.run("init", "--quiet", "--bare", "--template=", "--initial-branch=main", kind)
            self._private = git
        return self._private

    def _said(self, answer: GitResult) -> str:
        text = (answer.err + b"\n" + answer.out).decode("utf-8", "replace")
        return without_secrets(text, self._remote)

    def _refusal(self, action: str, file: RecordFile, answer: GitResult) -> Refusal:
        return refusal(action, file.ref, self.where, self._said(answer))

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome and state.outcome.exception()
        outage = isinstance(error, _Refused) and error.refusal.kind is RefusalKind.OUTAGE
        first = self._retries.outage_wait if outage else self._retries.race_wait
        return wait_random_exponential(multiplier=first, max=20 * first)(state)

    def _persistently(self, action: str, file: RecordFile, attempt: Callable[[], T]) -> T:
        """Make an attempt again while others are quicker, and some times after outages."""
        outages = 0

        def again(error: BaseException) -> bool:
            nonlocal outages
            kind = error.refusal.kind if isinstance(error, _Refused) else RefusalKind.FINAL
            outages += kind is RefusalKind.OUTAGE
            return kind is RefusalKind.RACE or (
                kind is RefusalKind.OUTAGE and outages < self._retries.outages
            )

        retrying = Retrying(
            retry=retry_if_exception(again),
            stop=stop_any(
                stop_after_attempt(self._retries.attempts),
                stop_before_delay(self._retries.seconds),
            ),
            wait=self._wait,
            reraise=True,
        )
        where = f"{file.ref} at {self.where}"
        try:
            return retrying(attempt)
        except _Refused as refused:
            raise refused.refusal.error from None
        except RepositoryError as error:
            raise refusal(action, file.ref, self.where, error.message).error
        except OSError as error:
            raise RecordsError(f"Gateval cannot {action} {where}: {error.strerror}.") from error


class _Refused(Exception):
    """One attempt that the remote refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.error.message)
        self.refusal = refusal
