"""Work in folders that a pull request may have prepared: no symbolic link is ever followed.

Folders are held open, so that nobody can put a link in their place between two steps. Everything
raises `OSError` where the system says no.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from gateval.domain.paths import show_path
from gateval.errors import UsageError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(folder: int, name: str, content: bytes | Iterable[bytes]) -> None:
    """Write the file `name` in an open folder, such that readers see the old or the new one whole.

    It is written under a passing name and then renamed, which replaces a link and follows none.
    """
    passing = f".{name}.{os.urandom(4).hex()}"
    file = os.open(passing, _NEW_FILE, 0o644, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.writelines((content,) if isinstance(content, bytes) else content)
        os.rename(passing, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(passing, dir_fd=folder)
        raise


def write_whole(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file in a folder that is there, as `replace_file` does."""
    with opened_folder(path.parent) as folder:
        replace_file(folder, path.name, content)


@contextmanager
def opened_folder(
    path: Path | str, *, within: int | None = None, follow: bool = True
) -> Iterator[int]:
    """Open a folder, one in the open folder `within` if given, and give its descriptor.

    Without `follow`, the last part of its path may be no link.
    """
    folder = os.open(path, _FOLDER if follow else _FOLDER | os.O_NOFOLLOW, dir_fd=within)
    try:
        yield folder
    finally:
        os.close(folder)


def real_path(root: Path, path: Path) -> Path:
    """Return where `path` leads, `..` and links outside `root` resolved as the kernel does.

    A link in `root` is `NotADirectoryError` that names it: a pull request may have put it there.
    """
    root = root.resolve()
    found = Path("/")
    for part in (Path.cwd() / path).parts[1:]:
        below = found.parent if part == ".." else found / part
        if not below.is_symlink():
            found = below
        elif found.is_relative_to(root):
            reason = os.strerror(errno.ENOTDIR)
            raise NotADirectoryError(errno.ENOTDIR, reason, str(below.relative_to(root)))
        else:
            found = below.resolve()
    return found


@contextmanager
def made_folder(root: Path, path: Path) -> Iterator[int]:
    """Open the folder at a `real_path`, made with its parents if need be; in `root` by no link."""
    root = root.resolve()
    if not path.is_relative_to(root):
        path.mkdir(parents=True, exist_ok=True)
        root = path
    with ExitStack() as stack:
        folder = stack.enter_context(opened_folder(root))
        for name in path.relative_to(root).parts:
            folder = stack.enter_context(entered_folder(folder, name))
        yield folder


@contextmanager
def entered_folder(parent: int, name: str) -> Iterator[int]:
    """Open the folder `name` in an open folder, made if need be; a link is `NotADirectoryError`."""
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    with opened_folder(name, within=parent, follow=False) as folder:
        yield folder


def is_being_written(path: Path) -> bool:
    """Whether a process that lives has this file locked (`flock`); it lets go when it ends."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False


def hand_over(folder: Path, workspace: Path) -> None:
    """Give a folder in the workspace, all in it and its parents to the workspace's owner.

    So the runner can clean up what a container made as root. Does nothing unless we are root and
    the owner is not, or when the folder lies elsewhere. Links are given away themselves, never what
    they lead to.
    """
    owner = workspace.stat()
    if os.geteuid() != 0 or owner.st_uid == 0 or not folder.is_relative_to(workspace):
        return
    for parent in (folder, *folder.parents):
        if parent == workspace:
            break
        os.lchown(parent, owner.st_uid, owner.st_gid)
    for _, folders, files, descriptor in os.fwalk(folder):
        for name in (*folders, *files):
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=descriptor, follow_symlinks=False)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_private(file: Path, content: bytes) -> None:
    """Write a new file that only the own user may read. Raises `UsageError`, also if one exists."""
    try:
        with os.fdopen(os.open(file, _NEW, 0o600), "wb") as stream:
            stream.write(content)
    except OSError as error:
        raise UsageError(f"{file} could not be written: {error.strerror}.") from None


def write_over(root: Path, path: str, text: str) -> None:
    """Write the file `path` below `root`, whatever is there. Raises as `write_new`."""
    folders, _, name = path.rpartition("/")
    try:
        with made_folder(root, root.resolve() / folders) as folder:
            replace_file(folder, name, text.encode())
    except OSError as error:
        raise _unwritten(path, error) from error


def write_new(root: Path, path: str, text: str) -> bool:
    """Write the file `path` below `root`, folders included; False when something is there.

    Raises `UsageError` when a folder on the way is a file or a link, leads up, or may not be
    written to.
    """
    if {".", "..", ""} & set(path.split("/")):
        raise UsageError(f"{show_path(path)} is no path below the repository's root.")
    folders, _, name = path.rpartition("/")
    try:
        with made_folder(root, root.resolve() / folders) as folder:
            file = os.open(name, _NEW, 0o644, dir_fd=folder)
            with os.fdopen(file, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise _unwritten(path, error) from error
    return True


def _unwritten(path: str, error: OSError) -> UsageError:
    return UsageError(
        f"{show_path(path)} could not be written: {error.strerror}.",
        hint="Each folder of the path has to be a real folder that you may write to.",
    )
