"""The folder a candidate works in: exported, checked, and set up once as a layer.

A layer's set-up sees its inputs and nothing else, so what it makes is the same for everybody with
the same digest of inputs, command, environment and platform. It lies at one absolute path, which
programs may write into what they install, and belongs to the gate as soon as it is done.

Everything that trials need has to end up below the export or in a layer that is linked there: HOME
and TMPDIR of the set-up are private to it and gone afterwards.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import LayerFiles, RuntimeContext
from gateval.candidates.environment import instance_environment
from gateval.candidates.failures import command_line, failure, from_the_export, no_start
from gateval.candidates.program import (
    KIB,
    MIB,
    NotStarted,
    Program,
    ProgramLimits,
    private_folders,
    remove_tree,
)
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.plan.absent import absent_sentence, find_absent
from gateval.domain.plan.plan import AgentDefinition, LayerInputs
from gateval.domain.trials.trial import Cause, NoAnswer
from gateval.errors import RepositoryError
from gateval.events import CandidatePreparing

if TYPE_CHECKING:
    from gateval.candidates.processes import Programs


def tell(agent: AgentDefinition, context: RuntimeContext, what: str) -> None:
    """Tell what a candidate is being prepared with."""
    context.on_event(CandidatePreparing(agent=agent.name, side=agent.side, what=what))


DIGITS = 32
"""Of the digest, in a layer's path: enough to be unique, short enough for a `#!` line."""


@dataclass(frozen=True)
class Layer:
    """A layer that is ready. `links` are the names it gives to an export: path there → target."""

    root: Path
    links: Mapping[str, Path]


@dataclass(frozen=True)
class Workplace:
    """The working directory, ready for trials, and what else a candidate has to be able to read.
    `root` is the folder with all files of the Agent, which `folder` is in.
    """

    folder: Path
    reads: tuple[Path, ...] = ()
    root: Path = Path()


@dataclass(frozen=True)
class Preparation:
    """What is done once for the candidates of an Agent. `files` are what the set-up of its layer
    sees, `name` marks the processes of set-ups.
    """

    agent: AgentDefinition
    context: RuntimeContext
    files: LayerFiles
    programs: Programs
    name: str

    async def workplace(self) -> Workplace | NoAnswer:
        """Return where the Agent's candidates work, or why they cannot.

        Agents that share folder, set-up and literals share one set-up; where one of them differs,
        they have exports of their own. Layers are shared by digest.
        """
        agent, context = self.agent, self.context
        spec = agent.runtime.layer
        layer: Layer | None = None
        try:
            if spec is not None:
                made = await self.layer(spec)
                if isinstance(made, NoAnswer):
                    return made
                layer = made
            tell(agent, context, "export")
            export = await context.exports.folder(agent, layer.links if layer else {})
        except RepositoryError as error:
            reason = f"The files of {agent.side} could not be exported: {error.message}"
            return NoAnswer(cause=Cause.GATE, reason=reason)
        folder = working_directory(export, agent.cwd)
        if isinstance(folder, NoAnswer):
            return folder
        place = Workplace(folder, (layer.root,) if layer else (), export.resolve())
        argv = agent.runtime.own_setup
        if not argv:
            return place
        key = (folder, argv, tuple(sorted(agent.runtime.env.items())))
        failed = await context.setups.get(key, lambda: self._set_up(argv, folder, export))
        return failed or place

    async def layer(self, spec: LayerSpec) -> Layer | NoAnswer:
        """Return the Agent's layer, made if nobody has made it yet, or why there is none. Raises
        `RepositoryError` when git cannot give the inputs.
        """
        context, inputs = self.context, self.files.inputs(self.agent, spec)
        where = f"{sys.platform} {os.uname().machine}"
        environment = {**context.environ, **self.agent.runtime.env}
        digest = inputs.digest(spec, [where, *(f"{key}={environment[key]}" for key in environment)])
        kept = context.kept.place(digest) if context.kept else None
        root = kept or context.scratch / f"layer-{digest[:DIGITS]}"
        make = self._restored if kept else self._made
        failed = await context.setups.get(("layer", digest), lambda: make(spec, inputs, root))
        if failed is not None:
            return failed
        at, folder = self.agent.files.folder, root / inputs.inside
        return Layer(root, {f"{at}/{one}" if at else one: folder / one for one in spec.creates})

    async def _restored(self, spec: LayerSpec, inputs: LayerInputs, root: Path) -> NoAnswer | None:
        """Put back what an earlier run made; if there is nothing, make it and keep it."""
        kept = self.context.kept
        if kept is None:
            return await self._made(spec, inputs, root)
        restored = await asyncio.to_thread(kept.restore, root)
        if restored and _unkept(spec, root / inputs.inside) is None:
            tell(self.agent, self.context, "kept set-up")
            return None
        failed = await self._made(spec, inputs, root)
        if failed is None:
            await asyncio.to_thread(kept.keep, root)
        return failed

    async def _made(self, spec: LayerSpec, inputs: LayerInputs, root: Path) -> NoAnswer | None:
        """Run the set-up of a layer on its inputs, and return why it failed, or None."""
        agent, folder = self.agent, root / inputs.inside
        _fresh(root)
        await self.files.write_inputs(agent, inputs, root)
        failed = await self._set_up(spec.run, folder, root)
        if failed is None:
            return _unkept(spec, folder)
        shown = from_the_export(from_the_export(failed, self.context.scratch), root.parent)
        absent = find_absent((shown.reason, *shown.detail[1:]), inputs.cwd, inputs.around)
        if absent is None:
            return shown
        said = absent_sentence(agent.name, absent, inputs=True)
        return shown.model_copy(update={"reason": f"{shown.reason} {said}"})

    async def _set_up(self, argv: tuple[str, ...], folder: Path, writes: Path) -> NoAnswer | None:
        """Run `argv` in `folder` and return why it failed, or None. It may write below `writes`;
        HOME and TMPDIR are private to it and gone afterwards.
        """
        agent, context = self.agent, self.context
        most, grace = context.timeouts.setup_seconds, context.timeouts.grace_seconds
        limits = ProgramLimits(most, grace, stdout_kept=64 * KIB, stdout_bytes=64 * MIB)
        tell(agent, context, "set-up")
        async with private_folders(context.scratch) as private:
            env = instance_environment(context.environ, self.name, private, agent.runtime.env)
            program = Program(argv, folder, env, writes=(writes,))
            try:
                ran = await self.programs.run(program, limits)
            except NotStarted as error:
                reason = f"The set-up failed. {error.reason}"
                return no_start(reason, command_line(argv), error.cause)
        return failure("The set-up", ran, argv, limits, set_up=True)


def _fresh(root: Path) -> None:
    remove_tree(root)  # what a cancelled attempt has left
    root.mkdir(mode=0o755)
    root.chmod(0o755)


def _unkept(spec: LayerSpec, folder: Path) -> NoAnswer | None:
    """Return which promise a set-up did not keep, or None."""
    for made in spec.creates:
        if not os.path.lexists(folder / made):
            reason = f"The set-up ended well, but made no `{made}`, which setup.creates promises."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
    return None


def working_directory(export: Path, cwd: str) -> Path | NoAnswer:
    """Return `cwd` below the export, symbolic links resolved, or why a candidate cannot work there.
    The files come from the pull request, and a link in them may point anywhere.
    """
    root = export.resolve()
    try:
        folder = (root / cwd).resolve()
        inside = folder.is_relative_to(root)
        exists = folder.is_dir()
    except (OSError, ValueError, RuntimeError):  # too long a path, a NUL, a loop of links
        inside, exists = True, False
    if not inside:
        reason = f"The working directory `{cwd}` leads out of the repository; change runtime.cwd."
    elif not exists:
        reason = f"The working directory `{cwd}` is no folder of this revision; change runtime.cwd."
    else:
        return folder
    return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
