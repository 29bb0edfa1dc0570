"""Records in git: files on refs of their own, written with plumbing and an ordinary push.

A remote's URL, with or without a password in it, and the token are never an argument (everybody on
the machine can read those) and stand in no configuration file.

Format of the stream: https://git-scm.com/docs/git-fast-import.

All work is done in a private bare repository in a temporary folder, made for the purpose. So the
user's index, working tree, refs, hooks, filters and shallow boundary cannot be touched, nothing
that a pull request left in `.git/config` is obeyed while a token is at hand, and two header lines
with tokens (ours and one that `actions/checkout` stored) never meet.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self, TypeVar
from urllib.parse import unquote, urlsplit

from gateval.adapters.git.objects import check_name
from gateval.adapters.git.record_errors import (
    PATIENCE,
    PushRetries,
    persistently,
    refusal,
)
from gateval.adapters.git.run import Git, GitProcess, GitResult, asked
from gateval.adapters.git.server import FETCH, as_variables, network_variables
from gateval.domain.paths import show_path
from gateval.errors import GatevalError, RecordsError, RepositoryError, UsageError
from gateval.ports.storage import Edit, RecordFile, Records, Stored
from gateval.safe.redaction import secret_forms

REMOTE = "records"
"""What the remote is called inside our private repository."""

_SSH = ("SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT")
"""Variables of the gate that say which keys ssh may use."""

_PROTOCOLS = "file:git:http:https:ssh"
"""Not `ext`, which runs any program."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<user>[^/]*)@)?(?P<rest>.*)")
_SCP = re.compile(r"[^/:]+:(?!//)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Destination:
    """A repository elsewhere. `url` holds no secret; `basic` is `user:password`, or empty.

    `username` is for the user's own credential helper, when the URL names one without a password.
    """

    url: str
    basic: str = field(default="", repr=False)
    username: str = field(default="", repr=False)


def destination_at(url: str, *, token: str = "", root: Path | None = None) -> Destination:
    """Return the remote at `url`, a URL or a path (relative ones count from `root`).

    `token` is one that the host takes as a password, as GitHub's do. It goes to https only, or to
    this machine. Raises `UsageError`; the message never shows what stands before an `@`.
    """
    if not url or url.startswith("-") or _CONTROL.search(url):
        raise UsageError("This cannot be the URL of a remote.", hint="Name a remote of git.")
    parts = _URL.fullmatch(url)
    if parts is None:
        place = url if root is None or _SCP.match(url) else str(root / url)
        return _without_token(Destination(place), token)
    scheme, user = parts["scheme"].lower(), parts["user"] or ""
    name, _, password = user.partition(":")
    if scheme not in {"http", "https"}:
        kept = f"{name}@" if name else ""
        return _without_token(Destination(f"{scheme}://{kept}{parts['rest']}"), token)
    bare = f"{scheme}://{parts['rest']}"
    if token:
        basic = f"x-access-token:{token}"
    elif password:
        basic = f"{unquote(name)}:{unquote(password)}"
    else:
        return Destination(bare, username=unquote(name))
    if scheme == "http" and urlsplit(bare).hostname not in _LOOPBACK:
        raise UsageError(
            f"{show_path(bare)} is not encrypted, so the token is not sent there.",
            hint="Use https://.",
        )
    if _CONTROL.search(basic):
        raise UsageError("The token holds characters that no HTTP header can carry.")
    return Destination(bare, basic=basic)


def environment(destination: Destination, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what git's processes that speak to it get besides the clean environment."""
    settings = [(f"remote.{REMOTE}.url", destination.url)]
    if destination.basic:
        header = base64.b64encode(destination.basic.encode()).decode()
        settings += [
            # A redirect would take the header along to another host.
            ("http.followRedirects", "false"),
            ("credential.helper", ""),
            (f"http.{destination.url}.extraHeader", ""),
            (f"http.{destination.url}.extraHeader", f"Authorization: Basic {header}"),
        ]
    elif destination.username:
        settings.append(("credential.username", destination.username))
    passed_on = {name: environ[name] for name in _SSH if name in environ}
    return (
        passed_on
        | network_variables(environ)
        | as_variables(settings)
        | {"GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    )


def _without_token(destination: Destination, token: str) -> Destination:
    if token:
        raise UsageError(
            f"A token cannot be used for {show_path(destination.url)}.",
            hint="Tokens go to https:// only; for ssh and paths leave the token out.",
        )
    return destination


_MADE = "refs/gateval/made"
_AS_A_PACK = "fastimport.unpackLimit=0"
"""Without it, git starts another process that takes the pack apart."""


_WHO = "Gateval <gateval@noreply.invalid>"
"""Who makes the commits. Nobody reads mail to the address."""


def write_commit(git: Git, path: str, edit: Edit, *, parent: str | None) -> str:
    """Return the id of a new commit with `edit.content` at `path`.

    The other files are those of `parent`; without one there are none. Raises `RepositoryError`.
    """
    lines = [
        b"commit " + _MADE.encode(),
        b"mark :1",
        f"committer {_WHO} {int(time.time())} +0000".encode(),
        _data(edit.message.encode("utf-8", "replace")),
        *([b"from " + parent.encode()] if parent else []),
        b"M 100644 inline " + path.encode(),
        _data(edit.content),
        b"get-mark :1",
        b"done",
    ]
    stream = b"\n".join(lines) + b"\n"
    options = ("--quiet", "--force", "--done")
    answer = git.run("fast-import", *options, stdin=stream, config=(_AS_A_PACK,))
    return answer.out.decode().strip()


def _data(content: bytes) -> bytes:
    return b"data %d\n%b" % (len(content), content)


class RecordsOnce:
    """Opens records when they are first called for; the end of its own context closes them.

    What `opening` raises is raised by each call.
    """

    def __init__(self, opening: Callable[[], AbstractContextManager[Records]]) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self._opened: Records | None = None

    def __call__(self) -> AbstractContextManager[Records]:
        """Return the records as a context of its own, whose end closes nothing."""
        with self._lock:
            if self._opened is None:
                self._opened = self._stack.enter_context(self._opening())
            return contextlib.nullcontext(self._opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def stored_at(git: Git, name: str, file: RecordFile) -> Stored | None:
    """Return what the commit called `name` in git's own folder holds, or None if there is none.

    Raises `RecordsError` for a file that is too large or no file; `RepositoryError` as git does.
    """
    questions = f"{name}^{{commit}}\n{name}:{file.path}\n".encode()
    with asked(git, "--batch", questions) as answers:
        commit, kind, size = _header(answers)
        if kind == "missing":
            return None
        answers.out.read(size + 1)
        _, kind, size = _header(answers)
        if kind == "missing":
            return Stored(None, commit)
        if kind != "blob":
            raise RecordsError(f"{file.path} in {file.ref} is a {kind}, not a file.")
        if size > file.limit:
            raise RecordsError(too_large(file))
        content = answers.out.read(size)
        if len(content) != size:
            raise answers.failure()
    return Stored(content, commit)


def _header(answers: GitProcess) -> tuple[str, str, int]:
    """Return id, kind and size of the object that comes next; the kind of none is `missing`."""
    header = answers.out.readline().decode()
    if not header:
        raise answers.failure()
    name, kind, *size = header.rsplit(" ", 1 if header.endswith(" missing\n") else 2)
    return name, kind.strip(), int(size[0]) if size else 0


def too_large(file: RecordFile) -> str:
    """Return the sentence for a file beyond its limit."""
    return f"{file.path} in {file.ref} is larger than {file.limit:,} bytes."


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
        retries: PushRetries = PATIENCE,
    ) -> None:
        self._near = near
        self._remote = remote
        self._env = environment(remote, environ)
        self._environ = environ
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
        commit = write_commit(self._git(), file.path, made, parent=parent or None)
        # RemoteRefused unless the ref still is what was read, one that was deleted since included.
        lease = f"--force-with-lease={file.ref}:{old}"
        options = ("--porcelain", "--no-progress", "--no-verify", lease)
        answer = self._talk("push", *options, "--", REMOTE, f"{commit}:{file.ref}")
        if answer.code:
            raise refusal("write", file.ref, self.where, self._said(answer))
        return commit

    def _fetch(self, file: RecordFile) -> Stored | None:
        self._forget(file)
        tip = _TIPS + file.ref
        answer = self._bring(f"+{file.ref}:{tip}")
        absent = bool(answer.code and _ABSENT.search(self._said(answer)))
        if answer.code and not absent:
            raise refusal("read", file.ref, self.where, self._said(answer))
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
        """Return what git or the remote said without any secret that we know, or a URL holds."""
        text = (answer.err + b"\n" + answer.out).decode("utf-8", "replace")
        password = self._remote.basic.partition(":")[2]
        for form in secret_forms((password, self._remote.username)):
            text = text.replace(form, "***")
        return re.sub(r"(\w://)[^/\s'\"]*@", r"\1", text)

    def _persist(self, action: str, file: RecordFile, attempt: Callable[[], T]) -> T:
        return persistently(self._retries, attempt, action=action, ref=file.ref, where=self.where)


def _content(stored: Stored | None) -> bytes:
    return (stored and stored.content) or b""


def open_records(
    near: Git,
    environ: Mapping[str, str],
    *,
    remote: str = "origin",
    token: str = "",
    retries: PushRetries = PATIENCE,
) -> GitRecords:
    """Return the records of a remote: a URL, or a name in the repository that `near` stands in.

    With a `token`, name the URL: a name is looked up in the repository's configuration, and its
    writers could send the token elsewhere. Raises `UsageError`, `RecordsError`.
    """
    url = remote
    if "/" not in remote and ":" not in remote:
        if token:
            raise UsageError("A token needs the remote's URL, not its name.")
        check_name(remote)
        answer = near.run("remote", "get-url", "--push", "--", remote, accept=(0, 2, 128))
        if answer.code:
            raise RecordsError(
                f"This repository has no remote {show_path(remote)}; the audit log and other "
                "records are kept at a remote.",
                hint="Name one that `git remote` lists, or a URL: --remote NAME|URL. "
                "For a ref of this clone: --ref REF.",
            )
        url = os.fsdecode(answer.out).split("\n", 1)[0]
    place = destination_at(url, token=token, root=near.folder)
    return GitRecords(near, place, environ, retries=retries)
