"""Runs of workflows, and what they uploaded to the store."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Artifact:
    """Something a run uploaded: `content` is the archive, `place` where the store has it."""

    id: int
    name: str
    content: bytes
    place: str
    expired: bool = False


@dataclass
class WorkflowRun:
    """A run of a workflow. `head_repository` is None where it was deleted."""

    id: int
    event: str
    branch: str
    sha: str
    path: str
    head_repository: str = ""
    artifacts: list[Artifact] = field(default_factory=list)
