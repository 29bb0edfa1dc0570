"""The runs of a repository's workflows, and what they uploaded."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.forge.workflow_run import Artifact, WorkflowRun


class WorkflowRuns(Protocol):
    """The runs of one repository's workflows. Only reads; every method raises `ForgeError`."""

    def workflow_run(self, number: int) -> WorkflowRun:
        """A run by its id. Raises `NotOnForge` when there is none."""

    def artifacts(self, run: int, name: str) -> tuple[Artifact, ...]:
        """What a run uploaded under this name, of all its attempts that are left."""

    def artifact_file(self, artifact: Artifact, name: str, *, limit: int) -> bytes | None:
        """The file of this name in an artifact; None if there is none of at most `limit` bytes."""
