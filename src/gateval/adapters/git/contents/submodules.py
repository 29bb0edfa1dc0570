"""The content of submodules, as far as this repository's own folder has it.

Nothing is fetched, and `.gitmodules` is not asked: a pull request writes that. A submodule's entry
names a commit, whose id says what it holds, and any object folder of a submodule that lies in the
git folder or in the working tree may have it. What leads out of both, over links or alternates, is
passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from gateval.adapters.git.cat_file import looked_up
from gateval.adapters.git.contents import trees
from gateval.adapters.git.run import Git
from gateval.domain.repository.tree import FOLDER_MODE, TreeEntry
from gateval.errors import RepositoryError

_MODULES_LIMIT = 1_000
"""Folders of objects that are looked into; a repository with more has other troubles."""

_DEPTH_LIMIT = 20
_NESTED_LIMIT = 10
_ENTRIES_LIMIT = 1_000_000


def object_folders(root: Path, git_folder: Path, paths: Iterable[str]) -> tuple[Path, ...]:
    """Return the folders that hold objects of submodules: those below `modules` of the git folder,
    and those of submodules at `paths` that keep theirs in the working tree.
    """
    folders = tuple(dict.fromkeys((git_folder.resolve(), _common(git_folder))))
    inside = tuple(folder.resolve() for folder in (root, *folders))
    found = [one for folder in folders for one in _below(folder / "modules", 0)]
    found += [root / path / ".git" / "objects" for path in paths]
    kept = (one for one in dict.fromkeys(found) if _is_own(one, inside))
    return tuple(kept)[:_MODULES_LIMIT]


def _common(git_folder: Path) -> Path:
    """The folder that a linked working tree shares with the repository's others."""
    try:
        return (git_folder / (git_folder / "commondir").read_text().strip()).resolve()
    except OSError:
        return git_folder


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the object folders of the modules in a folder and of those in them. No link is
    followed.
    """
    if depth > _DEPTH_LIMIT or folder.is_symlink() or not folder.is_dir():
        return
    if (folder / "HEAD").is_file():
        yield folder / "objects"
        yield from _below(folder / "modules", depth + 1)
        return
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        yield from _below(Path(entry.path), depth + 1)


def _is_own(objects: Path, inside: tuple[Path, ...]) -> bool:
    """Whether this is a folder of objects that is where it says, and takes none from elsewhere."""
    try:
        if objects.resolve(strict=True) != _plain(objects) or not objects.is_dir():
            return False
        alternates = objects / "info" / "alternates"
        named = alternates.read_bytes().splitlines() if os.path.lexists(alternates) else []
    except OSError:
        return False
    others = (Path(objects, os.fsdecode(one)).resolve() for one in named if one)
    return all(any(one.is_relative_to(home) for home in inside) for one in others)


def _plain(objects: Path) -> Path:
    """The path with the links above the repository resolved, and none below."""
    return Path(os.path.normpath(objects))


def with_contents(own: Git, git: Git, tree: Mapping[str, TreeEntry]) -> Mapping[str, TreeEntry]:
    """Return the entries of a tree with those of submodules in the place of what names them, where
    all of their content is here.

    `git` reads the objects of submodules, too, and `own` does not: a commit of the repository
    itself is no submodule's, and would show candidates what they must not see.
    """
    found = dict(tree)
    todo = [(path, entry.oid, 0) for path, entry in tree.items() if entry.is_submodule]
    while todo:
        path, commit, depth = todo.pop()
        known = depth >= _NESTED_LIMIT or _has(own, commit)
        inner = None if known else _listed(git, commit)
        if inner is None or len(found) + len(inner) > _ENTRIES_LIMIT:
            continue
        del found[path]
        if not inner:
            found[path] = TreeEntry(FOLDER_MODE, commit)
        found |= {f"{path}/{name}": entry for name, entry in inner.items()}
        todo += [
            (f"{path}/{name}", one.oid, depth + 1)
            for name, one in inner.items()
            if one.is_submodule
        ]
    return MappingProxyType(dict(sorted(found.items(), key=lambda one: os.fsencode(one[0]))))


def _has(git: Git, oid: str) -> bool:
    try:
        (answer,) = looked_up(git, f"{oid}\n".encode())
    except RepositoryError:  # a partial clone that would have to ask for it
        return False
    return not answer.endswith(b" missing")


def _listed(git: Git, commit: str) -> Mapping[str, TreeEntry] | None:
    """Return the entries of a submodule's commit; None unless all of its content is here."""
    try:
        inner = trees.entries(git, commit)
        asked = sorted({one.oid for one in inner.values() if not one.is_submodule})
        answers = looked_up(git, "".join(f"{oid}\n" for oid in asked).encode()) if asked else []
    except RepositoryError:
        return None
    return inner if all(one.split()[1:2] == [b"blob"] for one in answers) else None
