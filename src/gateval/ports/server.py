"""The repository on the server, from which a clone is completed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ServerRepository(Protocol):
    """The repository on the server, to complete a clone from. Adds objects, no refs.

    Every method raises `RepositoryError` when the server or git does not give what is asked for.
    """

    def tip(self, branch: str) -> str:
        """The commit that a branch is at now, on the server."""

    def bring(self, commits: Sequence[str], *, instead: str = "") -> None:
        """Fetch those of these commits that are not here; `instead` is a ref that leads to them."""

    def join(self, one: str, other: str) -> None:
        """Fetch history until the merge-base of two commits is known for certain."""
