"""A folder as one file, and back: a digest, a line of facts, and an uncompressed tar.

Whoever keeps the file (actions/cache) compresses it. What a set-up made is hostile until proven
otherwise, and a file from a cache doubly so: only folders, files and links are taken, links are
made last, so that nothing is ever written through one, and no name leads out.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

_HEX = 64
_PIECE = 1024 * 1024
_MOST_FACTS = 4 * 1024 * 1024
ENTRIES = 500_000
"""Files, folders and links of one layer."""


class NotPacked(Exception):
    """A folder that cannot be packed, or a file that is no whole pack; the text says why."""


def pack(root: Path, name: str, file: IO[bytes], most: int) -> None:
    """Write the folder at `root` into an empty file, as the pack called `name`.

    Raises `NotPacked` for what cannot be kept, or is larger than `most` bytes; `OSError`.
    """
    file.write(b"0" * _HEX + b"\n")
    entries = list(_entries(root))
    size = sum(info.st_size for _, info in entries if stat.S_ISREG(info.st_mode))
    if size > most or len(entries) > ENTRIES:
        raise NotPacked(f"it is larger than {most // 2**20:,} MiB or {ENTRIES:,} files")
    links = [
        (path, str((root / path).readlink())) for path, i in entries if stat.S_ISLNK(i.st_mode)
    ]
    facts = {"name": name, "leans_on": _outside(root, links)}
    file.write(json.dumps(facts, sort_keys=True).encode() + b"\n")
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, info in entries:
            _add(tar, root, path, info)
    file.seek(_HEX + 1)
    digest = _digest(file)
    file.seek(0)
    file.write(digest.encode())


def unpack(file: IO[bytes], name: str, root: Path, most: int) -> None:
    """Fill the empty folder `root` with the pack, once its digest is found right.

    Raises `NotPacked` when it is another one, was changed, has more than `most` bytes, or leans on
    what is no longer here.
    """
    if os.fstat(file.fileno()).st_size > most:
        raise NotPacked("it is too large")
    said = file.read(_HEX + 1)
    if _digest(file) != said[:_HEX].decode("ascii", "replace") or said[_HEX:] != b"\n":
        raise NotPacked("its content does not fit its digest")
    file.seek(_HEX + 1)
    try:
        facts = json.loads(file.readline(_MOST_FACTS))
        if facts["name"] != name:
            raise NotPacked("it is the content of another layer")
        _refuse_changed(facts["leans_on"])
        _extract(file, root)
    except (ValueError, KeyError, TypeError, AttributeError, tarfile.TarError) as error:
        raise NotPacked(f"it cannot be read: {error}") from error


def _entries(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and status of all that is below a folder, folders before what is in them."""
    waiting = [""]
    while waiting:
        at = waiting.pop()
        with os.scandir(root / at) as found:
            for entry in sorted(found, key=lambda one: one.name):
                path = f"{at}/{entry.name}" if at else entry.name
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode):
                    waiting.append(path)
                elif not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
                    raise NotPacked("it holds something that is no file, folder or link")
                yield path, info


def _add(tar: tarfile.TarFile, root: Path, path: str, info: os.stat_result) -> None:
    member = tarfile.TarInfo(path)
    member.mode, member.mtime = stat.S_IMODE(info.st_mode) & 0o777, int(info.st_mtime)
    if stat.S_ISDIR(info.st_mode):
        member.type = tarfile.DIRTYPE
        tar.addfile(member)
    elif stat.S_ISLNK(info.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str((root / path).readlink())
        tar.addfile(member)
    else:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(root / path, flags), "rb") as source:
            member.size = os.fstat(source.fileno()).st_size
            tar.addfile(member, source)


def _extract(file: IO[bytes], root: Path) -> None:
    links: list[tarfile.TarInfo] = []
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for count, member in enumerate(tar):
            parts = member.name.split("/")
            if count >= ENTRIES or {"", ".", ".."} & set(parts) or "\0" in member.name:
                raise NotPacked("a name in it leads out, or there are too many")
            target = root / member.name
            if member.isdir():
                target.mkdir()
                target.chmod(0o755)
            elif member.issym():
                links.append(member)
            elif member.isreg():
                _write(tar, member, target)
            else:
                raise NotPacked("it holds something that is no file, folder or link")
    for link in links:
        (root / link.name).symlink_to(link.linkname)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    source = tar.extractfile(member)
    with os.fdopen(os.open(target, flags, 0o600), "wb") as copy:
        if source is not None:
            shutil.copyfileobj(source, copy, _PIECE)
        os.fchmod(copy.fileno(), member.mode & 0o755 | 0o644)
        copy.flush()
        os.utime(copy.fileno(), (member.mtime, member.mtime))


def _outside(root: Path, links: list[tuple[str, str]]) -> dict[str, Any]:
    """Return what links lead to outside of the folder, and what is there: Python, above all."""
    found: dict[str, Any] = {}
    for path, target in links:
        leads = os.path.normpath((root / path).parent / target)
        if not Path(leads).is_relative_to(root):
            found[leads] = _there(leads)
    return found


def _there(path: str) -> list[Any]:
    real = os.path.realpath(path)
    try:
        return [real, Path(real).stat().st_size]
    except OSError:
        return [real, -1]


def _refuse_changed(leans_on: dict[str, Any]) -> None:
    for path, before in leans_on.items():
        if _there(path) != before:
            raise NotPacked("it leans on a program of this machine that has changed")


def _digest(file: IO[bytes]) -> str:
    """Return the SHA-256 of the rest of a file, in hex."""
    return hashlib.file_digest(cast("io.BufferedReader", file), "sha256").hexdigest()
