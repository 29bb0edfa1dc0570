"""A pull request and its comments, as the forge (GitHub) tells of them. Whatever is text is theirs.

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
