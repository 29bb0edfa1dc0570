"""The working tree: whether it differs from HEAD, what git has in it, and all of it as a tree."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePath
from stat import S_ISREG
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from gateval.adapters.git.run import Git, explain
from gateval.errors import RepositoryError

if TYPE_CHECKING:
    from gateval.domain.tree import Revision


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
