"""One revision as it was read: its tree, its manifests, and the files they refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import ScriptedModel
from gateval.domain.manifests.fixture import all_own_roots
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, GateConfig, Policy
from gateval.domain.paths import match_any, resolve_pattern
from gateval.domain.problems import Problem, SourceLocation, sort_problems
from gateval.domain.tree import Revision, Tree, below, sorted_paths, under

Made = TypeVar("Made")

OWN_FOLDER = ".gateval/"
"""Holds what belongs to the gate: scripted models, and results of local runs."""


@dataclass(frozen=True)
class Snapshot:
    """One revision as far as it was read.

    `manifest_paths` are the files that were recognised as manifests (their meaning counts, not
    their bytes), and the files of cases that they name. `prompts` maps the paths of system prompt
    files to their text, `links` those of symbolic links to their targets as stored. `sizes` are
    those of contents that may have moved, in bytes by object id. `meanings` are digests of files
    that count by their meaning, by path. `problems` is what is wrong with the manifests.
    """

    revision: Revision
    tree: Tree
    catalogue: Catalogue
    manifest_paths: frozenset[str] = frozenset()
    prompts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, ScriptedModel] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def locked(self) -> frozenset[str]:
        """The sealed files for which there is no key."""
        return self.catalogue.locked

    @cached_property
    def uncontained(self) -> tuple[Problem, ...]:
        """What is wrong beyond single suites."""
        apart = self.catalogue.contained_problems
        return tuple(one for one in self.problems if one not in apart)

    @cached_property
    def watched_by_name(self) -> Callable[[str], bool]:
        """Whether an Agent's `watch` or `include` names a path itself, or a folder or pattern in
        `.gateval/`.

        A pattern that merely takes in all that stands around (`**`) does not name it.
        """
        named: set[str] = set()
        for agent in self.catalogue.agents:
            for written in (*(agent.spec.watch or ()), *agent.spec.include):
                named.add(resolve_pattern(agent.folder, written) or "")
        below = (*(one for one in named if f"{one}/".startswith(OWN_FOLDER)),)
        own = match_any(below) if below else None
        return lambda path: (
            path in named or (own is not None and path.startswith(OWN_FOLDER) and own(path))
        )

    @cached_property
    def check_roots(self) -> frozenset[str]:
        """The folders and files that are the own ones of people's checks, or of playgrounds."""
        return self.own_check_roots | self.ground_roots

    @cached_property
    def own_check_roots(self) -> frozenset[str]:
        """Those of people's checks alone: no playground gets them."""
        return all_own_roots(self.catalogue.fixtures, self.tree)

    @cached_property
    def ground_roots(self) -> frozenset[str]:
        """Those of playgrounds alone."""
        return frozenset(
            root
            for fixture in self.catalogue.fixtures
            if fixture.playground is not None
            for root in fixture.playground.own_roots(fixture.folder)
        )

    def is_hidden(self, path: str) -> bool:
        """Whether no candidate gets this file: a manifest, its cases, the gate config, one in
        `.gateval/`, or one of a check's or a playground's own.

        They say what is asked, not how it is answered: a program that reads them could be changed
        without anybody noticing, or read its own assertions. What `watch` or `include` names is
        not hidden, but the gate config always is, and so are checks.
        """
        if path == GATE_CONFIG_PATH or (self.check_roots and under(path, self.check_roots)):
            return True
        own = path in self.manifest_paths or path.startswith(OWN_FOLDER)
        return own and not self.watched_by_name(path)

    @cached_property
    def paths(self) -> Sequence[str]:
        """All paths of the tree, sorted, so that a folder's files stand together."""
        return sorted_paths(self.tree)

    @cached_property
    def submodules(self) -> Sequence[str]:
        """The paths of all submodules, sorted."""
        return [path for path in self.paths if self.tree[path].is_submodule]

    @cached_property
    def _once(self) -> dict[tuple[str, int], tuple[object, Any]]:
        return {}

    def once(self, what: str, of: object, make: Callable[[], Made]) -> Made:
        """Return `what` of this very object in this revision, made once: neither changes.

        What is made must not hold the snapshot: it would live on in a circle.
        """
        known = self._once.get((what, id(of)))
        if known is None:
            known = self._once[what, id(of)] = (of, make())  # held, so that no other gets its id
        made: Made = known[1]
        return made

    def with_problems(self, more: Iterable[Problem]) -> Snapshot:
        """Return it with further problems; as it is, with all that was made of it, for none."""
        found = sort_problems((*self.problems, *more))
        return self if found == self.problems else replace(self, problems=found)

    def below(self, root: str) -> Sequence[str]:
        """The paths of a file or of everything in a folder; "" is the whole repository."""
        return below(self.paths, root)


@dataclass(frozen=True)
class GateRules:
    """The policy that applies, where it was read, and the base tip it came from.

    `absent` says that the base tip has no gate config. `edit` is what the change does to it; None
    if it leaves that alone. `ignored` are the sentences on what of it does not count; `unread` says
    why its rules could not be read whole.
    """

    policy: Policy
    source: str
    base_tip: Revision | None
    absent: bool = False
    edit: RulesEdit | None = None
    ignored: tuple[str, ...] = ()
    unread: str = ""


@dataclass(frozen=True)
class RulesEdit:
    """The gate config before and after a change, and on the base tip, which decides.

    `before` is the merge-base's; None if that cannot be read. `places` are those of head's keys.
    An absent file means the defaults; `first` says that the change brings one where there was none.
    """

    before: GateConfig | None
    after: GateConfig
    tip: GateConfig
    file: str
    places: Mapping[str, SourceLocation] = field(default_factory=dict)
    first: bool = False
