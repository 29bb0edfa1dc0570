"""Whether a kept layer is to be believed: who may have written it, and its signature.

On a machine of one's own the key is a file that the gate makes, where no candidate sees it. In CI
it is a secret of its own: a provider's key would do, but is known to more than the gate.

What others may write is not trusted. What is ours and only lets a group write, as with umask 002,
is mended: a signature says of the content whose it is.
"""

from __future__ import annotations

import errno
import grp
import hashlib
import hmac
import os
import pwd
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gateval.domain.paths import show_path

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


FORMAT = "gateval-layer/2"
KEY_FILE = "layers.key"

_KEY = re.compile(rb"[0-9a-f]{64}\n")
_BYTES = 32
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def signature(key: bytes, name: str, digest: str) -> str:
    """Return the signature of a pack: of its format, the layer's name, and the digest of its list,
    which holds the digest of each file.
    """
    signed = f"{FORMAT}\0{name}\0{digest}".encode()
    return hmac.new(key, signed, hashlib.sha256).hexdigest()


def is_signed(key: bytes, name: str, digest: str, said: str) -> bool:
    """Whether this is the pack's signature; how long that takes tells nothing of it."""
    return hmac.compare_digest(signature(key, name, digest).encode(), said.encode())


def key_path(environ: Mapping[str, str], homes: list[Path]) -> Path:
    """Return where the key of this user's layers lies: in the state folder of the XDG standard."""
    state = Path(environ.get("XDG_STATE_HOME", ""))
    home = homes[0] if homes else Path("/")
    return (state if state.is_absolute() else home / ".local/state") / "gateval" / KEY_FILE


def own_key(path: Path, workspace: Path, *, make: bool) -> bytes:
    """Return the key in this file, made if need be. Raises `OSError` if others may know it.

    One that others may read is replaced, and what it has signed is worth nothing.
    """
    if path.resolve().is_relative_to(workspace):
        said = f"its key would be {show_path(str(path))}, in the repository: set XDG_STATE_HOME"
        raise PermissionError(errno.EPERM, said)
    owners = frozenset({0, os.geteuid()})
    refuse_way(path.parent, owners)
    if make:
        make_private(path.parent)
        refuse_way(path.parent, owners)
    for _ in range(3 if make else 1):
        with suppress(FileNotFoundError):
            return _read(path, make=make)
        if make:
            _write(path)
    raise FileNotFoundError(errno.ENOENT, f"there is no key {show_path(str(path))} yet")


def _read(path: Path, *, make: bool) -> bytes:
    try:
        opened = os.open(path, _READ)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise _unusable(path, "is a link") from error
        raise
    with os.fdopen(opened, "rb") as file:
        info = os.fstat(opened)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
            raise _unusable(path, "is no file of ours")
        content = file.read(len("\n") + 2 * _BYTES + 1)
    if info.st_mode & 0o077 and make:
        path.unlink()
        raise FileNotFoundError(errno.ENOENT, "others could read it")
    if info.st_mode & 0o077 or not _KEY.fullmatch(content):
        raise _unusable(path, "can be read by others, or holds no key")
    return bytes.fromhex(content.decode())


def _write(path: Path) -> None:
    """Make the key, whole or not at all; where another run is faster, its key stays."""
    passing = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(passing, _NEW, 0o600), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(_BYTES).hex().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(passing, path)
    finally:
        passing.unlink(missing_ok=True)


def _unusable(path: Path, why: str) -> PermissionError:
    shown = show_path(str(path))
    return PermissionError(errno.EPERM, f"its key {shown} {why}; remove it, and a new one is made")
