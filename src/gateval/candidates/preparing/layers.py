"""Set-ups as layers: made once for all Agents and sides that would make the same.

A layer's set-up sees its inputs and nothing else, so what it makes is the same for everybody with
the same digest of inputs, command, environment and platform. It lies at one absolute path, which
programs may write into what they install, and belongs to the gate as soon as it is done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import LayerFiles, RuntimeContext
from gateval.candidates.preparing.set_up import run_set_up, tell
from gateval.candidates.process.failures import from_the_export
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.plan.absent import absent_sentence, find_absent
from gateval.domain.plan.layer import LayerInputs
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Cause, NoAnswer

if TYPE_CHECKING:
    from gateval.candidates.process.processes import Programs

DIGITS = 32
"""Of the digest, in a layer's path: enough to be unique, short enough for a `#!` line."""


@dataclass(frozen=True)
class Layer:
    """A layer that is ready. `links` are the names it gives to an export: path there → target."""

    root: Path
    links: Mapping[str, Path]


async def layer_of(
    agent: AgentDefinition,
    spec: LayerSpec,
    context: RuntimeContext,
    files: LayerFiles,
    programs: Programs,
    name: str,
) -> Layer | NoAnswer:
    """Return the Agent's layer, made if nobody has made it yet, or why there is none.

    Raises `RepositoryError` when git cannot give the inputs.
    """
    inputs = files.inputs(agent, spec)
    where = f"{sys.platform} {os.uname().machine}"
    environment = {**context.environ, **agent.runtime.env}
    digest = inputs.digest(spec, [where, *(f"{key}={environment[key]}" for key in environment)])
    kept = context.kept.place(digest) if context.kept else None
    root = kept or context.scratch / f"layer-{digest[:DIGITS]}"
    work = _LayerWork(agent, spec, inputs, root, context, files, programs, name)
    failed = await context.setups.get(("layer", digest), work.restore if kept else work.make)
    if failed is not None:
        return failed
    at = agent.files.folder
    return Layer(root, {f"{at}/{one}" if at else one: work.folder / one for one in spec.creates})


@dataclass(frozen=True)
class _LayerWork:
    """The making of one layer at `root`. `name` marks the processes of its set-up."""

    agent: AgentDefinition
    spec: LayerSpec
    inputs: LayerInputs
    root: Path
    context: RuntimeContext
    files: LayerFiles
    programs: Programs
    name: str

    @property
    def folder(self) -> Path:
        """Where the set-up runs."""
        return self.root / self.inputs.inside

    async def restore(self) -> NoAnswer | None:
        """Put back what an earlier run made; if there is nothing, make it and keep it."""
        import asyncio

        kept = self.context.kept
        if kept is None:
            return await self.make()
        restored = await asyncio.to_thread(kept.restore, self.root)
        if restored and self._unkept() is None:
            tell(self.agent, self.context, "kept set-up")
            return None
        failed = await self.make()
        if failed is None:
            await asyncio.to_thread(kept.keep, self.root)
        return failed

    async def make(self) -> NoAnswer | None:
        """Run the set-up on its inputs, and return why it failed, or None."""
        from gateval.candidates.process.private import remove_tree

        agent, context, root = self.agent, self.context, self.root
        remove_tree(root)  # what a cancelled attempt has left
        root.mkdir(mode=0o755)
        root.chmod(0o755)
        await self.files.write_inputs(agent, self.inputs, root)
        failed = await run_set_up(
            agent, self.spec.run, context, self.programs, self.name, self.folder, root
        )
        if failed is not None:
            shown = from_the_export(from_the_export(failed, context.scratch), root.parent)
            return _explained(shown, agent, self.inputs)
        return self._unkept()

    def _unkept(self) -> NoAnswer | None:
        """Return which promise the set-up did not keep, or None."""
        for made in self.spec.creates:
            if not os.path.lexists(self.folder / made):
                reason = (
                    f"The set-up ended well, but made no `{made}`, which setup.creates promises."
                )
                return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        return None


def _explained(failed: NoAnswer, agent: AgentDefinition, inputs: LayerInputs) -> NoAnswer:
    absent = find_absent((failed.reason, *failed.detail[1:]), inputs.cwd, inputs.around)
    if absent is None:
        return failed
    said = absent_sentence(agent.name, absent, inputs=True)
    return failed.model_copy(update={"reason": f"{failed.reason} {said}"})
