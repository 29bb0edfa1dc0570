"""Repositories, read only: this one, its server, other ones; and what opens sealed files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gateval.domain.tree import Revision, TreeEntry

if TYPE_CHECKING:
    from gateval.domain.forge.trigger import Landed
    from gateval.domain.manifests.gate_config import RulesSource


class Repository(Protocol):
    """A git repository, read only. Paths are `os.fsdecode`d, relative to the repository root.

    Every method raises `RepositoryError` when git cannot answer.
    """

    def reading(self) -> AbstractContextManager[None]:
        """Within this block, what reads may stay at work between calls; no candidate runs in it."""

    def resolve(self, name: str) -> Revision:
        """The revision called `name`: branch, tag, commit, `HEAD~2` and the like."""

    def worktree(self) -> Revision:
        """A snapshot of the working tree, untracked files included, the real index untouched."""

    def has_changes(self) -> bool:
        """Whether the working tree differs from HEAD (untracked files count)."""

    def edited_submodules(self) -> tuple[str, ...]:
        """The submodules of the working tree with edits that no commit has, which `worktree` does
        not hold.
        """

    def default_branch(self) -> str | None:
        """The name to resolve for the default branch's tip, or None when there is no telling."""

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        """The best common ancestors of two commits; none when they share no history.

        There are several where branches were merged into each other crosswise.
        """

    def landed(self, old: str, new: str) -> tuple[Landed, ...]:
        """The commits that `new` adds to `old` along first parents, oldest last.

        At most a hundred. The authors of the commits wrote them.
        """

    def tree(self, revision: Revision) -> Mapping[str, TreeEntry]:
        """All entries of a revision, recursively."""

    def contents(self, revision: Revision) -> Mapping[str, TreeEntry]:
        """All entries of a revision, with those of the submodules whose content is here in the
        place of what names them. Nothing is fetched.
        """

    def blobs(self, oids: Iterable[str], *, limit: int) -> Mapping[str, bytes | None]:
        """The contents of these blobs; None for one larger than `limit` bytes."""

    def diff(self, base: Revision, head: Revision, paths: Sequence[str]) -> Mapping[str, bytes]:
        """The hunks of a unified diff of each of these paths that differs, as if it were text.

        A file that moved among them is told by its path on head; one without other lines is empty.
        """

    def sizes(self, oids: Iterable[str]) -> Mapping[str, int]:
        """The sizes of these blobs in bytes."""

    def export(
        self,
        revision: Revision,
        folder: Path,
        paths: Iterable[str] | None = None,
        folders: Iterable[str] = (),
        root: str = "",
    ) -> None:
        """Write these files of a revision into an empty folder, byte for byte, without `.git`.

        Paths are those of `contents`, all of them without `paths`; `folders` come out even if
        nothing is in them. They are written as seen from `root`, below which all of them lie.
        Symbolic links that lead out of the folder are refused with `RepositoryError`.
        """

    def lfs_pointers(self, revision: Revision, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of `paths` that hold a Git LFS pointer where the file's content is expected."""


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


Unseal = Callable[[bytes], bytes]
"""Gives what a sealed file holds. Raises `CannotOpen`."""


class CannotOpen(Exception):
    """A sealed file cannot be opened with the keys that are here; the text is a sentence."""
