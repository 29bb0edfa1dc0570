"""The one place that starts git processes: clean environment, fixed settings, limits, time-out."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from gateval.adapters.git.cat_file import Kept
from gateval.adapters.git.environment import clean_environment, global_options
from gateval.adapters.git.explain import explain
from gateval.adapters.git.process import GitProcess
from gateval.adapters.shown_paths import show_here
from gateval.errors import RepositoryError

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
        self.kept = Kept()

    def at(self, folder: Path) -> Git:
        """Return the same git for another folder."""
        return self._other(folder, self._timeout)

    def within(self, seconds: float) -> Git:
        """Return the same git with another limit of time."""
        return self._other(self.folder, seconds)

    def reading(self, also: tuple[Path, ...]) -> Git:
        """Return the same git, which reads these folders of objects, too. It is for reading only:
        what it wrote might lack what it found there.
        """
        return self._other(self.folder, self._timeout, also)

    def _other(self, folder: Path, seconds: float, also: tuple[Path, ...] | None = None) -> Git:
        return Git(
            folder,
            self._environ,
            timeout=seconds,
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
        with tempfile.TemporaryFile() as errors, _given(stdin) as given:
            popen = self._popen([*line, command, *arguments], given, errors, env or {})
            process = GitProcess(popen, errors, command, self._timeout)
            try:
                yield process
            finally:
                process.close()

    def _popen(
        self, line: list[str], given: IO[bytes] | int, errors: IO[bytes], env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        if self._largest:
            limit = str(self._largest // _LIMIT_UNIT)
            line = ["/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"', limit, *line]
        try:
            return subprocess.Popen(
                line,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.folder,
                env={**self._environ, **env},
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
