"""Pull requests, comments and runs of workflows, as the forge (GitHub) tells of them.

Field names follow GitHub's REST API where it has one:
https://docs.github.com/en/rest/pulls/pulls, https://docs.github.com/en/rest/issues/comments.
"""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Value

REPOSITORY_PATTERN = "[A-Za-z0-9._-]+/[A-Za-z0-9._-]+"
"""OWNER/NAME of a repository, as a regular expression for the whole of it."""


class Branch(Value):
    """One end of a pull request.

    `repository` is `owner/name`; None when the repository, a fork, was deleted.
    """

    ref: str
    sha: str = Field(pattern=SHA_PATTERN)
    repository: str | None


class PullRequest(Value):
    """A pull request as it is now, not as an event said it was."""

    number: int = Field(ge=1)
    open: bool
    draft: bool
    author: str
    head: Branch
    base: Branch
    labels: tuple[str, ...] = ()
    url: str

    @property
    def fork(self) -> bool:
        """Whether head lies in another repository than base, a deleted one included."""
        return self.head.repository != self.base.repository


class Comment(Value):
    """One comment on a pull request. `author` is a login; that of an App ends with `[bot]`.

    `created_at` is UTC, as ISO 8601 to the second; `edited` says that it was changed since.
    """

    number: int = Field(ge=1)
    author: str
    body: str
    url: str
    created_at: str = ""
    edited: bool = False


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
