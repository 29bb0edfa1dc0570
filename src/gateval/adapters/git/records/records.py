"""Records in git: files on refs of their own, written with plumbing and an ordinary push.

All work is done in a private bare repository in a temporary folder, made for the purpose. So the
user's index, working tree, refs, hooks, filters and shallow boundary cannot be touched, nothing
that a pull request left in `.git/config` is obeyed while a token is at hand, and two header lines
with tokens (ours and one that `actions/checkout` stored) never meet.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self, TypeVar

from gateval.adapters.git.records.destination import (
    REMOTE,
    Destination,
    environment,
    without_secrets,
)
from gateval.adapters.git.records.fast_import import NOBODY, Author, write_commit
from gateval.adapters.git.records.refusals import Refusal, refusal
from gateval.adapters.git.records.retries import PATIENCE, PushRetries, RemoteRefused, persistently
from gateval.adapters.git.records.stored import stored_at, too_large
from gateval.adapters.git.run import Git, GitResult
from gateval.adapters.git.server.remote import FETCH
from gateval.domain.repository.paths import show_path
from gateval.errors import GatevalError, RecordsError, RepositoryError
from gateval.ports.records import Edit, RecordFile, Stored

_OURS = "refs/gateval/"
"""What is below it at the remote is nobody's but the gate's."""

_TIPS = "refs/tips/"
"""Where the private repository keeps what the remote has, each ref under its own name."""

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


class GitRecords:
    """Fulfils `ports.records.Records` for one remote. Use it as a context: it holds a folder.

    `near` is git in the user's repository, which is asked for its object format and nothing else.
    It may be used from several threads; one visit to the remote waits for the other.
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
        self._closed = False
        self._lock = threading.RLock()
        self._seen: dict[str, Stored | None] = {}
        """What the remote had when it was last asked, by ref."""
        self._unread: dict[str, float] = {}
        """Until when refs that were brought along may be read without a visit, each once."""

    @property
    def where(self) -> str:
        """The remote as people may see it, without a secret."""
        return show_path(self._remote.url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._stack.close()

    def preload(self, *files: RecordFile) -> None:
        """Bring files below `refs/gateval/` in one visit; a remote that refuses is asked later.

        Where none is there, git fails without a word. That is good enough for a write, which the
        remote refuses if it is not so; a read asks again.
        """
        with self._lock, contextlib.suppress(GatevalError, OSError):
            answer = self._bring(f"+{_OURS}*:{_TIPS}{_OURS}*", "--prune")
            for file in files:
                if answer.code == 0:
                    self._seen[file.ref] = stored_at(self._git(), _TIPS + file.ref, file)
                    self._unread[file.ref] = time.monotonic() + self._retries.fresh_seconds
                elif not answer.err:
                    self._seen[file.ref] = None

    def read(self, file: RecordFile) -> Stored | None:
        """Return the remote's content of now, or None when it has no such ref.

        The first time after `preload` it is the content of then, if that is not too old.
        """
        with self._lock:
            if time.monotonic() < self._unread.pop(file.ref, 0):
                return self._seen[file.ref]
            return self._persist("read", file, lambda: self._fetch(file))

    def change(self, file: RecordFile, edit: Callable[[bytes], Edit | None]) -> str | None:
        """Write what `edit` makes of the content; again on what others wrote meanwhile.

        What was read before is good enough to begin with: a remote that has moved on refuses it.
        """
        with self._lock:
            return self._persist("write", file, lambda: self._attempt(file, edit))

    def _attempt(self, file: RecordFile, edit: Callable[[bytes], Edit | None]) -> str | None:
        known = file.ref in self._seen
        tip = self._seen[file.ref] if known else self._fetch(file)
        made = edit(_content(tip))
        if made is None and known:
            tip = self._fetch(file)
            made = edit(_content(tip))
        if made is None:
            return None
        if len(made.content) > file.limit:
            raise RecordsError(too_large(file))
        self._forget(file)
        commit = self._push(file, made, tip.commit if tip else "")
        self._seen[file.ref] = Stored(made.content, commit)
        return commit

    def _push(self, file: RecordFile, made: Edit, old: str) -> str:
        parent = old if file.keeps_history else ""
        commit = write_commit(
            self._git(), file.path, made, parent=parent or None, author=self._author
        )
        # RemoteRefused unless the ref still is what was read, one that was deleted since included.
        lease = f"--force-with-lease={file.ref}:{old}"
        options = ("--porcelain", "--no-progress", "--no-verify", lease)
        answer = self._talk("push", *options, "--", REMOTE, f"{commit}:{file.ref}")
        if answer.code:
            raise RemoteRefused(self._refusal("write", file, answer))
        return commit

    def _fetch(self, file: RecordFile) -> Stored | None:
        self._forget(file)
        tip = _TIPS + file.ref
        answer = self._bring(f"+{file.ref}:{tip}")
        absent = bool(answer.code and _ABSENT.search(self._said(answer)))
        if answer.code and not absent:
            raise RemoteRefused(self._refusal("read", file, answer))
        self._seen[file.ref] = found = None if absent else stored_at(self._git(), tip, file)
        return found

    def _forget(self, file: RecordFile) -> None:
        self._seen.pop(file.ref, None)
        self._unread.pop(file.ref, None)

    def _bring(self, refspec: str, *options: str) -> GitResult:
        return self._talk("fetch", *FETCH, "--depth=1", *options, "--", REMOTE, refspec)

    def _talk(self, command: str, *arguments: str) -> GitResult:
        """Run a git that speaks to the remote, whatever comes of it."""
        git = self._git()
        try:
            return git.run(command, *arguments, accept=_ANY, env=self._env, config=_CONFIG)
        except RepositoryError as error:  # it took too long
            return GitResult(1, b"", error.message.encode())

    def _git(self) -> Git:
        """Git in the private repository, made when it is first needed."""
        if self._closed:  # another thread was at it when the run ended
            raise RecordsError("The run is over, so its records are no longer asked for.")
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

    def _persist(self, action: str, file: RecordFile, attempt: Callable[[], T]) -> T:
        return persistently(self._retries, attempt, action=action, ref=file.ref, where=self.where)


def _content(stored: Stored | None) -> bytes:
    return (stored and stored.content) or b""
