"""The one place that starts git processes: clean environment, fixed settings, limits, and errors
as sentences.

To start git takes a hundred times longer than an answer, and to plan a change takes about ten.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple, cast

from gateval.adapters.machine import show_here
from gateval.domain.paths import show_path
from gateval.errors import NoRepository, RepositoryError

KEPT = (
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "SUDO_UID",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
"""Variables handed on. The list is closed, so GIT_DIR, GIT_INDEX_FILE, GIT_CONFIG_PARAMETERS,
GIT_EXTERNAL_DIFF, LD_PRELOAD, API keys and whatever comes next stay out."""

FIXED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Replace refs and grafts tell another history than the one that was pushed.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull + "/none",
    # A partial clone fetches missing objects on its own. The first variable stops that from git
    # 2.44 on; for the older ones no transport is allowed, and the fetch fails at once.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""Variables set for every git process."""

CONFIG = (
    f"core.hooksPath={os.devnull}",
    # Empty, not `false`: before 2.36 the value is the name of a program to run.
    "core.fsmonitor=",
    "core.quotePath=false",
)
"""Settings that win over every configuration file: no program from the repository's config runs
just because it is looked at."""


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a git process, made from the one the gate was started with."""
    return {name: environ[name] for name in KEPT if name in environ} | FIXED


def global_options() -> list[str]:
    """Return the options that stand between `git` and its command."""
    return [part for setting in CONFIG for part in ("-c", setting)]


LINE_LIMIT = 300
"""Characters kept of a line that git printed."""

FULL_HISTORY = (
    "The clone is shallow, so history is missing. Fetch all of it: `fetch-depth: 0` for "
    "actions/checkout, `git fetch --unshallow` elsewhere."
)
FULL_CONTENT = (
    "If this is a partial clone, clone it without `--filter` (actions/checkout: remove `filter`), "
    "for Gateval fetches nothing by itself. Otherwise `git fsck` may tell what is broken."
)
WRITABLE = (
    "A working tree with changes is measured by way of objects in .git. Make that writable, or "
    "name a commit: --head HEAD, with `gateval run` --rev HEAD."
)

_OWNERSHIP = re.compile(
    r"detected dubious ownership in repository at '(?P<path>.+?)'$"
    r"|unsafe repository \('(?P<older>.+?)' is owned by",
    re.MULTILINE,
)
_FORMAT = re.compile(r"repository extension|git repo version|extensions\.|repositoryformatversion")
_MISSING = re.compile(
    r"promisor remote|lazy fetch|transport '.*' not allowed|missing (?:blob|tree|commit)"
    r"|unable to read (?:sha1 file|tree|[0-9a-f]{40})|could not fetch [0-9a-f]{40}"
)


def explain(command: str, stderr: bytes) -> RepositoryError:
    """Return the error for a failed `git command` that printed `stderr` (in the C locale)."""
    text = stderr.decode("utf-8", "surrogateescape")
    if owned := _OWNERSHIP.search(text):
        shown = show_path(owned["path"] or owned["older"])
        return RepositoryError(
            f"git does not trust the repository at {shown}, because it belongs to another user.",
            hint=f"If you trust it: git config --global --add safe.directory {shown}",
        )
    if "not a git repository" in text:
        return NoRepository(
            "This folder is not in a git repository.",
            hint="Start Gateval inside the repository, or make one with `git init`.",
        )
    if _FORMAT.search(text):
        return RepositoryError(
            f"The installed git cannot read this repository's format: {summary(text)}.",
            hint="Install a newer git.",
        )
    if _MISSING.search(text):
        return RepositoryError(
            f"An object is missing from the repository: {summary(text)}.", hint=FULL_CONTENT
        )
    failed = f"`git {command}` failed: {summary(text)}."
    if command == "add" and "insufficient permission" in text:
        return RepositoryError(failed, hint=WRITABLE)
    return RepositoryError(failed)


def summary(text: str) -> str:
    """Return the line that tells most, on one line of harmless characters, without its full stop.

    File names from a pull request can be in it, hence the quoting and the limit.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    line = (telling or lines or ["it gave no reason"])[0]
    line = line.removeprefix("fatal: ").removeprefix("error: ").rstrip(".")
    return show_path(line[:LINE_LIMIT])


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


_AT_ONCE = 4096
"""Bytes that any pipe takes at once, so that neither side waits for the other to read (POSIX)."""

_STREAM_ABOVE = "core.bigFileThreshold=8m"
"""Blobs above this size pass through git in pieces instead of being held in memory."""


class CatFilePool:
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


TIMEOUT_SECONDS = 300.0
"""How long one git process may take."""

_LIMIT_UNIT = 512
"""Bytes in which a shell counts the size of files (POSIX, `ulimit -f`)."""

OUTPUT_LIMIT = 128 * 1024 * 1024
"""Bytes read of one answer. A forged tree can list billions of files in a few objects."""


class GitResult(NamedTuple):
    """The end of a git process: exit code, standard output, standard error."""

    code: int
    out: bytes
    err: bytes


class Git:
    """Runs git in one folder.

    `environ` is the environment of the gate, of which git sees only what is harmless, and `config`
    are settings for every process; no file that it writes may have more than `largest` bytes, if
    that is not 0. `also` are folders of objects that it reads beside the repository's own. Every
    method raises `RepositoryError` when git is missing,
    fails, or takes longer than `timeout` seconds.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        timeout: float = TIMEOUT_SECONDS,
        config: tuple[str, ...] = (),
        largest: int = 0,
        also: tuple[Path, ...] = (),
    ) -> None:
        self.folder = folder
        self._largest = largest
        self._also = also
        self._environ = clean_environment(environ)
        if also:
            self._environ["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(map(_quoted, also))
        self._timeout = timeout
        self._config = config
        self.kept = CatFilePool()

    def other(
        self,
        *,
        folder: Path | None = None,
        timeout: float | None = None,
        also: tuple[Path, ...] | None = None,
    ) -> Git:
        """Return the same git for another folder, or with another limit of time.

        One that reads other folders of objects, too, is for reading only: what it wrote might lack
        what it found there.
        """
        return Git(
            folder or self.folder,
            self._environ,
            timeout=timeout or self._timeout,
            config=self._config,
            largest=self._largest,
            also=self._also if also is None else also,
        )

    def run(
        self,
        command: str,
        *arguments: str,
        stdin: bytes = b"",
        accept: tuple[int, ...] = (0,),
        env: Mapping[str, str] | None = None,
        config: tuple[str, ...] = (),
    ) -> GitResult:
        """Run `git command` to its end. Exit codes other than those in `accept` are an error."""
        with self.start(command, *arguments, stdin=stdin, env=env, config=config) as process:
            out = process.read(OUTPUT_LIMIT)
            code, err = process.finish()
        if code not in accept:
            raise explain(command, err)
        return GitResult(code, out, err)

    @contextmanager
    def start(
        self,
        command: str,
        *arguments: str,
        stdin: bytes | None = b"",
        env: Mapping[str, str] | None = None,
        config: tuple[str, ...] = (),
    ) -> Iterator[GitProcess]:
        """Start `git command` and hand it over for reading; it is ended with the block.

        Input and errors go through files, so that nobody ever waits for the other side to read.
        With None as input, it is what `GitProcess.ask` writes.
        """
        settings = (*self._config, *config)
        line = ["git", *global_options(), *(part for each in settings for part in ("-c", each))]
        line += [command, *arguments]
        if self._largest:
            limit = str(self._largest // _LIMIT_UNIT)
            line = ["/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"', limit, *line]
        with tempfile.TemporaryFile() as errors, _given(stdin) as given:
            try:
                popen = subprocess.Popen(
                    line,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=self.folder,
                    env={**self._environ, **(env or {})},
                    bufsize=64 * 1024,
                )
            except OSError as error:
                if not self.folder.is_dir():
                    where = show_here(self.folder)
                    raise RepositoryError(f"There is no folder {where}.") from error
                raise RepositoryError(
                    f"git cannot be started: {error.strerror}.",
                    hint="Install git 2.31 or newer, and see that it is on PATH.",
                ) from error
            process = GitProcess(popen, errors, command, self._timeout)
            try:
                yield process
            finally:
                process.close()


def _quoted(folder: Path) -> str:
    """Return a path as git takes it in a list: a colon or a quote in it would end it."""
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@contextmanager
def _given(stdin: bytes | None) -> Iterator[IO[bytes] | int]:
    if stdin is None:
        yield subprocess.PIPE
    elif not stdin:
        yield subprocess.DEVNULL
    else:
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            yield given
