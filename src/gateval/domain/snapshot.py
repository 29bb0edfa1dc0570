"""What is read of one revision: its tree, its manifests, and the files they refer to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gateval.domain.catalogue import Catalogue
from gateval.domain.manifests.scripted import ScriptedModel
from gateval.domain.place import Problem
from gateval.domain.plan import Revision
from gateval.domain.tree import Tree


@dataclass(frozen=True)
class Snapshot:
    """One revision as far as it was read.

    `manifest_paths` are the files that were recognised as manifests (their meaning counts, not
    their bytes). `prompts` maps the paths of system prompt files to their text, `links` those of
    symbolic links to their targets as stored. `problems` is what is wrong with the manifests.
    """

    revision: Revision
    tree: Tree
    catalogue: Catalogue
    manifest_paths: frozenset[str] = frozenset()
    prompts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, ScriptedModel] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @cached_property
    def paths(self) -> Sequence[str]:
        """All paths of the tree, sorted, so that a folder's files stand together."""
        return sorted(self.tree)

    def below(self, root: str) -> Sequence[str]:
        """The paths of a file or of everything in a folder; "" is the whole repository."""
        if not root:
            return self.paths
        start = bisect_left(self.paths, f"{root}/")
        inside = self.paths[start : bisect_left(self.paths, f"{root}0")]  # "0" follows "/"
        return (root, *inside) if root in self.tree else inside
