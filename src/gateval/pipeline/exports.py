"""Exports of the two revisions, each made once and only when a candidate needs it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateval.domain.plan.plan import Plan, Revision
from gateval.domain.trials.trial import Side
from gateval.errors import RepositoryError
from gateval.ports.repository import Repository


class RevisionExports:
    """Gives the folder that holds the files of a side's revision."""

    def __init__(self, repository: Repository, plan: Plan, scratch: Path) -> None:
        self._repository = repository
        self._plan = plan
        self._scratch = scratch
        self._locks = {side: asyncio.Lock() for side in Side}
        self._done: dict[Side, Path] = {}

    async def folder(self, side: Side) -> Path:
        """Return the export of this side. Raises `RepositoryError` when git cannot give it."""
        async with self._locks[side]:
            if side not in self._done:
                folder = self._scratch / f"export-{side}"
                folder.mkdir(mode=0o755, exist_ok=True)
                revision = self._revision(side)
                hidden = {
                    path for one in self._plan.hidden if one.side is side for path in one.paths
                }
                await asyncio.to_thread(self._repository.export, revision, folder, hidden)
                self._done[side] = folder
            return self._done[side]

    def _revision(self, side: Side) -> Revision:
        if side is Side.HEAD:
            return self._plan.head
        if self._plan.base is None:
            raise RepositoryError("The plan has no base revision to start a baseline from.")
        return self._plan.base
