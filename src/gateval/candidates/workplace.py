"""The folder a candidate works in: exported, checked to be inside the export, set up once.

Everything that trials need has to end up below the export: HOME and TMPDIR of the set-up are
private to it and gone afterwards.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.allowlist import instance_environment
from gateval.candidates.base import RuntimeContext
from gateval.candidates.process.failures import command_line, failure, no_start
from gateval.candidates.process.program import KIB, MIB, Limits, NotStarted, Program
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Cause, NoAnswer
from gateval.errors import RepositoryError
from gateval.events import CandidatePreparing

if TYPE_CHECKING:
    from gateval.candidates.process.processes import Programs


async def prepare_workplace(
    agent: AgentDefinition, context: RuntimeContext, programs: Programs, name: str
) -> Path | NoAnswer:
    """Return the working directory, ready for trials, or why there is none.

    `name` marks the set-up's processes. Agents that share folder, set-up and literals share one
    set-up. Different set-ups in one folder are not kept apart.
    """
    _tell(agent, context, "export")
    try:
        export = await context.exports.folder(agent.side)
    except RepositoryError as error:
        reason = f"The files of {agent.side} could not be exported: {error.message}"
        return NoAnswer(cause=Cause.GATE, reason=reason)
    folder = working_directory(export, agent.cwd)
    if isinstance(folder, NoAnswer) or not agent.runtime.setup:
        return folder
    key = (agent.side, folder, agent.runtime.setup, tuple(sorted(agent.runtime.env.items())))
    work = functools.partial(_set_up, agent, context, programs, name, export, folder)
    return await context.setups.get(key, work) or folder


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


async def _set_up(
    agent: AgentDefinition,
    context: RuntimeContext,
    programs: Programs,
    name: str,
    export: Path,
    folder: Path,
) -> NoAnswer | None:
    from gateval.candidates.process.private import (
        private_folders,  # asyncio, subprocess: not for `plan`
    )

    argv = agent.runtime.setup
    limits = Limits(
        seconds=context.timeouts.setup_seconds,
        grace_seconds=context.timeouts.grace_seconds,
        stdout_kept=64 * KIB,
        stdout_bytes=64 * MIB,
    )
    _tell(agent, context, "set-up")
    async with private_folders(context.scratch) as private:
        env = instance_environment(
            context.environ,
            literals=agent.runtime.env,
            door={},
            home=str(private.home),
            tmp=str(private.tmp),
            name=name,
        )
        try:
            ran = await programs.run(Program(argv, folder, env, writes=(export,)), limits)
        except NotStarted as error:
            return no_start(f"The set-up failed. {error.reason}", command_line(argv), error.cause)
    return failure("The set-up", ran, argv, limits)


def _tell(agent: AgentDefinition, context: RuntimeContext, what: str) -> None:
    context.on_event(CandidatePreparing(agent=agent.name, side=agent.side, what=what))
