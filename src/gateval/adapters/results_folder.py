"""Files that a run leaves: its folder, and what `check` found.

The parent folders may have come with a pull request, so no symbolic link is followed there.

What was found lies in the repository's own git folder, where no commit can put anything, or in a
folder that the environment names.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateval.adapters.folders import (
    entered_folder,
    made_folder,
    opened_folder,
    real_path,
    replace_file,
    write_whole,
)
from gateval.adapters.machine import show_here
from gateval.errors import EvaluationError, UsageError
from gateval.ports.storage import Clock

PARENTS = (".gateval", "results")
_HIDES, _IGNORE = ".gitignore", b"*\n"
_ATTEMPTS = 100
_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
"""A run's id, as `run_id` makes it: later runs sort behind earlier ones."""


class ResultsFolder:
    """The folder of one run. `run` is the run's id, `path` where its files lie."""

    def __init__(self, run: str, path: Path) -> None:
        self.run = run
        self.path = path

    def write(self, name: str, content: bytes | Iterable[bytes]) -> Path:
        """Write a file, perhaps in pieces, that readers see whole or not at all; return its path.

        A file of this name is replaced. `name` has no folders. Raises `EvaluationError` when the
        system refuses: the folder could be written to when it was made.
        """
        target = self.path / name
        try:
            write_whole(target, content)
        except OSError as error:
            raise EvaluationError(
                f"{show_here(target)} could not be written: {error.strerror}.",
                hint="Finished trials are in `trials` of that folder. Make room and run again.",
            ) from error
        return target


def moment_token() -> str:
    """Return how much of this second has gone by as four hexadecimal digits.

    So ids of runs within one second sort in the order of the runs, too.
    """
    return f"{int(time.time() % 1 * 0x10000):04x}"


def run_id(now: str, token: str) -> str:
    """Return the id of a run that starts `now` (ISO 8601 in UTC): `20261120-093000-ab12`."""
    digits = "".join(filter(str.isdigit, now))
    return f"{digits[:8]}-{digits[8:14]}-{token}"


def create_results_folder(
    repository: Path,
    clock: Clock,
    *,
    chosen: Path | None = None,
    goes_on: bool = False,
    token: Callable[[], str] = moment_token,
) -> ResultsFolder:
    """Create the folder for a run's results and return it.

    It is `<repository>/.gateval/results/<run id>`, or exactly the folder `chosen`, which is new or
    empty, unless the run `goes_on` there. A `.gitignore` above it, or in what was chosen, hides all
    of it from git. Raises `UsageError` when that cannot be, or when a part of the way in the
    repository is a symbolic link or no folder.
    """
    if chosen is not None:
        return ResultsFolder(
            run_id(clock.utc_now(), token()), _take(repository, chosen, goes_on=goes_on)
        )
    parent = repository.joinpath(*PARENTS)
    with (
        _explained(parent),
        opened_folder(repository) as root,
        entered_folder(root, PARENTS[0]) as upper,
        entered_folder(upper, PARENTS[1]) as results,
    ):
        _hide(results)
        for _ in range(_ATTEMPTS):
            run = run_id(clock.utc_now(), token())
            with suppress(FileExistsError):
                os.mkdir(run, dir_fd=results)
                return ResultsFolder(run, parent / run)
    raise UsageError("There is no free name for the results folder.", hint="Remove old results.")


def run_folders(root: Path, files: Iterable[str]) -> list[str]:
    """Return the ids of the runs that left one of `files`. No folder on the way is a link."""
    place = root
    for part in PARENTS:
        place = place / part
        if place.is_symlink():
            return []
    try:
        with os.scandir(place) as entries:
            folders = [
                entry.name
                for entry in entries
                if _RUN.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []
    wanted = tuple(files)
    return [name for name in folders if any((place / name / file).is_file() for file in wanted)]


def results_path(repository: Path, chosen: Path) -> Path:
    """Return where the folder `chosen` really is. Raises `UsageError` for a link on the way."""
    with _explained(chosen):
        return real_path(repository, chosen)


def _take(repository: Path, chosen: Path, *, goes_on: bool) -> Path:
    path = results_path(repository, chosen)
    with _explained(chosen), made_folder(repository, path) as folder:
        with os.scandir(folder) as entries:
            empty = all(entry.name == _HIDES for entry in entries)
        if not empty and not goes_on:
            raise UsageError(
                f"The folder for results, {show_here(chosen)}, is not empty.",
                hint="Name a new or empty folder, so that two runs do not get mixed up.",
            )
        if path.is_relative_to(repository.resolve()):
            _hide(folder)
    return path


def _hide(results: int) -> None:
    """Write the `.gitignore`, unless there is one."""
    try:
        found = os.stat(_HIDES, dir_fd=results, follow_symlinks=False)
    except FileNotFoundError:
        replace_file(results, _HIDES, _IGNORE)
    else:
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(
                "The `.gitignore` of the results is no regular file, so git would not heed it.",
                hint="Remove it; Gateval writes its own.",
            )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except NotADirectoryError as error:
        raise UsageError(
            f"Results cannot go to {show_here(path)}: "
            f"{show_here(Path(str(error.filename)))} is a symbolic link or no folder.",
            hint="Remove it, or name another folder for the results.",
        ) from error
    except OSError as error:
        raise UsageError(
            f"Results cannot be written to {show_here(path)}: {error.strerror}.",
            hint="Name a folder for the results that can be written.",
        ) from error


NAME = "findings.jsonl"
_LOCK = "findings.lock"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_PATIENCE = 5.0
"""Seconds to wait for another run, which needs a few milliseconds."""


class FindingsFile:
    """The file `name` in `folder`, a `real_path` of the repository at `root`.

    With `hidden`, git is told to leave the folder alone. Everything raises `OSError`.
    """

    def __init__(self, root: Path, folder: Path, *, hidden: bool, name: str = NAME) -> None:
        self._root = root
        self._folder = folder
        self._hidden = hidden
        self._name = name
        self.path = folder / name

    def read(self, most: int) -> bytes:
        """Return its content, of a larger one the last `most` bytes; nothing if there is none."""
        try:
            with opened_folder(self._folder) as folder:
                return _content(folder, self._name, most)
        except FileNotFoundError:
            return b""

    def change(self, edit: Callable[[bytes], bytes], most: int) -> None:
        """Replace its content by what `edit` makes of it; who comes second sees the first's."""
        with made_folder(self._root, self._folder) as folder, _alone(folder):
            if self._hidden:
                replace_file(folder, ".gitignore", b"*\n")
            try:
                before = _content(folder, self._name, most)
            except FileNotFoundError:
                before = b""
            replace_file(folder, self._name, edit(before))


def _content(folder: int, name: str, most: int) -> bytes:
    file = os.open(name, _READ, dir_fd=folder)
    with os.fdopen(file, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - most))
        return stream.read(most)


@contextmanager
def _alone(folder: int) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(_LOCK, flags, 0o600, dir_fd=folder)
    deadline = time.monotonic() + _PATIENCE
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)  # another check writes it, which takes milliseconds
        yield
    finally:
        os.close(lock)
