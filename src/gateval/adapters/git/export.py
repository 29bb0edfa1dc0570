"""Writes the files of a revision into a folder, straight from git's objects.

Neither `git archive` nor a checkout would do: they follow attributes (`export-ignore`,
`export-subst`, filters, line ends) that a pull request can set, and what is tested would no longer
be what is in the commit. All names are taken as forged until checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gateval.adapters.git.objects import Batch, batch
from gateval.adapters.git.run import Git
from gateval.domain.paths import show_path
from gateval.domain.tree import TEXT_LIMIT, TreeEntry, check_links
from gateval.errors import RepositoryError

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE = 0o755
_FILE_MODE = 0o644
_PROGRAM_MODE = 0o755


class TreeWriter:
    """Writes into `folder`, which is created if need be and has to be empty.

    Paths are relative, with `/`, already checked. Folders are made on the way. Modes are exact,
    whatever the umask is. Every method raises `RepositoryError` where the system says no.
    """

    def __init__(self, folder: Path) -> None:
        self._root = os.fspath(folder)
        self._made = {""}
        with _explained("the folder", self._root):
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise RepositoryError(f"The folder {show_path(self._root)} is not empty.")

    def folder(self, path: str) -> None:
        """Make a folder and those above it, as far as this writer has not made them yet."""
        missing: list[str] = []
        while path not in self._made:
            missing.append(path)
            path = path.rpartition("/")[0]
        for each in reversed(missing):
            with _explained("the folder", each):
                new = Path(self._at(each))
                new.mkdir()
                new.chmod(_FOLDER_MODE)
            self._made.add(each)

    @contextmanager
    def file(self, path: str, *, executable: bool) -> Iterator[int]:
        """Make a file and give its descriptor for writing."""
        self.folder(path.rpartition("/")[0])
        with _explained("the file", path):
            target = os.open(self._at(path), _CREATE, 0o600)
            try:
                os.fchmod(target, _PROGRAM_MODE if executable else _FILE_MODE)
                yield target
            finally:
                os.close(target)

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link that holds `target`."""
        self.folder(path.rpartition("/")[0])
        with _explained("the symbolic link", path):
            Path(self._at(path)).symlink_to(target)

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"


@contextmanager
def _explained(what: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RepositoryError(f"Cannot write {what} {show_path(path)}: {reason}.") from error


EXPORT_LIMIT = 8 * 1024**3
"""Bytes written for one revision. One small object can be listed a million times."""

PATH_LIMIT = 4095
"""Characters of a path; the system takes no more, and checks stay quick."""

_FORBIDDEN = re.compile(r"(?:^|/)(?:\.{0,2}|\.git)(?=/|\Z)", re.IGNORECASE | re.ASCII)
"""A component that is empty, `.`, `..` or `.git`."""


def write_tree(
    git: Git,
    entries: Mapping[str, TreeEntry],
    folder: Path,
    *,
    limit: int = EXPORT_LIMIT,
    folders: Iterable[str] = (),
) -> None:
    """Write `entries` below `folder`, which is empty or does not exist yet. One git process.

    Files come out byte for byte with mode 644 or 755 whatever the umask is, submodules whose
    content is not here as empty folders, links as links. Raises `RepositoryError` for paths and
    links that could lead out of the folder or into a `.git`, when the disk is full, and beyond
    `limit` bytes; what was written before stays there. `folders` come out even if nothing is in
    them.
    """
    folders = frozenset(folders)
    check_paths(entries, folders)
    links = {path: entry.oid for path, entry in entries.items() if entry.is_symlink}
    files = {path: entry for path, entry in entries.items() if entry.is_file}
    wanted = [*links.values(), *(entry.oid for entry in files.values())]
    writer = TreeWriter(folder)
    with batch(git, wanted) as blobs:
        targets: dict[str, str] = {}
        for path, oid in links.items():
            size = blobs.size(oid)
            if size > TEXT_LIMIT:
                shown = show_path(path)
                raise RepositoryError(f"The symbolic link {shown} is {size:,} bytes long.")
            targets[path] = os.fsdecode(blobs.read(size))
        check_links(targets)
        _write_files(blobs, files, writer, limit)
    for path, entry in entries.items():
        if entry.is_submodule or entry.is_folder:
            writer.folder(path)
    for path in folders:
        writer.folder(path)
    # Links come last, so that nothing is ever written through one.
    for path, target in targets.items():
        writer.link(path, target)


def check_paths(paths: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Raise `RepositoryError` for a path that only a forged tree can hold."""
    known, bare = set(paths), set(folders)
    for path in known | bare:
        if len(path) > PATH_LIMIT or _FORBIDDEN.search(path):
            raise _forged(f"The revision holds the path {_shown(path)}, which no file may have.")
    if clash := (_folders(known | bare) | bare) & known:
        raise _forged(f"{_shown(min(clash))} is a folder and something else in one revision.")


def _folders(paths: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for path in paths:
        parent = path.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    return folders


def _forged(message: str) -> RepositoryError:
    hint = "git itself does not make such commits. Find out where this one comes from."
    return RepositoryError(message, hint=hint)


def _shown(path: str) -> str:
    return show_path(path[:200]) or '""'


def _write_files(
    blobs: Batch, files: Mapping[str, TreeEntry], writer: TreeWriter, limit: int
) -> None:
    total = 0
    for path, entry in files.items():
        size = blobs.size(entry.oid)
        total += size
        if total > limit:
            raise RepositoryError(
                f"The files of this Agent have more than {limit:,} bytes.",
                hint="Candidates get a copy of them; `gateval closure AGENT` lists them.",
            )
        with writer.file(path, executable=entry.mode == "100755") as target:
            blobs.copy(size, target)
