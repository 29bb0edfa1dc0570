"""The folder a candidate works in: exported, checked, and set up once as a layer.

A layer's set-up sees its inputs and nothing else, so what it makes is the same for everybody with
the same digest of inputs, command, environment and platform. It lies at one absolute path, which
programs may write into what they install, and belongs to the gate as soon as it is done.

Everything that trials need has to end up below the export or in a layer that is linked there: HOME
and TMPDIR of the set-up are private to it and gone afterwards.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import LayerFiles, RuntimeContext
from gateval.candidates.environment import instance_environment
from gateval.candidates.failures import command_line, failure, from_the_export, no_start
from gateval.candidates.program import KIB, MIB, NotStarted, Program, ProgramLimits
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.plan.absent import absent_sentence, find_absent
from gateval.domain.plan.plan import AgentDefinition, LayerInputs
from gateval.domain.trials.trial import Cause, NoAnswer
from gateval.errors import RepositoryError
from gateval.events import CandidatePreparing

if TYPE_CHECKING:
    from gateval.candidates.processes import Programs


async def run_set_up(
    agent: AgentDefinition,
    argv: tuple[str, ...],
    context: RuntimeContext,
    programs: Programs,
    name: str,
    folder: Path,
    writes: Path,
) -> NoAnswer | None:
    """Run `argv` in `folder` and return why it failed, or None. It may write below `writes`.

    HOME and TMPDIR are private to it and gone afterwards; `name` marks its processes.
    """
    from gateval.candidates.program import private_folders  # asyncio, subprocess: not for `plan`

    limits = ProgramLimits(
        seconds=context.timeouts.setup_seconds,
        grace_seconds=context.timeouts.grace_seconds,
        stdout_kept=64 * KIB,
        stdout_bytes=64 * MIB,
    )
    tell(agent, context, "set-up")
    async with private_folders(context.scratch) as private:
        env = instance_environment(context.environ, name, private, agent.runtime.env)
        try:
            ran = await programs.run(Program(argv, folder, env, writes=(writes,)), limits)
        except NotStarted as error:
            return no_start(f"The set-up failed. {error.reason}", command_line(argv), error.cause)
    return failure("The set-up", ran, argv, limits)


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
        from gateval.candidates.program import remove_tree

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


@dataclass(frozen=True)
class Workplace:
    """The working directory, ready for trials, and what else a candidate has to be able to read."""

    folder: Path
    reads: tuple[Path, ...] = ()


async def prepare_workplace(
    agent: AgentDefinition, context: RuntimeContext, programs: Programs, name: str
) -> Workplace | NoAnswer:
    """Return where the Agent's candidates work, or why they cannot.

    `name` marks the set-up's processes. Agents that share folder, set-up and literals share one
    set-up; where one of them differs, they have exports of their own. Layers are shared by digest.
    """
    spec = agent.runtime.layer
    layer: Layer | None = None
    try:
        if spec is not None:
            made = await layer_of(agent, spec, context, context.exports, programs, name)
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
    place = Workplace(folder, (layer.root,) if layer else ())
    argv = agent.runtime.own_setup
    if not argv:
        return place
    key = (folder, argv, tuple(sorted(agent.runtime.env.items())))

    async def work() -> NoAnswer | None:
        return await run_set_up(agent, argv, context, programs, name, place.folder, export)

    return await context.setups.get(key, work) or place


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
