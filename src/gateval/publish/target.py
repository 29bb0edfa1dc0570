"""What is reported on, and by whom."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.forge import SHA_PATTERN
from gateval.domain.stamp import Stamp

CHECK_NAME = "gateval"


class CommentMode(StrEnum):
    """When a comment is written. One that is already there is kept up to date by the first two."""

    ALWAYS = "always"
    ON_FAILURE = "on-failure"
    OFF = "off"


class Target(Value):
    """A commit, the pull request it is head of (None for a push), and this run's stamp.

    `details_url` leads to the run's log.
    """

    head: str = Field(pattern=SHA_PATTERN)
    pull_request: int | None = None
    stamp: Stamp
    details_url: str = ""
    comment: CommentMode = CommentMode.ALWAYS

    @property
    def check_name(self) -> str:
        """`gateval`, or `gateval (NAME)` for a gate with a name of its own."""
        gate = self.stamp.gate
        return CHECK_NAME if gate == CHECK_NAME else f"{CHECK_NAME} ({gate})"
