"""A repository as the inner rooms see it: `ports.repository.Repository`, fulfilled by git."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gateval.adapters.git import revisions, snapshot
from gateval.adapters.git.contents import export, objects, submodules, trees
from gateval.adapters.git.run import Git
from gateval.domain.repository.tree import TreeEntry

if TYPE_CHECKING:
    from gateval.adapters.git.facts import CloneFacts
    from gateval.adapters.git.records.records import GitRecords
    from gateval.adapters.git.server.fetch import Fetcher
    from gateval.adapters.git.server.remote import Remote
    from gateval.domain.forge.merge_group import Landed
    from gateval.domain.plan.plan import Revision
    from gateval.ports.records import RecordFile, Stored


class GitRepository:
    """Fulfils `ports.repository.Repository` for the repository whose working tree is at `root`.

    Its objects and configuration lie in `git_folder`.

    Everything but `worktree`, `has_changes` and `edited_submodules` reads git objects only and
    runs no program that a configuration file names. Those look at the working tree as `git add` and
    `git status` would, with the clean filters (Git LFS, git-crypt, ...) that the user's own
    configuration sets.
    """

    def __init__(self, root: Path, git_folder: Path, git: Git) -> None:
        """Use `open_repository`. `git` may stand in any folder of the working tree."""
        self.root = root
        self.git_folder = git_folder
        self._git = git.at(root)
        self._also: tuple[Path, ...] = ()
        self._reader = self._git
        self._trees: dict[str, Mapping[str, TreeEntry]] = {}
        self._contents: dict[str, Mapping[str, TreeEntry]] = {}

    @property
    def common_folder(self) -> Path:
        """The git folder that all working trees of the repository share."""
        try:
            shared = (self.git_folder / "commondir").read_text(encoding="utf-8").strip()
        except OSError:
            return self.git_folder
        return (self.git_folder / shared).resolve()

    def reading(self) -> AbstractContextManager[None]:
        """Within this block, git stays at work between questions about objects."""
        return self._git.kept.block()

    def resolve(self, name: str) -> Revision:
        """The commit called `name` and its tree."""
        return revisions.resolve(self._git, name)

    def worktree(self, *only: str) -> Revision:
        """A snapshot of the working tree; its objects stay in the repository, unreferenced.

        With `only`, one of the index in which these files are as in the working tree.
        """
        return snapshot.take(self._git, self.git_folder, only)

    def has_changes(self) -> bool:
        """Whether tracked or untracked files differ from HEAD."""
        return snapshot.has_changes(self._git)

    def edited_submodules(self) -> tuple[str, ...]:
        """The submodules in which tracked files were edited and not committed."""
        return snapshot.edited_submodules(self._git)

    def has_commit(self) -> bool:
        """Whether HEAD is a commit; in a new repository there is none yet."""
        return snapshot.has_commit(self._git)

    def default_branch(self) -> str | None:
        """The default branch's name, or None when there is no telling."""
        return revisions.default_branch(self._git)

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        """The best common ancestors; none when the two commits share no history."""
        return revisions.merge_bases(self._git, one, other)

    def landed(self, old: str, new: str) -> tuple[Landed, ...]:
        """The commits between two, along first parents, newest first."""
        return revisions.landed(self._git, old, new)

    def tree(self, revision: Revision) -> Mapping[str, TreeEntry]:
        """All entries of a revision, in git's order. Asked for once per tree, then remembered."""
        if revision.tree not in self._trees:
            self._trees[revision.tree] = self._list(revision.tree)
        return self._trees[revision.tree]

    def _list(self, tree: str) -> Mapping[str, TreeEntry]:
        for known, listed in self._trees.items():
            return trees.entries_like(self._git, tree, known, listed)
        return trees.entries(self._git, tree)

    def contents(self, revision: Revision) -> Mapping[str, TreeEntry]:
        """All entries of a revision, with those of the submodules whose content is here in the
        place of what names them.
        """
        tree = self.tree(revision)
        if revision.tree not in self._contents:
            named = [path for path, entry in tree.items() if entry.is_submodule]
            if named:
                also = submodules.object_folders(self.root, self.git_folder, named)
                self._also = tuple(dict.fromkeys((*self._also, *also)))
                self._reader = self._git.reading(self._also)
            found = submodules.with_contents(self._git, self._reader, tree) if named else tree
            self._contents[revision.tree] = found
        return self._contents[revision.tree]

    def blobs(self, oids: Iterable[str], *, limit: int) -> Mapping[str, bytes | None]:
        """The contents of these blobs; None for one larger than `limit` bytes."""
        return objects.read_blobs(self._git, oids, limit)

    def export(
        self,
        revision: Revision,
        folder: Path,
        paths: Iterable[str] | None = None,
        folders: Iterable[str] = (),
        root: str = "",
    ) -> None:
        """Write these files of a revision into an empty (or new) folder, byte for byte.

        Paths are those of `contents`, all of them without `paths`; `folders` come out even if
        nothing is in them. They are written as seen from `root`, below which all of them lie.
        """
        tree = self.contents(revision)
        cut = len(root) + 1 if root else 0
        entries = {path[cut:]: tree[path] for path in (tree if paths is None else paths)}
        export.write_tree(self._reader, entries, folder, folders=[one[cut:] for one in folders])

    def sizes(self, oids: Iterable[str]) -> Mapping[str, int]:
        """The sizes of these blobs in bytes."""
        return objects.sizes(self._reader, sorted(set(oids)))

    def lfs_pointers(self, revision: Revision, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of `paths` that hold a Git LFS pointer instead of the file's content."""
        return objects.lfs_pointers(self._git, self.tree(revision), paths)

    def fetcher(self, remote: Remote) -> Fetcher:
        """What brings commits of a remote into this clone."""
        from gateval.adapters.git.server.fetch import Fetcher

        return Fetcher(self._git, remote)

    def tracks(self, folder: PurePath) -> bool:
        """Whether git has files in this folder of the working tree, or something in its place."""
        return snapshot.tracks(self._git, folder)

    def ignored(self, endings: tuple[str, ...]) -> Mapping[str, bytes]:
        """How some ignored files of the working tree begin whose names end so."""
        from gateval.adapters.git.ignored import ignored_files

        return ignored_files(self._git, self.root, endings)

    def facts(self) -> CloneFacts:
        """Which git, whether the clone is shallow, and where it came from."""
        from gateval.adapters.git.facts import clone_facts

        return clone_facts(self._git)

    def who(self) -> str:
        """Return the address or name that commits here carry; empty if there is none."""
        from gateval.adapters.git.facts import author

        return author(self._git)

    def records(
        self, environ: Mapping[str, str], *, remote: str = "origin", token: str = ""
    ) -> GitRecords:
        """The records of a remote, as `open_records` has them."""
        from gateval.adapters.git.records.remotes import open_records

        return open_records(self._git, environ, remote=remote, token=token)

    def stored(self, ref: str, file: RecordFile) -> Stored | None:
        """Return a file of records as a ref of this clone holds it, or None without that ref.

        Raises `RecordsError` for a file that is too large or none.
        """
        from gateval.adapters.git.records.stored import stored_at

        revisions.check_name(ref)
        return stored_at(self._git, ref, file)
