"""Signatures of kept layers: whoever can write a file can write its digest, but not this.

On a machine of one's own the key is a file that the gate makes, where no candidate sees it. In CI
it is a secret of its own: a provider's key would do, but is known to more than the gate.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gateval.adapters.layers.trust import make_private, refuse_way
from gateval.domain.repository.paths import show_path

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
