"""A set-up as a layer: what it sees, and the digest by which Agents and sides share it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gateval.domain.base import digest
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.plan.absent import Surroundings
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.repository.file_rules import file_rules
from gateval.domain.repository.paths import path_text, resolve_pattern
from gateval.domain.repository.patterns import has_wildcard
from gateval.domain.repository.tree import Tree, TreeEntry, under


@dataclass(frozen=True)
class LayerInputs:
    """The files that a layer's set-up sees, by their path from the repository's root.

    `root` is the folder of the repository that the layer's own root stands for: the working
    directory if all inputs lie there, so that Agents in several folders can share a layer.
    """

    entries: Mapping[str, TreeEntry]
    root: str
    cwd: str
    around: Surroundings

    @property
    def inside(self) -> str:
        """The working directory as seen from the layer's root."""
        return "" if self.root else self.cwd

    def digest(self, spec: LayerSpec, surroundings: Iterable[str]) -> str:
        """Hash all that the outcome depends on; `surroundings` are environment and platform."""
        cut = len(self.root) + 1 if self.root else 0
        files = sorted(
            f"{path_text(path[cut:])}\0{entry.mode} {entry.oid}"
            for path, entry in self.entries.items()
        )
        parts = (files, [self.inside], spec.run, spec.creates, sorted(surroundings))
        return digest([[*part] for part in parts])


def layer_inputs(
    agent: AgentDefinition, spec: LayerSpec, tree: Tree, hidden: Collection[str]
) -> LayerInputs:
    """Return what an Agent's layer sees at one revision. `hidden` is what no candidate gets."""
    roots: set[str] = set()
    patterns: set[str] = set()
    for written in spec.inputs:
        path = resolve_pattern(agent.cwd, written)
        if path is not None:
            (patterns if has_wildcard(path) else roots).add(path)
    given = file_rules(roots, patterns, None).contents(tree, hidden).paths
    below = all(under(path, {agent.cwd}) for path in given)
    outside = tree.keys() - set(given) - set(hidden)
    return LayerInputs(
        entries={path: tree[path] for path in given},
        root=agent.cwd if below else "",
        cwd=agent.cwd,
        around=Surroundings(given, outside),
    )
