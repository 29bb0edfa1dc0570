"""Which files of a revision an Agent's candidates get, short enough to travel with a plan.

The rules and not the list of paths: a closure may hold ten thousand files, on two sides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gateval.domain.base import Value
from gateval.domain.repository.paths import path_of_text, path_text
from gateval.domain.repository.patterns import folder_of, match_any
from gateval.domain.repository.tree import Tree, below, folders_of


class FileRules(Value):
    """Files and folders (`roots`, "" is the whole repository) and patterns, from the root.

    `folder` is where the candidate works, links followed; it is there even if nothing is in it.
    All three are as `path_text` gives them.
    """

    roots: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    folder: str = ""

    def contents(self, tree: Tree, hidden: Collection[str]) -> Contents:
        """Return what of this tree a candidate gets. `hidden` is what none gets."""
        paths = sorted(tree)
        roots = {path_of_text(root) for root in self.roots}
        found = {path for root in roots for path in below(paths, root)}
        for pattern in map(path_of_text, self.patterns):
            found |= set(filter(match_any([pattern]), below(paths, folder_of(pattern))))
        kept = {path for path in found if path not in hidden}
        folders = {path.rpartition("/")[0] for path in found - kept}
        folder = path_of_text(self.folder)
        if not any(step in tree for step in (*folders_of(folder), folder)):
            folders.add(folder)
        return Contents(paths=tuple(sorted(kept)), folders=tuple(sorted(folders - {""})))


@dataclass(frozen=True)
class Contents:
    """The paths of files, links and submodules, and of folders that are there in any case."""

    paths: tuple[str, ...]
    folders: tuple[str, ...]


def file_rules(roots: Collection[str], patterns: Collection[str], folder: str | None) -> FileRules:
    """Make rules of paths as trees have them; what lies in another root is left out."""
    kept = {root for root in roots if not any(step in roots for step in _around(root))}
    return FileRules(
        roots=tuple(sorted(map(path_text, kept))),
        patterns=tuple(sorted(map(path_text, patterns))),
        folder=path_text(folder or ""),
    )


def _around(path: str) -> Iterator[str]:
    if path:
        yield ""
        yield from folders_of(path)
