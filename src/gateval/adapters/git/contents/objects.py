"""Reads contents out of git's object store: any number of blobs from one `git cat-file`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from gateval.adapters.git.cat_file import asked, looked_up
from gateval.adapters.git.explain import FULL_CONTENT
from gateval.adapters.git.process import GitProcess
from gateval.adapters.git.run import Git
from gateval.domain.repository.lfs import POINTER_LIMIT, is_lfs_pointer
from gateval.domain.repository.tree import TreeEntry
from gateval.errors import RepositoryError

_PIECE = 1024 * 1024


class Batch:
    """Blobs on their way out of one `git cat-file --batch`, in the order they were asked for.

    For each blob call `size`, then `read` or `copy` with that size.
    """

    def __init__(self, process: GitProcess, count: int) -> None:
        self._process = process
        self._left = count

    def _passed(self) -> None:
        self._left -= 1
        self._process.answered = not self._left

    def size(self, oid: str) -> int:
        """Return the size of the next blob, which has to be `oid`, in bytes."""
        header = self._process.out.readline()
        if not header:
            raise self._process.failure()
        return _size(header, oid)

    def read(self, size: int) -> bytes:
        """Return the content of the blob whose size was just given."""
        content = self._process.out.read(size + 1)
        if len(content) != size + 1:
            raise self._process.failure()
        self._passed()
        return content[:-1]

    def copy(self, size: int, target: int) -> None:
        """Write the content of the blob whose size was just given to the open file `target`."""
        left = size
        while left > 0:
            piece = self._process.out.read(min(left, _PIECE))
            if not piece:
                raise self._process.failure()
            left -= len(piece)
            while piece:
                piece = piece[os.write(target, piece) :]
        self._process.out.read(1)
        self._passed()


@contextmanager
def batch(git: Git, oids: Iterable[str]) -> Iterator[Batch]:
    """Start reading these blobs; leaving early is fine."""
    wanted = tuple(oids)
    with asked(git, "--batch", _lines(wanted)) as process:
        yield Batch(process, len(wanted))


def read_blobs(git: Git, oids: Iterable[str], limit: int) -> dict[str, bytes | None]:
    """Return the contents of these blobs; None for one larger than `limit` bytes.

    One process. Only when a blob is too large, two more: the first tells the sizes of the rest,
    so that the second need not carry what nobody wants.
    """
    wanted = list(dict.fromkeys(oids))
    found: dict[str, bytes | None] = dict(_read_until(git, wanted, limit))
    rest = wanted[len(found) :]
    if rest:
        small = [oid for oid, size in sizes(git, rest).items() if size <= limit]
        found |= dict.fromkeys(rest)
        found |= _read_until(git, small, limit)
    return found


def sizes(git: Git, oids: Sequence[str]) -> dict[str, int]:
    """Return the size of each of these blobs in bytes. One process, no content."""
    if not oids:
        return {}
    headers = looked_up(git, _lines(oids))
    return {oid: _size(header, oid) for oid, header in zip(oids, headers, strict=True)}


def lfs_pointers(
    git: Git, entries: Mapping[str, TreeEntry], paths: Iterable[str]
) -> tuple[str, ...]:
    """Return those of `paths`, in their order, whose file in `entries` is a Git LFS pointer.

    An agent started on a pointer would be judged unfairly. Paths that are not in the tree, or no
    regular files, are none. Only small blobs are read.
    """
    files = {path: entries[path].oid for path in paths if path in entries and entries[path].is_file}
    oids = list(dict.fromkeys(files.values()))
    small = [oid for oid, size in sizes(git, oids).items() if size < POINTER_LIMIT]
    contents = read_blobs(git, small, POINTER_LIMIT)
    found = {oid for oid, content in contents.items() if content and is_lfs_pointer(content)}
    return tuple(path for path, oid in files.items() if oid in found)


def _read_until(git: Git, oids: Sequence[str], limit: int) -> Iterator[tuple[str, bytes]]:
    """Give each blob in order and end before the first that is larger than `limit`."""
    if not oids:
        return
    with batch(git, oids) as blobs:
        for oid in oids:
            size = blobs.size(oid)
            if size > limit:
                return
            yield oid, blobs.read(size)


def _size(header: bytes, oid: str) -> int:
    """Parse `<oid> blob <size>`; the other answer is `<oid> missing`."""
    words = header.split()
    if words[-1] == b"missing":
        raise RepositoryError(f"The object {oid} is missing here.", hint=FULL_CONTENT)
    if len(words) != 3 or words[1] != b"blob":
        raise RepositoryError(f"The object {oid} is not the content of a file.")
    return int(words[2])


def _lines(oids: Iterable[str]) -> bytes:
    return "".join(f"{oid}\n" for oid in oids).encode()
