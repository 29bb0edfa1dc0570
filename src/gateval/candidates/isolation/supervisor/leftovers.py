"""Leftovers of a candidate's user outside its private folders: files, and System V IPC objects.

Called when no process of that user is left, so nothing changes under our hands.
"""

from __future__ import annotations

import contextlib
import os
import stat
import warnings  # noqa: F401 - os.execvpe imports it, where the library may no longer be read
from collections.abc import Iterator, Sequence

DEPTH = 4
"""How far below a shared folder another one that everybody may write to is looked for."""

SLACK = 2.0
"""Seconds by which clocks of file systems may lag behind."""

_KINDS = {"shm": ("shmid", "-m"), "sem": ("semid", "-s"), "msg": ("msqid", "-q")}


def shared_folders(roots: Sequence[str]) -> list[str]:
    """Return these folders and those below them in which everybody may make files."""
    found = []
    waiting = [(root, 0) for root in roots]
    while waiting:
        folder, depth = waiting.pop()
        with contextlib.suppress(OSError):
            mode = os.lstat(folder).st_mode
            if not stat.S_ISDIR(mode) or not mode & stat.S_IWOTH:
                continue
            found.append(folder)
            if depth < DEPTH:
                with os.scandir(folder) as entries:
                    waiting += [(e.path, depth + 1) for e in entries if _is_folder(e)]
    return found


def remove_files(folders: list[str], user: int, since: float) -> None:
    """Remove what this user has in these folders. `since` (Unix time) is when it came to be."""
    for folder in folders:
        with contextlib.suppress(OSError):
            if os.stat(folder).st_mtime + SLACK < since:
                continue
            for path in list(belonging_to(user, folder)):
                remove_tree(path)


def belonging_to(user: int, folder: str) -> Iterator[str]:
    """Give what lies directly in a folder and belongs to this user."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from (entry.path for entry in entries if _belongs_to(entry, user))


def remove_tree(path: str) -> None:
    """Remove a file or folder however deep, without following links; what resists is left.

    rm does it: a walk in Python would open a file per level, or follow a path that is too long.
    """
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if os.path.lexists(path):
            run(*command, "--", path)


def remove_ipc(user: int) -> None:
    """Remove the user's System V shared memory, semaphores and message queues, acting as it."""
    objects = [word for kind in _KINDS for word in _owned(kind, user)]
    if not objects:
        return
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            os.execvpe("ipcrm", ["ipcrm", *objects], {"PATH": os.defpath})
        finally:
            os._exit(127)
    _wait(child)


def run(*argv: str) -> None:
    """Run a tool of the system to its end, with nothing on its streams."""
    nowhere = [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR if number else os.O_RDONLY, 0)
        for number in range(3)
    ]
    with contextlib.suppress(OSError):
        _wait(os.posix_spawnp(argv[0], argv, {"PATH": os.defpath}, file_actions=nowhere))


def _wait(child: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def _owned(kind: str, user: int) -> Iterator[str]:
    name, option = _KINDS[kind]
    with contextlib.suppress(OSError), open(f"/proc/sysvipc/{kind}") as file:
        columns = file.readline().split()
        for line in file:
            row = dict(zip(columns, line.split(), strict=False))
            if str(user) in (row.get("uid"), row.get("cuid")):
                yield from (option, row[name])


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_dir(follow_symlinks=False)
    return False


def _belongs_to(entry: os.DirEntry[str], user: int) -> bool:
    with contextlib.suppress(OSError):
        return entry.stat(follow_symlinks=False).st_uid == user
    return False
