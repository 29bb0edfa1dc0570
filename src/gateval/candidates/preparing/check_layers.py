"""Set-ups of people's own checks: layers, as those of Agents are, at the revision of the check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gateval.candidates.base import RuntimeContext
from gateval.candidates.preparing.layers import Layer, layer_of
from gateval.domain.manifests.agent import LayerSpec, RuntimeSpec
from gateval.domain.manifests.fixture import CheckFiles
from gateval.domain.plan.layer import LayerInputs, layer_inputs
from gateval.domain.plan.plan import AgentDefinition, Revision
from gateval.domain.repository.paths import path_of_text
from gateval.domain.repository.place import Place
from gateval.domain.repository.tree import Tree
from gateval.domain.trials.trial import NoAnswer, Side

if TYPE_CHECKING:
    from gateval.candidates.process.processes import Programs


class RevisionFiles(Protocol):
    """The files of any revision of a plan."""

    def tree_at(self, revision: Revision) -> Tree:
        """The tree of a revision. Raises `RepositoryError`."""

    async def write_at(self, inputs: LayerInputs, folder: Path, revision: Revision) -> None:
        """Write inputs of a layer into an empty folder. Raises `RepositoryError`."""


@dataclass(frozen=True)
class CheckLayers:
    """Makes the layers of checks. `context` is that of candidates, `environ` what a check sees."""

    context: RuntimeContext
    files: RevisionFiles
    environ: Mapping[str, str]

    async def layer(
        self, spec: LayerSpec, files: CheckFiles, revision: Revision, programs: Programs, name: str
    ) -> Layer | NoAnswer:
        """Return the layer, made if nobody has, or why there is none. Raises `RepositoryError`."""
        folder = path_of_text(files.rules.folder)
        check = AgentDefinition(
            name="check",
            side=Side.HEAD,
            place=Place(file=folder),
            runtime=RuntimeSpec(type="command", setup=spec),
            folder=folder,
            cwd=folder,
            closure="",
            files=files.rules,
        )
        hidden = frozenset(files.hidden)
        inputs = _AtRevision(self.files, revision, hidden)
        context = replace(self.context, environ=self.environ)
        return await layer_of(check, spec, context, inputs, programs, name)


@dataclass(frozen=True)
class _AtRevision:
    """What a set-up sees, as the check's revision has it."""

    files: RevisionFiles
    revision: Revision
    hidden: frozenset[str]

    def inputs(self, agent: AgentDefinition, spec: LayerSpec) -> LayerInputs:
        return layer_inputs(agent, spec, self.files.tree_at(self.revision), self.hidden)

    async def write_inputs(self, agent: AgentDefinition, inputs: LayerInputs, folder: Path) -> None:
        del agent
        await self.files.write_at(inputs, folder, self.revision)
