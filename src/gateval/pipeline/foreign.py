"""Files of other repositories, as manifests name them: pinned by the revision that names them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.repository.sources import LOCK_PATH, GitFile, LockedFile, git_file, read_lock
from gateval.domain.text.quoting import quote
from gateval.errors import RepositoryError
from gateval.ports.sources import Sources

_LOCK = f"Run `gateval lock`, and commit {LOCK_PATH}."


class Pinned(NamedTuple):
    """Fulfils `ports.sources.ForeignFiles`: what the lock says, from one of the hosts allowed.

    Without `sources` nothing is fetched; `closed` is the sentence that says why.
    """

    sources: Sources | None
    closed: str = ""

    def read(self, url: str, lock: bytes | None, hosts: Sequence[str], *, limit: int) -> bytes:
        """See the port."""
        file = _allowed(url, hosts)
        locked = read_lock(lock).files.get(url) if lock is not None else None
        if locked is None:
            raise ValueError(f"{quote(url)} is not pinned, so it could change unseen. {_LOCK}")
        if not file.may_be(locked):
            raise ValueError(f"{LOCK_PATH} pins another file for {quote(url)}. {_LOCK}")
        if self.sources is None:
            raise RepositoryError(f"{url} was not read: {self.closed}")
        data = self.sources.read(file.repository, locked.commit, locked.path, limit=limit)
        if not locked.holds(data):
            raise RepositoryError(f"{url} is not what {LOCK_PATH} says.", hint=_LOCK)
        return data


class Pinning:
    """Fulfils `ports.sources.ForeignFiles`: reads what is there now, and notes it in `files`."""

    def __init__(self, sources: Sources) -> None:
        self.files: dict[str, LockedFile] = {}
        self._sources = sources

    def read(self, url: str, lock: bytes | None, hosts: Sequence[str], *, limit: int) -> bytes:
        """See the port; the lock that is there is not asked."""
        del lock
        file = _allowed(url, hosts)
        for ref, path in file.choices:
            commit = self._sources.commit(file.repository, ref)
            if commit is not None:
                data = self._sources.read(file.repository, commit, path, limit=limit)
                digest = hashlib.sha256(data).hexdigest()
                self.files[url] = LockedFile(commit=commit, path=path, sha256=digest)
                return data
        names = " or ".join(quote(ref) for ref, _ in file.choices)
        raise ValueError(f"{file.repository} has no branch or tag {names}. Correct the URL.")


def _allowed(url: str, hosts: Sequence[str]) -> GitFile:
    """Return what a URL names. Raises `ValueError` for a host that no rule allows."""
    file = git_file(url)
    if file.host not in hosts:
        raise ValueError(
            f"{quote(url)} is a file of another repository, and policy.sources of "
            f".github/gateval.yml on the target branch does not name {file.host}. Add it there, or "
            "copy the file into this repository."
        )
    return file
