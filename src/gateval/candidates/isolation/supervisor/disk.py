"""How much a candidate has written, noticed soon, and what it left elsewhere.

Its own folders count, and what its user has in the folders for everybody's passing files. Free
space is asked for at every tick, which costs a system call or two; all is added up (by du) only
when it shrank noticeably or some time has passed, and once more at the end, so that nobody gets by
who writes much and ends at once.

Called when no process of that user is left, so nothing changes under our hands.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import time
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
            if os.stat(folder).st_mtime + SLACK >= since:
                for path in list(belonging_to(user, folder)):
                    remove_tree(path)


def belonging_to(user: int, folder: str) -> Iterator[str]:
    """Give what lies directly in a folder and belongs to this user."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from (entry.path for entry in entries if _belongs_to(entry, user))


def remove_tree(path: str) -> None:
    """Remove a file or folder however deep, without following links; what resists is left. rm does
    it: a walk in Python would open a file per level, or follow a path that is too long.
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


LOOK_SECONDS = 5.0
ENTRIES = 200_000
"""Files and folders that one candidate may have; more would fill the table of inodes."""

FEW = 200
"""So many are added up here at both ends; more by du, whose start takes longer."""

END_SECONDS = 30.0
"""How long the last look may take."""

_ADD_UP = 'du -sck --files0-from="$0" | tail -n 1; du -sc --inodes --files0-from="$0" | tail -n 1'


class DiskWatch:
    """Watches some folders. `cap` is in bytes. With `since_now`, what they hold now does not count.
    `shared` are folders in which what belongs to `user` counts too.
    """

    def __init__(
        self,
        folders: list[str],
        cap: int,
        *,
        since_now: bool,
        shared: Sequence[str] = (),
        user: int | None = None,
    ) -> None:
        self._folders = folders
        self._cap = cap
        self._shared = shared if user is not None else ()
        self._user = user
        self._looked = time.monotonic()
        self._systems = _one_of_each_system([*folders, *self._shared])
        self._free = self._ask()
        self._du: int | None = None
        self._answer = b""
        self._base = self._sum() if since_now else (0, 0)

    def over(self) -> bool:
        """Whether they are known to hold more than the cap. Never waits."""
        if self._du is not None:
            return self._listen(0) and self._is_over(self._sums())
        free = self._ask()
        shrank = any(
            was[0] - now[0] > self._cap // 8 or was[1] - now[1] > ENTRIES // 8
            for was, now in zip(self._free, free, strict=True)
        )
        if shrank or time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        return False

    def over_at_the_end(self) -> bool:
        """Whether they hold more than the cap, now that no process is left that could write."""
        return self._is_over(self._sum())

    def _sum(self) -> tuple[int, int]:
        """Kilobytes and entries, as they are now; waits for du where they are many."""
        few = _add_up_few(self._places())
        if few is not None:
            return few
        if self._du is not None:  # a look that is older than this
            self._awaited()
        self._look()
        return self._awaited()

    def _is_over(self, sums: tuple[int, int]) -> bool:
        kilobytes, entries = sums[0] - self._base[0], sums[1] - self._base[1]
        return kilobytes * 1024 > self._cap or entries > ENTRIES

    def _places(self) -> Iterator[str]:
        yield from self._folders
        if self._user is not None:
            for folder in self._shared:
                yield from belonging_to(self._user, folder)

    def _ask(self) -> list[tuple[int, int]]:
        """The bytes and files that are free, on each file system."""
        free = []
        for folder in self._systems:
            with contextlib.suppress(OSError):
                state = os.statvfs(folder)
                free.append((state.f_bavail * state.f_frsize, state.f_ffree))
                continue
            free.append((0, 0))
        return free

    def _look(self) -> None:
        """Start adding up; the answer is taken at a later tick."""
        self._looked = time.monotonic()
        names = os.memfd_create("names", os.MFD_CLOEXEC)
        inward, outward = os.pipe()
        with os.fdopen(names, "wb") as file:
            for place in self._places():
                file.write(os.fsencode(place) + b"\0")
            file.flush()
            where = [
                (os.POSIX_SPAWN_DUP2, names, 0),
                (os.POSIX_SPAWN_DUP2, outward, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ]
            argv = ["sh", "-c", _ADD_UP, "/dev/stdin"]
            with contextlib.suppress(OSError):
                os.posix_spawnp("sh", argv, {"PATH": os.defpath}, file_actions=where)
        os.close(outward)
        self._du, self._answer = inward, b""

    def _listen(self, seconds: float) -> bool:
        """Read what du said so far, and wait no longer than this for more; True at its end."""
        while self._du is not None and select.select([self._du], [], [], seconds)[0]:
            part = os.read(self._du, 4096)
            self._answer += part
            if not part:
                os.close(self._du)
                self._du, self._free = None, self._ask()
        return self._du is None

    def _awaited(self) -> tuple[int, int]:
        self._listen(END_SECONDS)
        return self._sums()

    def _sums(self) -> tuple[int, int]:
        """Kilobytes and entries, as du gave them."""
        numbers = [int(line.split()[0]) for line in self._answer.splitlines() if line[:1].isdigit()]
        kilobytes, entries = [*numbers, 0, 0][:2]
        return kilobytes, entries


def _one_of_each_system(folders: Sequence[str]) -> list[str]:
    found: dict[int, str] = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            found.setdefault(os.stat(folder).st_dev, folder)
    return list(found.values())


def _add_up_few(places: Iterator[str]) -> tuple[int, int] | None:
    """Kilobytes and entries of these places; None if they are more than a few, or go too deep."""
    blocks, waiting, count = 0, [], 0
    with contextlib.suppress(OSError):
        for place in places:
            waiting.append(place)
            while waiting:
                path = waiting.pop()
                state = os.lstat(path)
                blocks, count = blocks + state.st_blocks, count + 1
                if count > FEW:
                    return None
                if stat.S_ISDIR(state.st_mode):
                    waiting += [entry.path for entry in os.scandir(path)]
        return blocks // 2, count
    return None
