"""A tree of one revision: which paths there are, and what stands at each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

LINK_MODE = "120000"
FOLDER_MODE = "040000"


class TreeEntry(NamedTuple):
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

    @property
    def is_folder(self) -> bool:
        """A folder without files, which only a submodule can be."""
        return self.mode == FOLDER_MODE


Tree = Mapping[str, TreeEntry]
"""All entries of a revision by path (`os.fsdecode`d, relative to the repository root)."""


def changed_paths(one: Tree, other: Tree) -> frozenset[str]:
    """Return the paths whose entry differs, or that only one of the trees has."""
    return frozenset(path for path, _ in one.items() ^ other.items())


def below(paths: Sequence[str], root: str) -> Sequence[str]:
    """Return those of the sorted paths that are `root` or stand in it; "" is the whole tree."""
    if not root:
        return paths
    start = bisect_left(paths, f"{root}/")
    inside = paths[start : bisect_left(paths, f"{root}0")]  # "0" follows "/"
    here = bisect_left(paths, root)
    return (root, *inside) if paths[here : here + 1] == [root] else inside


def folders_of(path: str) -> Iterator[str]:
    """Yield the folders around a path, outermost first, but not the root."""
    return (path[:at] for at, char in enumerate(path) if char == "/")


def under(path: str, roots: Collection[str]) -> bool:
    """Whether a path is one of the roots or lies below one; the root "" holds everything."""
    return "" in roots or path in roots or any(folder in roots for folder in folders_of(path))


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
