"""What candidates start from: the files of their Agent at one revision, and nothing else.

Each is made once, and only when a candidate needs it. Its folder has a random name, which tells
nobody which side it is of.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path

from gateval.candidates.once import Once
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.manifests.fixture import CheckFiles, own_checks
from gateval.domain.manifests.messages import DATA_LIMIT
from gateval.domain.paths import show_path
from gateval.domain.plan.absent import Surroundings, lacking_sentence
from gateval.domain.plan.plan import AgentDefinition, LayerInputs, Plan, layer_inputs
from gateval.domain.tree import Contents, FileRules, Revision, Tree, folders_of
from gateval.domain.trials.trial import Side
from gateval.errors import RepositoryError
from gateval.ports.repository import Repository


class ClosureExports:
    """Gives the folders that hold the files of an Agent on its side, and of an own check."""

    def __init__(self, repository: Repository, plan: Plan, scratch: Path) -> None:
        self._repository = repository
        self._plan = plan
        self._scratch = scratch
        self._hidden = _hidden(plan)
        self._contents: dict[Hashable, Contents] = {}
        self._around: dict[tuple[Side, FileRules], Surroundings] = {}
        self._made: Once[Path] = Once()

    async def folder(self, agent: AgentDefinition, links: Mapping[str, Path]) -> Path:
        """Return the export of this Agent, with these links to what a layer made.

        Raises `RepositoryError` when git cannot give it, or a link would stand on a tracked file.
        """
        contents = self._contents_of(agent)
        key = (_key(agent, contents), tuple(sorted(links.items())))
        return await self._export(key, _revision(self._plan, agent.side), contents, links)

    def tree_at(self, revision: Revision) -> Tree:
        """Return the tree of a revision. Raises `RepositoryError`."""
        return self._repository.contents(revision)

    async def write_at(self, inputs: LayerInputs, folder: Path, revision: Revision) -> None:
        """Write inputs of a layer into an empty folder. Raises `RepositoryError`."""
        folders = (inputs.cwd,) if inputs.inside else ()
        await asyncio.to_thread(
            self._repository.export, revision, folder, inputs.entries, folders, inputs.root
        )

    async def check_folder(
        self, files: CheckFiles, revision: Revision, links: Mapping[str, Path]
    ) -> Path:
        """Return the export of an own check, with these links to what its set-up made.

        Raises `RepositoryError`.
        """
        contents = self._contents_at(revision, files.rules, frozenset(files.hidden))
        key = ("check", revision.tree, contents, tuple(sorted(links.items())))
        return await self._export(key, revision, contents, links)

    async def _export(
        self, key: Hashable, revision: Revision, contents: Contents, links: Mapping[str, Path]
    ) -> Path:
        async def make() -> Path:
            folder = self._scratch / f"files-{secrets.token_hex(8)}"
            folder.mkdir(mode=0o755)
            folder.chmod(0o755)
            paths, folders = contents.paths, contents.folders
            await asyncio.to_thread(self._repository.export, revision, folder, paths, folders)
            for path, target in links.items():
                _link(folder, path, target)
            return folder

        return await self._made.get(key, make)

    def inputs(self, agent: AgentDefinition, spec: LayerSpec) -> LayerInputs:
        """Return what the set-up of this Agent's layer sees. Raises `RepositoryError`."""
        tree = self._repository.contents(_revision(self._plan, agent.side))
        return layer_inputs(agent, spec, tree, self._hidden[agent.side])

    async def write_inputs(self, agent: AgentDefinition, inputs: LayerInputs, folder: Path) -> None:
        """Write them into an empty folder, with the working directory. Raises `RepositoryError`."""
        await self.write_at(inputs, folder, _revision(self._plan, agent.side))

    async def contents(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        """Return the files of messages by their git objects. Raises `RepositoryError`."""
        found = await asyncio.to_thread(self._repository.blobs, sorted({*oids}), limit=DATA_LIMIT)
        return {oid: data for oid, data in found.items() if data is not None}

    def around(self, agent: AgentDefinition) -> Surroundings:
        """Return which tracked files this export holds, and which not. Raises `RepositoryError`."""
        wanted = (agent.side, agent.files)
        if wanted not in self._around:
            given = frozenset(self._contents_of(agent).paths)
            tree = self._repository.contents(_revision(self._plan, agent.side))
            outside = tree.keys() - given - self._hidden[agent.side]
            self._around[wanted] = Surroundings(given, outside)
        return self._around[wanted]

    def _contents_of(self, agent: AgentDefinition) -> Contents:
        revision = _revision(self._plan, agent.side)
        return self._contents_at(revision, agent.files, self._hidden[agent.side])

    def _contents_at(
        self, revision: Revision, rules: FileRules, hidden: frozenset[str]
    ) -> Contents:
        wanted = (revision.tree, rules, hidden)
        if wanted not in self._contents:
            found = rules.contents(self._repository.contents(revision), hidden)
            self._refuse_lacking(found, revision)
            self._contents[wanted] = found
        return self._contents[wanted]

    def _refuse_lacking(self, found: Contents, revision: Revision) -> None:
        """Raise `RepositoryError` for a submodule that the change moves and that is not here: what
        starts without it would be something else than what the commit holds.
        """
        others = [one for one in (self._plan.head, self._plan.base) if one and one != revision]
        tree = self._repository.contents(revision)
        for path in found.paths:
            if tree[path].is_submodule and any(
                self._repository.contents(one).get(path) != tree[path] for one in others
            ):
                raise RepositoryError(lacking_sentence(path, tree[path].oid))


def disk_needed(repository: Repository, plan: Plan) -> int:
    """Return how many bytes the files of all exports of a plan have together."""
    found: dict[Hashable, list[str]] = {}
    hidden = _hidden(plan)
    for agent in plan.agents:
        if not agent.runtime.starts_process:
            continue
        tree = repository.contents(_revision(plan, agent.side))
        contents = agent.files.contents(tree, hidden[agent.side])
        files = [tree[path].oid for path in contents.paths if tree[path].is_file]
        found.setdefault(_key(agent, contents), files)
    for revision, own in _checks(plan):
        tree = repository.contents(revision)
        contents = own.rules.contents(tree, frozenset(own.hidden))
        files = [tree[path].oid for path in contents.paths if tree[path].is_file]
        found.setdefault(("check", revision.tree, contents), files)
    sizes = repository.sizes({oid for files in found.values() for oid in files})
    return sum(sizes[oid] for files in found.values() for oid in files)


def _link(folder: Path, path: str, target: Path) -> None:
    """Put a link into an export, over no tracked link and in the place of nothing tracked."""
    steps = [folder / step for step in (*folders_of(path), path)]
    if any(step.is_symlink() for step in steps) or os.path.lexists(steps[-1]):
        raise RepositoryError(
            f"setup.creates says that the set-up makes {show_path(path)}, where a tracked file or "
            "link stands."
        )
    steps[-1].parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    steps[-1].symlink_to(target)


def _key(agent: AgentDefinition, contents: Contents) -> Hashable:
    """What Agents have in common that share an export. A set-up that writes there has its own."""
    runtime = agent.runtime
    setup = (agent.cwd, runtime.own_setup, tuple(sorted(runtime.env.items())))
    return agent.side, contents, setup if runtime.own_setup else ()


def _checks(plan: Plan) -> Iterator[tuple[Revision, CheckFiles]]:
    for planned in plan.evals:
        revision = plan.base_tip if planned.bar else plan.head
        for fixture in planned.own_fixtures:
            if fixture.ground is not None and revision is not None:
                yield revision, fixture.ground
            for spec in own_checks(fixture):
                if spec.own is not None and revision is not None:
                    yield revision, spec.own


def _hidden(plan: Plan) -> Mapping[Side, frozenset[str]]:
    return {
        side: frozenset(path for one in plan.hidden if one.side is side for path in one.paths)
        for side in Side
    }


def _revision(plan: Plan, side: Side) -> Revision:
    if side is Side.HEAD:
        return plan.head
    if plan.base is None:
        raise RepositoryError("The plan has no base revision to start a baseline from.")
    return plan.base
