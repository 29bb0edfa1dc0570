"""Runs one set-up: in an environment of its own, without models, and never a reason to hang."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import RuntimeContext
from gateval.candidates.environment import instance_environment
from gateval.candidates.process.failures import command_line, failure, no_start
from gateval.candidates.process.program import KIB, MIB, Limits, NotStarted, Program
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import NoAnswer
from gateval.events import CandidatePreparing

if TYPE_CHECKING:
    from gateval.candidates.process.processes import Programs


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
    from gateval.candidates.process.private import (
        private_folders,  # asyncio, subprocess: not for `plan`
    )

    limits = Limits(
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
