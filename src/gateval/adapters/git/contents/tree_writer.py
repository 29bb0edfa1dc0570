"""Creates files, folders and links below one folder; never replaces or follows what is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateval.domain.repository.paths import show_path
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
