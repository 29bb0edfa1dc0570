"""A tree of one revision: which paths there are, and what stands at each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

LINK_MODE = "120000"


class Entry(NamedTuple):
    """One entry of a tree: git's mode as text (`100644`, `120000`, `160000`, ...) and object id."""

    mode: str
    oid: str

    @property
    def is_file(self) -> bool:
        """A regular file, executable or not."""
        return self.mode in {"100644", "100755"}

    @property
    def is_symlink(self) -> bool:
        """A symbolic link."""
        return self.mode == LINK_MODE

    @property
    def is_submodule(self) -> bool:
        """A commit of another repository."""
        return self.mode == "160000"


Tree = Mapping[str, Entry]
"""All entries of a revision by path (`os.fsdecode`d, relative to the repository root)."""


def changed_paths(one: Tree, other: Tree) -> frozenset[str]:
    """Return the paths whose entry differs, or that only one of the trees has."""
    return frozenset(path for path, _ in one.items() ^ other.items())


def has_folder(tree: Tree, path: str) -> bool:
    """Whether an entry stands below `path`, whose links are not followed; the root always is one.

    Git gives entries sorted, so mostly a look at one place tells.
    """
    prefix, paths = f"{path}/", list(tree)
    here = bisect_left(paths, prefix)
    return (
        not path
        or any(found.startswith(prefix) for found in paths[here : here + 1])
        or any(found.startswith(prefix) for found in paths)
    )
