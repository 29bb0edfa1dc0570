"""Who may have written here: owner and rights of a folder, of the way to it, and of a file.

What others may write is not trusted. What is ours and only lets a group write, as with umask 002,
is mended: a signature says of the content whose it is.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import re
import stat
from pathlib import Path

from gateval.domain.repository.paths import show_path

LINKS = 40
"""So many links are followed on a way, as by Linux."""

_OWN = re.compile(r"[0-9a-f]{64}\.layer|\.new-\w+|\.{1,2}gitignore(?:\.\w+)?")
"""What the gate writes into a folder of layers."""

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def trusted_owners(workspace: Path) -> frozenset[int]:
    """Return whose files count as ours: root's and our own, as root also the workspace's owner's.

    In a container the gate is root, and what a cache put back belongs to the runner's user.
    """
    own = os.geteuid()
    return frozenset({0, own} if own else {0, workspace.stat().st_uid})


def refuse_way(path: Path, owners: frozenset[int], *, mended: bool = False) -> None:
    """Raise `PermissionError` if others may put something else in the place of this path.

    Looks at each folder on the way that is there, links and where they lead among them. If the last
    one is going to be `mended`, a group may write to it, but never all.
    """
    found, waiting, links = Path("/"), [*reversed(path.parts[1:])], 0
    _refuse_folder(found, found.lstat(), owners)
    while waiting:
        part = waiting.pop()
        below = found.parent if part == ".." else found / part
        try:
            info = below.lstat()
        except FileNotFoundError:
            return
        if info.st_uid not in owners:
            raise _belongs(below)
        if not stat.S_ISLNK(info.st_mode):
            last = mended and not waiting
            _refuse_folder(below, info, owners, mended=last)
            found = below
            continue
        links += 1
        leads = below.readlink()
        if links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        found = Path("/") if leads.is_absolute() else found
        waiting += [*reversed(leads.parts[1:] if leads.is_absolute() else leads.parts)]


def mend(
    opened: int, path: Path, owners: frozenset[int], rights: int, *, new: bool = False
) -> None:
    """Leave an open folder or file to its owner alone, with these rights.

    Raises `PermissionError` if it is somebody else's, or all may write to it and it is not `new`:
    then they may have.
    """
    info = os.fstat(opened)
    if info.st_uid not in owners:
        raise _belongs(path)
    if info.st_mode & stat.S_IWOTH and not new:
        raise _open_to_others(path, rights)
    if info.st_mode & 0o077 and os.geteuid() in {0, info.st_uid}:
        os.fchmod(opened, rights)
    elif info.st_mode & _OTHERS:
        raise _open_to_others(path, rights)


def mend_folder(opened: int, path: Path, owners: frozenset[int], *, new: bool = False) -> None:
    """Leave an open folder of layers to its owner alone, as `mend` does, unless it holds other
    things: then it stays as it is. Raises `PermissionError`.
    """
    if not refuse_shared(opened, path):
        mend(opened, path, owners, 0o700, new=new)


def refuse_shared(opened: int, path: Path) -> bool:
    """Say whether other things lie in an open folder, such as /var/cache, so that it serves others.

    Raises `PermissionError` if they may write to such a one.
    """
    shared = not all(_OWN.fullmatch(name) for name in os.listdir(opened))
    if shared and os.fstat(opened).st_mode & _OTHERS:
        shown = show_path(str(path))
        said = f"others may write to {shown}, which holds other things, too: name one of its own"
        raise PermissionError(errno.EPERM, said)
    return shared


def make_private(path: Path) -> None:
    """Make a folder, and those around it that are missing, for us alone."""
    for folder in (*reversed(path.parents), path):
        try:
            folder.mkdir(mode=0o700)
        except OSError:
            if not folder.is_dir():
                raise


def _refuse_folder(
    path: Path, info: os.stat_result, owners: frozenset[int], *, mended: bool = False
) -> None:
    if info.st_uid not in owners:
        raise _belongs(path)
    if mended and not info.st_mode & stat.S_IWOTH:
        return
    if mended:
        raise _open_to_others(path, 0o700)
    loose = info.st_mode & _OTHERS
    if loose & stat.S_IWGRP and _private_group(info) and not _listed(path):
        loose &= ~stat.S_IWGRP
    if loose and stat.S_ISDIR(info.st_mode) and not info.st_mode & stat.S_ISVTX:
        raise _open_to_others(path, 0o755)


def _private_group(info: os.stat_result) -> bool:
    """Whether a folder's group is its owner's own, of nobody else: the custom behind umask 002."""
    try:
        owner = pwd.getpwuid(info.st_uid)
        name, primary = owner.pw_name, owner.pw_gid
    except KeyError:
        name, primary = "", info.st_uid
    try:
        group = grp.getgrgid(info.st_gid)
    except KeyError:
        return info.st_gid == primary == info.st_uid
    own = info.st_gid == primary and group.gr_name == name and set(group.gr_mem) <= {name}
    return own and all(
        one.pw_uid == info.st_uid for one in pwd.getpwall() if one.pw_gid == info.st_gid
    )


def _listed(path: Path) -> bool:
    """Whether a list names who else may write (POSIX ACL): its mask looks like the group's mode."""
    try:
        return bool(os.getxattr(path, "system.posix_acl_access", follow_symlinks=False))
    except (AttributeError, OSError):
        return False


def _belongs(path: Path) -> PermissionError:
    return PermissionError(errno.EPERM, f"{show_path(str(path))} belongs to another user")


def _open_to_others(path: Path, rights: int) -> PermissionError:
    shown = show_path(str(path))
    said = f"others may write to {shown} (leave it to its owner: chmod {rights:o} {shown})"
    return PermissionError(errno.EPERM, said)
