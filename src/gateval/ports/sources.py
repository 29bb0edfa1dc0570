"""Other repositories, read only: what manifests name of them, and the rules that ours extend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gateval.domain.manifests.policy.rules_source import RulesSource


class Sources(Protocol):
    """Repositories by the URL to clone them (https), without credentials.

    Raises `RepositoryError`.
    """

    def commit(self, repository: str, ref: str) -> str | None:
        """Return the commit that a branch or tag is at now, or a whole id itself; None if there is
        no such ref.
        """

    def read(self, repository: str, commit: str, path: str, *, limit: int) -> bytes:
        """Return what a file holds at a commit: at most `limit` bytes."""


class ForeignFiles(Protocol):
    """What manifests see of files in other repositories."""

    def read(self, url: str, lock: bytes | None, hosts: Sequence[str], *, limit: int) -> bytes:
        """Return what the file at a URL holds, as the lock file of a revision says.

        `hosts` are those that `policy.sources` names. Raises `ValueError` with a sentence for what
        the author of a manifest mends, `RepositoryError` for what was not read.
        """


class SharedRules(Protocol):
    """Reads a gate config of another repository, which ours extends, at one commit."""

    def read(self, source: RulesSource) -> bytes:
        """Return the file. Raises `GatevalError` when it cannot be had, whatever the reason."""
