"""A repository as the inner rooms see it: `ports.repository.Repository`, fulfilled by git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from gateval.adapters.git import export, objects, worktree
from gateval.adapters.git import objects as revisions
from gateval.adapters.git.run import TIMEOUT_SECONDS, Git
from gateval.domain.paths import show_path
from gateval.domain.tree import TreeEntry
from gateval.errors import RepositoryError

if TYPE_CHECKING:
    from gateval.adapters.git.records import GitRecords
    from gateval.adapters.git.server import Fetcher, Remote
    from gateval.domain.forge.trigger import Landed
    from gateval.domain.plan.plan import Revision
    from gateval.ports.storage import RecordFile, Stored


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
        return worktree.take(self._git, self.git_folder, only)

    def has_changes(self) -> bool:
        """Whether tracked or untracked files differ from HEAD."""
        return worktree.has_changes(self._git)

    def edited_submodules(self) -> tuple[str, ...]:
        """The submodules in which tracked files were edited and not committed."""
        return worktree.edited_submodules(self._git)

    def has_commit(self) -> bool:
        """Whether HEAD is a commit; in a new repository there is none yet."""
        return worktree.has_commit(self._git)

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
            return objects.entries_like(self._git, tree, known, listed)
        return objects.entries(self._git, tree)

    def contents(self, revision: Revision) -> Mapping[str, TreeEntry]:
        """All entries of a revision, with those of the submodules whose content is here in the
        place of what names them.
        """
        tree = self.tree(revision)
        if revision.tree not in self._contents:
            named = [path for path, entry in tree.items() if entry.is_submodule]
            if named:
                also = objects.object_folders(self.root, self.git_folder, named)
                self._also = tuple(dict.fromkeys((*self._also, *also)))
                self._reader = self._git.reading(self._also)
            found = objects.with_contents(self._git, self._reader, tree) if named else tree
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
        from gateval.adapters.git.server import Fetcher

        return Fetcher(self._git, remote)

    def tracks(self, folder: PurePath) -> bool:
        """Whether git has files in this folder of the working tree, or something in its place."""
        return worktree.tracks(self._git, folder)

    def ignored(self, endings: tuple[str, ...]) -> Mapping[str, bytes]:
        """How some ignored files of the working tree begin whose names end so."""
        from gateval.adapters.git.worktree import ignored_files

        return ignored_files(self._git, self.root, endings)

    def facts(self) -> CloneFacts:
        """Which git, whether the clone is shallow, and where it came from."""
        return clone_facts(self._git)

    def who(self) -> str:
        """Return the address or name that commits here carry; empty if there is none."""
        return author(self._git)

    def records(
        self, environ: Mapping[str, str], *, remote: str = "origin", token: str = ""
    ) -> GitRecords:
        """The records of a remote, as `open_records` has them."""
        from gateval.adapters.git.records import open_records

        return open_records(self._git, environ, remote=remote, token=token)

    def stored(self, ref: str, file: RecordFile) -> Stored | None:
        """Return a file of records as a ref of this clone holds it, or None without that ref.

        Raises `RecordsError` for a file that is too large or none.
        """
        from gateval.adapters.git.records import stored_at

        revisions.check_name(ref)
        return stored_at(self._git, ref, file)


OLDEST_GIT = "2.31"
_NEW_OPTION = "--path-format=absolute"


def open_repository(
    start: Path,
    environ: Mapping[str, str] | None = None,
    *,
    timeout: float = TIMEOUT_SECONDS,
    trusted: bool = False,
    bare: bool = False,
) -> GitRepository:
    """Return the repository whose working tree holds the folder `start`.

    `environ` is what git's environment is made from (default: that of this process); `timeout`
    counts seconds per git process. `trusted` says that `start` is the top of a repository that may
    belong to another user, as the workspace does in a container on a runner. `bare` says that a
    working tree is not needed. Raises `RepositoryError` when git is missing or too old, when there
    is no repository, or when it is bare or belongs to someone else.
    """
    folder = start.resolve()
    # For this process alone: no configuration file is touched, and HOME may be anywhere.
    config = (f"safe.directory={folder}",) if trusted else ()
    git = Git(folder, os.environ if environ is None else environ, timeout=timeout, config=config)
    # The git folder comes last, because its name may hold any byte but NUL.
    asked = ("--is-bare-repository", "--is-inside-work-tree", "--show-cdup", "--absolute-git-dir")
    answer = git.run("rev-parse", _NEW_OPTION, *asked)
    if answer.out.startswith(_NEW_OPTION.encode()):
        version = os.fsdecode(git.run("version").out).removeprefix("git version ").strip()
        raise RepositoryError(  # git before 2.31 repeats options that it does not know
            f"git {show_path(version)} is too old; Gateval needs {OLDEST_GIT} or newer.",
            hint="Install a newer git.",
        )
    is_bare, inside, up, rest = os.fsdecode(answer.out).split("\n", 3)
    git_folder = rest.removesuffix("\n")
    if bare and inside != "true":
        return GitRepository(Path(git_folder), Path(git_folder), git)
    if is_bare == "true":
        where = show_path(git_folder or str(folder))
        raise RepositoryError(
            f"{where} is a bare repository; Gateval needs a working tree.",
            hint="Clone it, and start Gateval in the clone.",
        )
    if inside != "true":
        raise RepositoryError(
            f"{show_path(str(folder))} lies outside the working tree of its repository.",
            hint="Start Gateval in the folder that holds the checked-out files.",
        )
    return GitRepository((folder / up).resolve(), Path(git_folder), git)


_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/]*@)?(?P<host>[^/:@]+)(?::\d+)?[:/](?P<name>[^/]+/[^/]+?)"
    r"(?:\.git)?/?"
)


class CloneFacts(NamedTuple):
    """`origin` is host and `owner/name` of the remote `origin`, None if it is no such address."""

    version: str
    shallow: bool
    origin: tuple[str, str] | None


def clone_facts(git: Git) -> CloneFacts:
    """Ask git for all of it. Raises `RepositoryError`."""
    version = os.fsdecode(git.run("version").out).removeprefix("git version ").strip()
    shallow = git.run("rev-parse", "--is-shallow-repository").out.strip() == b"true"
    url = git.run("config", "--get", "remote.origin.url", accept=(0, 1)).out
    return CloneFacts(version, shallow, read_address(os.fsdecode(url).strip()))


def author(git: Git) -> str:
    """Return the address or name that commits carry; empty if there is none."""
    for key in ("user.email", "user.name"):
        found = git.run("config", "--get", key, accept=(0, 1)).out
        if found.strip():
            return os.fsdecode(found).strip()
    return ""


def read_address(url: str) -> tuple[str, str] | None:
    """Return host and `owner/name` of a remote's address; a user or password in it is left out."""
    found = _ADDRESS.fullmatch(url)
    return (found["host"], found["name"]) if found else None
