"""The folder a candidate works in: exported, checked to be inside the export, set up once.

Everything that trials need has to end up below the export or in a layer that is linked there: HOME
and TMPDIR of the set-up are private to it and gone afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import RuntimeContext
from gateval.candidates.preparing.set_up import run_set_up, tell
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Cause, NoAnswer
from gateval.errors import RepositoryError

if TYPE_CHECKING:
    from gateval.candidates.preparing.layers import Layer
    from gateval.candidates.process.processes import Programs


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
    from gateval.candidates.preparing.layers import layer_of

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
