"""Tells Git LFS pointers from real content: an agent started on a pointer would be judged unfairly.

Format: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md (pointers are under 1,024 bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateval.adapters.git.objects import read_blobs, sizes
from gateval.adapters.git.run import Git
from gateval.domain.tree import Entry

_SIZE_BELOW = 1024
_FIRST_LINE = b"version https://git-lfs.github.com/spec/v1"


def pointers(git: Git, entries: Mapping[str, Entry], paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of `paths`, in their order, whose file in `entries` is a Git LFS pointer.

    Paths that are not in the tree, or no regular files, are none. Only small blobs are read.
    """
    files = {path: entries[path].oid for path in paths if path in entries and entries[path].is_file}
    oids = list(dict.fromkeys(files.values()))
    small = [oid for oid, size in sizes(git, oids).items() if size < _SIZE_BELOW]
    contents = read_blobs(git, small, _SIZE_BELOW)
    found = {
        oid for oid, content in contents.items() if content and content.startswith(_FIRST_LINE)
    }
    return tuple(path for path, oid in files.items() if oid in found)
