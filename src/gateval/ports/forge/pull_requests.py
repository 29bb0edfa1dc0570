"""The pull requests of a repository on a forge."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.forge.pull_request import PullRequest


class PullRequests(Protocol):
    """The pull requests of one repository. Every method of a forge raises `ForgeError`."""

    def pull_request(self, number: int) -> PullRequest:
        """The pull request as it is now. Raises `NotOnForge` when there is none."""
