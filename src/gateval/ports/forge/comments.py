"""The comments on pull requests."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.forge.pull_request import Comment
from gateval.ports.forge.viewer import Viewer


class Comments(Viewer, Protocol):
    """The comments on the pull requests of one repository. Comments are named by their number."""

    def comments(self, pull_request: int) -> tuple[Comment, ...]:
        """All comments of a pull request, oldest first."""

    def create_comment(self, pull_request: int, body: str) -> Comment:
        """Write a new comment."""

    def update_comment(self, comment: int, body: str) -> Comment:
        """Replace the body of a comment."""

    def delete_comment(self, comment: int) -> None:
        """Delete a comment; nothing happens when it is gone."""
