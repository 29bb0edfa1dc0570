"""A run of a workflow and its artifacts, as the forge tells of them."""

from __future__ import annotations

from gateval.domain.base import Value


class WorkflowRun(Value):
    """A run: its event, the branch and commit it is of, the file of its workflow.

    `repository` and `head_repository` are `owner/name`; they differ where the head is a fork's.
    """

    number: int
    event: str
    branch: str
    head: str
    path: str
    repository: str
    head_repository: str


class Artifact(Value):
    """What a run uploaded, by name, as an archive of `size` bytes; `digest` is its SHA-256 in hex.

    GitHub Enterprise may tell no digest; it is empty then.
    """

    number: int
    name: str
    size: int
    expired: bool = False
    digest: str = ""
