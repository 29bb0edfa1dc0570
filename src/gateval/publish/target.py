"""The subject and the author of a report."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Value, digest
from gateval.domain.forge.stamp import Stamp

CHECK_NAME = "gateval"

MOST = 80
"""Characters of a branch's name in the name of a check."""


class CommentMode(StrEnum):
    """When a comment is written. One that is already there is kept up to date by the first two."""

    ALWAYS = "always"
    ON_FAILURE = "on-failure"
    OFF = "off"


class PublishTarget(Value):
    """A commit, the pull request it is head of (None for a push), and this run's stamp.

    `before` is the head that a push replaced, if one did. `details_url` leads to the run's log.
    `into` is the target branch; empty for the default one.
    """

    head: str = Field(pattern=SHA_PATTERN)
    before: str | None = Field(default=None, pattern=SHA_PATTERN)
    pull_request: int | None = None
    stamp: Stamp
    details_url: str = ""
    comment: CommentMode = CommentMode.ALWAYS
    into: str = ""

    @property
    def check_name(self) -> str:
        """`gateval`, with the gate's own name and the branch it is measured for in brackets.

        GitHub knows a check by commit and name alone. One commit can be head of several pull
        requests, and what passes for one target branch says nothing about another.
        """
        gate = self.stamp.gate
        own = [gate] if gate != CHECK_NAME else []
        into = [f"into {shown_branch(self.into)}"] if self.into else []
        return f"{CHECK_NAME} ({', '.join(own + into)})" if own or into else CHECK_NAME


def shown_branch(name: str) -> str:
    """Return a branch's name as it stands in a check's; a long or odd one by a digest of it."""
    if len(name) <= MOST and name.isascii() and name.isprintable():
        return name
    return f"{name[:20].encode('ascii', 'replace').decode()} {digest(name)[:12]}"
