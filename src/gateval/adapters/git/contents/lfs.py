"""Finds Git LFS pointers in a tree: an agent started on a pointer would be judged unfairly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateval.adapters.git.contents.objects import read_blobs, sizes
from gateval.adapters.git.run import Git
from gateval.domain.repository.lfs import POINTER_LIMIT, is_lfs_pointer
from gateval.domain.repository.tree import TreeEntry


def pointers(git: Git, entries: Mapping[str, TreeEntry], paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of `paths`, in their order, whose file in `entries` is a Git LFS pointer.

    Paths that are not in the tree, or no regular files, are none. Only small blobs are read.
    """
    files = {path: entries[path].oid for path in paths if path in entries and entries[path].is_file}
    oids = list(dict.fromkeys(files.values()))
    small = [oid for oid, size in sizes(git, oids).items() if size < POINTER_LIMIT]
    contents = read_blobs(git, small, POINTER_LIMIT)
    found = {oid for oid, content in contents.items() if content and is_lfs_pointer(content)}
    return tuple(path for path, oid in files.items() if oid in found)
