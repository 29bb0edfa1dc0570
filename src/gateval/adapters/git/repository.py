"""A repository as the inner rooms see it: `ports.repository.Repository`, fulfilled by git.

The working tree: whether it differs from HEAD, what git has in it, and all of it as a tree.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path, PurePath
from stat import S_ISREG
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from gateval.adapters.git import export, objects
from gateval.adapters.git.objects import check_name
from gateval.adapters.git.run import (
    FULL_CONTENT,
    FULL_HISTORY,
    TIMEOUT_SECONDS,
    Git,
    explain,
    looked_up,
)
from gateval.domain.paths import show_path
from gateval.domain.tree import TreeEntry
from gateval.errors import GatevalError, RepositoryError, UsageError

if TYPE_CHECKING:
    from gateval.adapters.git.records import GitRecords
    from gateval.adapters.git.server import Fetcher, Remote
    from gateval.domain.forge.trigger import Landed
    from gateval.domain.tree import Revision
    from gateval.ports.storage import RecordFile, Stored


WORKTREE = "WORKTREE"
"""What a snapshot of the working tree is called instead of a revision's name."""

_CONFIG = (
    "core.safecrlf=false",
    # A split index would put a part of the temporary one into the repository.
    "core.splitIndex=false",
    "advice.addEmbeddedRepo=false",
)
_ALL = ("add", "--all", "--ignore-errors")
_CHANGED = re.compile(rb"(?:1 \S+ S.M. (?:\S+ ){5}|u \S+ S.M. (?:\S+ ){7})(?P<path>.+)", re.DOTALL)
"""A submodule with edited files, as `git status --porcelain=v2` tells it."""

_ERROR = re.compile(rb"^(?:error|fatal): .*$", re.MULTILINE)
_VANISHED = re.compile(
    rb"^(?:fatal: unable to stat|error: open\().*: No such file or directory$", re.MULTILINE
)
"""A file that went between git's listing and its reading: a program's temporary one."""

_TRIES = 10
_EMPTY_EMBEDDED = b"does not have a commit checked out"

_FILES = 200
"""Files that are opened, and of each the bytes that are read."""

_BYTES = 65_536
_ENTRIES = 20_000
"""Files and folders that are looked at, whatever they are called."""

_OTHERS = frozenset({"node_modules", "site-packages", "__pycache__", "vendor", "venv"})
"""Folders of what was installed or made; so are those whose names begin with a dot."""


class WorkingTree:
    """The working tree at `root`, whose objects and configuration lie in `git_folder`.

    It is looked at as `git add` and `git status` would, with the clean filters (Git LFS, git-crypt,
    ...) that the user's own configuration sets.
    """

    def __init__(self, root: Path, git_folder: Path, git: Git) -> None:
        self.root = root
        self.git_folder = git_folder
        self._git = git.other(folder=root)

    def has_changes(self) -> bool:
        """Whether the working tree differs from HEAD.

        Untracked files count, and of submodules other commits and edited files. What is untracked
        inside a submodule does not.
        """
        counted = ("--untracked-files=normal", "--ignore-submodules=untracked", "--no-renames")
        return bool(self._git.run("status", "--porcelain", "-z", *counted).out)

    def edited_submodules(self) -> tuple[str, ...]:
        """The paths of submodules with edited files, which no snapshot can hold."""
        counted = ("--untracked-files=no", "--ignore-submodules=untracked", "--no-renames")
        lines = self._git.run("status", "--porcelain=v2", "-z", *counted).out.split(b"\0")
        found = (_CHANGED.fullmatch(line) for line in lines)
        return tuple(os.fsdecode(one["path"]) for one in found if one)

    def has_commit(self) -> bool:
        """Whether HEAD is a commit; on a branch without one there is none yet."""
        found = self._git.run("rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1))
        return found.code == 0

    def tracks(self, folder: PurePath) -> bool:
        """Whether the index holds a file below `folder`, or something in its place or a parent's.

        `folder` is relative to the working tree's root.
        """
        if not folder.parts:
            return bool(self._git.run("ls-files", "-z").out)
        listed = self._git.run("ls-files", "-z", "--", f":(literal){folder.parts[0]}").out
        place = os.fsencode(folder)
        above = {os.fsencode(one) for one in (folder, *folder.parents)}
        return any(path in above or path.startswith(place + b"/") for path in listed.split(b"\0"))

    def worktree(self, *only: str) -> Revision:
        """Return the working tree as a revision without a commit. Ignored files stay out, and its
        objects stay in the repository, unreferenced.

        With `only`, the index with these files as they are now: nothing else is stored.

        Everything is added to a private copy of the index; the real one is only read. The copy
        keeps the time stamp, by which git tells which files it need not read again. A conflicted
        file goes in as it stands. An embedded repository counts as a submodule, one without commits
        as nothing.
        """
        with TemporaryDirectory(prefix="gateval-index-") as folder:
            index = Path(folder) / "index"
            try:
                with suppress(FileNotFoundError):  # before the first `git add`
                    shutil.copy2(self.git_folder / "index", index)
            except OSError as error:
                raise RepositoryError(
                    f"The repository's index cannot be copied: {error.strerror}."
                ) from error
            env = {"GIT_INDEX_FILE": str(index)}
            adding = ("update-index", "--add", "--remove", "--", *only) if only else _ALL
            for _ in range(_TRIES):
                added = self._git.run(*adding, accept=(0, 1, 128), env=env, config=_CONFIG)
                if not _VANISHED.search(added.err):
                    break
            errors = _ERROR.findall(added.err)
            if added.code == 128 or any(_EMPTY_EMBEDDED not in line for line in errors):
                raise explain("add", added.err)
            # Objects may be absent from a partial clone, and nothing here needs to open them.
            written = self._git.run("write-tree", "--missing-ok", env=env, config=_CONFIG)
        from gateval.domain.tree import Revision  # pydantic: while git works

        tree = written.out.decode().strip()
        return Revision(name=WORKTREE, commit=None, tree=tree, worktree=True)

    def ignored(self, endings: tuple[str, ...]) -> Mapping[str, bytes]:
        """Return how the first ignored files whose names end so begin, by their paths from `root`.

        Not all are looked for, and what cannot be read is left out: this serves a hint.
        """
        options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory")
        listed = self._git.run("ls-files", *options).out.split(b"\0")
        found: dict[str, bytes] = {}
        paths = _walk(self.root, [os.fsdecode(one) for one in listed if one])
        for path in islice(paths, _ENTRIES):
            if path.endswith(endings) and len(found) < _FILES:
                data = _beginning(self.root / path)
                if data is not None:
                    found[path] = data
        return found


def _walk(root: Path, listed: list[str]) -> Iterator[str]:
    for path in listed:
        if not path.endswith("/"):
            yield path
        elif not any(_is_other(part) for part in path.rstrip("/").split("/")):
            for folder, folders, files in os.walk(root / path):
                folders[:] = sorted(one for one in folders if not _is_other(one))
                above = Path(folder).relative_to(root)
                yield from (str(above / one) for one in sorted(files))


def _is_other(name: str) -> bool:
    return name in _OTHERS or name.startswith(".")


def _beginning(path: Path) -> bytes | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(file, _BYTES) if S_ISREG(os.fstat(file).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(file)


_FOUND = re.compile(r"(?P<oid>[0-9a-f]{40,64}) (?P<kind>commit|tree|blob|tag) \d+")

_REMOTE_HEAD = "refs/remotes/origin/HEAD"
_DEFAULTS = (
    _REMOTE_HEAD,
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
)


class GitRepository(WorkingTree):
    """Fulfils `ports.repository.Repository`.

    Everything but what looks at the working tree reads git objects only, and runs no program that a
    configuration file names.
    """

    def __init__(self, root: Path, git_folder: Path, git: Git) -> None:
        """Use `open_repository`. `git` may stand in any folder of the working tree."""
        super().__init__(root, git_folder, git)
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
        """The commit called `name` and its tree. One process: four questions to `cat-file`."""
        check_name(name)
        questions = (f"{name}^{{commit}}", f"{name}^{{tree}}", name, "HEAD")
        asked = os.fsencode("".join(f"{question}\n" for question in questions))
        lines = [os.fsdecode(line) for line in looked_up(self._git, asked)]
        commit, tree = map(_FOUND.fullmatch, lines[:2])
        if commit and tree:
            from gateval.domain.tree import Revision  # pydantic: while git works

            return Revision(name=name, commit=commit["oid"], tree=tree["oid"])
        raise self._unresolved(name, lines)

    def _unresolved(self, name: str, lines: list[str]) -> GatevalError:
        """The error for a name, from what git answered to the four questions of `resolve`.

        A name that nobody can know is the caller's mistake; what a clone lacks is not.
        """
        commit, _, plain, head = map(_FOUND.fullmatch, lines)
        shown = show_path(name)
        hint = "Name a branch, a tag or a commit."
        if any(line.endswith(" ambiguous") for line in lines):
            return UsageError(f"{shown} is short for several objects.", hint="Use a longer id.")
        if commit:
            return RepositoryError(
                f"The files of the commit {shown} are missing.", hint=FULL_CONTENT
            )
        if plain and plain["kind"] != "tag":
            return UsageError(f"{shown} names a {plain['kind']}, not a commit.", hint=hint)
        if not head:
            return RepositoryError(
                f"There is no revision {shown}: the current branch has no commit yet.",
                hint="Commit something first.",
            )
        if self._is_shallow():
            message = f"There is no revision {shown} in this shallow clone."
            return RepositoryError(message, hint=FULL_HISTORY)
        return UsageError(
            f"There is no revision {shown} in this repository.",
            hint="Check the spelling, or fetch it first.",
        )

    def _is_shallow(self) -> bool:
        return self._git.run("rev-parse", "--is-shallow-repository").out.strip() == b"true"

    def default_branch(self) -> str | None:
        """Return the name of the default branch, as short as it is unambiguous, or None.

        In this order: what the remote `origin` says, its `main` or `master`, the local `main` or
        `master`, and a local branch of the name that git gives to first branches here. A remote
        whose HEAD is detached names a commit, perhaps the very one to measure, and no branch.
        """
        if found := self._first_branch(_DEFAULTS):
            return found
        configured = self._git.run("config", "--get", "init.defaultBranch", accept=(0, 1)).out
        name = os.fsdecode(configured).removesuffix("\n")
        return self._first_branch((f"refs/heads/{name}",)) if name else None

    def _first_branch(self, refs: tuple[str, ...]) -> str | None:
        layout = "--format=%(refname) %(refname:short) %(symref:short)"
        answer = self._git.run("for-each-ref", layout, "--", *refs)
        found = dict(line.split(" ", 1) for line in _split(answer.out))
        for ref in refs:
            if ref in found:
                short, _, target = found[ref].partition(" ")
                if target or ref != _REMOTE_HEAD:
                    return target or short
        return None

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        """Return the best common ancestors of two commits; none when they share no history."""
        check_name(one)
        check_name(other)
        answer = self._git.run("merge-base", "--all", "--end-of-options", one, other, accept=(0, 1))
        if answer.code == 0:
            return tuple(_split(answer.out))
        if self._is_shallow():
            raise RepositoryError(
                f"No common ancestor of {show_path(one)} and {show_path(other)} is in this clone.",
                hint=FULL_HISTORY,
            )
        return ()

    def landed(self, old: str, new: str) -> tuple[Landed, ...]:
        """Return the newest hundred commits of `old..new` along first parents."""
        from gateval.domain.forge.trigger import Landed

        check_name(old)
        check_name(new)
        options = ("--first-parent", "--max-count=100", "--no-show-signature", "--format=%P%n%s")
        answer = self._git.run("log", *options, "-z", "--end-of-options", f"{old}..{new}", "--")
        lines = os.fsdecode(answer.out).removesuffix("\0").split("\0") if answer.out else ()
        found = (line.partition("\n") for line in lines)
        return tuple(Landed(subject, merge=" " in parents) for parents, _, subject in found)

    def tree(self, revision: Revision) -> Mapping[str, TreeEntry]:
        """All entries of a revision, in git's order. Asked for once per tree, then remembered."""
        if revision.tree not in self._trees:
            known = next(iter(self._trees.items()), None)
            self._trees[revision.tree] = (
                objects.entries_like(self._git, revision.tree, *known)
                if known
                else objects.entries(self._git, revision.tree)
            )
        return self._trees[revision.tree]

    def contents(self, revision: Revision) -> Mapping[str, TreeEntry]:
        """All entries of a revision, with those of the submodules whose content is here in the
        place of what names them.
        """
        tree = self.tree(revision)
        if revision.tree not in self._contents:
            named = [path for path, entry in tree.items() if entry.is_submodule]
            if named:
                also = objects.object_folders(self.root, self.git_folder, self.common_folder, named)
                self._also = tuple(dict.fromkeys((*self._also, *also)))
                self._reader = self._git.other(also=self._also)
            found = objects.with_contents(self._git, self._reader, tree) if named else tree
            self._contents[revision.tree] = found
        return self._contents[revision.tree]

    def blobs(self, oids: Iterable[str], *, limit: int) -> Mapping[str, bytes | None]:
        """The contents of these blobs; None for one larger than `limit` bytes."""
        return objects.read_blobs(self._git, oids, limit)

    def diff(self, base: Revision, head: Revision, paths: Sequence[str]) -> Mapping[str, bytes]:
        """The hunks of a unified diff of each of these paths that differs, as if it were text.

        A file that moved among them is told by its path on head; one without other lines is empty.
        """
        return objects.diff(self._git, base.tree, head.tree, paths)

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

    def facts(self) -> CloneFacts:
        """Which git, whether the clone is shallow, and where it came from."""
        version = os.fsdecode(self._git.run("version").out).removeprefix("git version ").strip()
        url = self._git.run("config", "--get", "remote.origin.url", accept=(0, 1)).out
        return CloneFacts(version, self._is_shallow(), read_address(os.fsdecode(url).strip()))

    def who(self) -> str:
        """Return the address or name that commits here carry; empty if there is none."""
        for key in ("user.email", "user.name"):
            found = self._git.run("config", "--get", key, accept=(0, 1)).out
            if found.strip():
                return os.fsdecode(found).strip()
        return ""

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

        check_name(ref)
        return stored_at(self._git, ref, file)


def _split(out: bytes) -> list[str]:
    return os.fsdecode(out).removesuffix("\n").split("\n") if out else []


OLDEST_GIT = "2.31"
_NEW_OPTION = "--path-format=absolute"


def open_repository(
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    timeout: float = TIMEOUT_SECONDS,
    trusted: bool = False,
    bare: bool = False,
) -> GitRepository:
    """Return the repository whose working tree holds the folder `start` (default: where we are).

    `environ` is what git's environment is made from (default: that of this process); `timeout`
    counts seconds per git process. `trusted` says that `start` is the top of a repository that may
    belong to another user, as the workspace does in a container on a runner. `bare` says that a
    working tree is not needed. Raises `RepositoryError` when git is missing or too old, when there
    is no repository, or when it is bare or belongs to someone else.
    """
    folder = (start or Path.cwd()).resolve()
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


def read_address(url: str) -> tuple[str, str] | None:
    """Return host and `owner/name` of a remote's address; a user or password in it is left out."""
    found = _ADDRESS.fullmatch(url)
    return (found["host"], found["name"]) if found else None
