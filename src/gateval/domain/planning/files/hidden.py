"""Which files of a revision no candidate gets, so that nothing it can read goes uncounted."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.plan.plan import HiddenFiles
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.trials.trial import Side


def hidden_files(
    planned: Iterable[PlannedEval], head: Snapshot, base: Snapshot | None
) -> tuple[HiddenFiles, ...]:
    """Return the hidden files of each side from which a program is started, as git has them."""
    found = []
    for side, snapshot in ((Side.HEAD, head), (Side.BASE, base)):
        if snapshot is None:
            continue
        agents = [snapshot.catalogue.agent(one.agent) for one in planned if side in one.sides]
        if all(agent is None or not agent.starts_process for agent in agents):
            continue
        paths = (path for path in snapshot.paths if snapshot.is_hidden(path) and _is_text(path))
        found.append(HiddenFiles(side=side, paths=tuple(paths)))
    return tuple(found)


def _is_text(path: str) -> bool:
    """Whether the path is UTF-8, as a plan can hold it. Manifests of other names are refused."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
