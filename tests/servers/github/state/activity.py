"""Pushes, as the repository activity API tells them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.servers.github.state.people import User

NO_COMMIT = "0" * 40
"""What stands before a branch is made, and after it is removed."""


@dataclass(frozen=True)
class Activity:
    """A push, with its time by GitHub's own clock: the one that a commit's author cannot set."""

    id: int
    before: str
    after: str
    ref: str
    timestamp: str
    type: str
    actor: User
