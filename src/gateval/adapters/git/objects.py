"""Reads git's object store: blobs, trees and submodules.

Nothing is fetched, and `.gitmodules` is not asked: a pull request writes that. A submodule's entry
names a commit, whose id says what it holds, and any object folder of a submodule that lies in the
git folder or in the working tree may have it. What leads out of both, over links or alternates, is
passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from gateval.adapters.git.run import FULL_CONTENT, Git, GitProcess, asked, looked_up
from gateval.domain.paths import show_path
from gateval.domain.tree import FOLDER_MODE, POINTER_LIMIT, TreeEntry, is_lfs_pointer
from gateval.errors import RepositoryError, UsageError

_PIECE = 1024 * 1024


class Batch:
    """Blobs on their way out of one `git cat-file --batch`, in the order they were asked for.

    For each blob call `size`, then `read` or `copy` with that size.
    """

    def __init__(self, process: GitProcess, count: int) -> None:
        self._process = process
        self._left = count

    def _passed(self) -> None:
        self._left -= 1
        self._process.answered = not self._left

    def size(self, oid: str) -> int:
        """Return the size of the next blob, which has to be `oid`, in bytes."""
        header = self._process.out.readline()
        if not header:
            raise self._process.failure()
        return _size(header, oid)

    def read(self, size: int) -> bytes:
        """Return the content of the blob whose size was just given."""
        content = self._process.out.read(size + 1)
        if len(content) != size + 1:
            raise self._process.failure()
        self._passed()
        return content[:-1]

    def copy(self, size: int, target: int) -> None:
        """Write the content of the blob whose size was just given to the open file `target`."""
        left = size
        while left > 0:
            piece = self._process.out.read(min(left, _PIECE))
            if not piece:
                raise self._process.failure()
            left -= len(piece)
            while piece:
                piece = piece[os.write(target, piece) :]
        self._process.out.read(1)
        self._passed()


@contextmanager
def batch(git: Git, oids: Iterable[str]) -> Iterator[Batch]:
    """Start reading these blobs; leaving early is fine."""
    wanted = tuple(oids)
    with asked(git, "--batch", _lines(wanted)) as process:
        yield Batch(process, len(wanted))


def read_blobs(git: Git, oids: Iterable[str], limit: int) -> dict[str, bytes | None]:
    """Return the contents of these blobs; None for one larger than `limit` bytes.

    One process. Only when a blob is too large, two more: the first tells the sizes of the rest,
    so that the second need not carry what nobody wants.
    """
    wanted = list(dict.fromkeys(oids))
    found: dict[str, bytes | None] = dict(_read_until(git, wanted, limit))
    rest = wanted[len(found) :]
    if rest:
        small = [oid for oid, size in sizes(git, rest).items() if size <= limit]
        found |= dict.fromkeys(rest)
        found |= _read_until(git, small, limit)
    return found


def sizes(git: Git, oids: Sequence[str]) -> dict[str, int]:
    """Return the size of each of these blobs in bytes. One process, no content."""
    if not oids:
        return {}
    headers = looked_up(git, _lines(oids))
    return {oid: _size(header, oid) for oid, header in zip(oids, headers, strict=True)}


def lfs_pointers(
    git: Git, entries: Mapping[str, TreeEntry], paths: Iterable[str]
) -> tuple[str, ...]:
    """Return those of `paths`, in their order, whose file in `entries` is a Git LFS pointer.

    An agent started on a pointer would be judged unfairly. Paths that are not in the tree, or no
    regular files, are none. Only small blobs are read.
    """
    files = {path: entries[path].oid for path in paths if path in entries and entries[path].is_file}
    oids = list(dict.fromkeys(files.values()))
    small = [oid for oid, size in sizes(git, oids).items() if size < POINTER_LIMIT]
    contents = read_blobs(git, small, POINTER_LIMIT)
    found = {oid for oid, content in contents.items() if content and is_lfs_pointer(content)}
    return tuple(path for path, oid in files.items() if oid in found)


def _read_until(git: Git, oids: Sequence[str], limit: int) -> Iterator[tuple[str, bytes]]:
    """Give each blob in order and end before the first that is larger than `limit`."""
    if not oids:
        return
    with batch(git, oids) as blobs:
        for oid in oids:
            size = blobs.size(oid)
            if size > limit:
                return
            yield oid, blobs.read(size)


def _size(header: bytes, oid: str) -> int:
    """Parse `<oid> blob <size>`; the other answer is `<oid> missing`."""
    words = header.split()
    if words[-1] == b"missing":
        raise RepositoryError(f"The object {oid} is missing here.", hint=FULL_CONTENT)
    if len(words) != 3 or words[1] != b"blob":
        raise RepositoryError(f"The object {oid} is not the content of a file.")
    return int(words[2])


def _lines(oids: Iterable[str]) -> bytes:
    return "".join(f"{oid}\n" for oid in oids).encode()


_CHANGE = re.compile(r":[0-7]{6} ([0-7]{6}) [0-9a-f]{40,64} ([0-9a-f]{40,64}) ([A-Z])\0([^\0]*)\0")
_LINE = re.compile(r"([0-7]{6}) [a-z]+ ([0-9a-f]{40,64})\t([^\0]*)\0")


def entries(git: Git, tree: str) -> Mapping[str, TreeEntry]:
    """Return all entries of the tree with this object id: path from its root → entry.

    One `git ls-tree`; 10,000 entries take about 10 ms to parse. A tree that lists one path twice
    is forged and refused.
    """
    answer = git.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree)
    lines = _LINE.findall(os.fsdecode(answer.out))
    found = {path: TreeEntry(mode, oid) for mode, oid, path in lines}
    if len(found) != answer.out.count(b"\0"):
        raise RepositoryError(f"The tree {tree[:7]} is malformed: it lists a path twice.")
    return MappingProxyType(found)


def entries_like(
    git: Git, tree: str, known: str, listed: Mapping[str, TreeEntry]
) -> Mapping[str, TreeEntry]:
    """Return what `entries` returns for `tree`, given what it returned for `known`.

    One `git diff-tree`: two revisions of one repository share most of their entries.
    """
    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff")
    answer = git.run("diff-tree", *options, "--end-of-options", known, tree)
    found = dict(listed)
    for mode, oid, status, path in _CHANGE.findall(os.fsdecode(answer.out)):
        if status == "D":
            found.pop(path, None)
        else:
            found[path] = TreeEntry(mode, oid)
    if len(found) != len(listed) or found.keys() != listed.keys():
        found = dict(sorted(found.items(), key=lambda item: os.fsencode(item[0])))
    return MappingProxyType(found)


_MOVED = re.compile(rb":[^\0]* (?P<status>[A-Z])\d*\0")
_PATCH = re.compile(rb"^diff --git ", re.MULTILINE)
_HUNKS = re.compile(rb"^@@ .*", re.MULTILINE | re.DOTALL)


def diff(git: Git, base: str, head: str, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the hunks of a unified diff of these paths between two trees: by path on head, else
    base. Files that only moved, or got another mode, have none.

    What `.gitattributes` says of files does not count: a pull request writes that.
    """
    options = ("-r", "-z", "--patch-with-raw", "--text", "-M", "--no-ext-diff", "--no-textconv")
    literal = [f":(literal){path}" for path in paths]
    if not literal:
        return {}
    out = git.run("diff-tree", *options, "--end-of-options", base, head, "--", *literal).out
    listed: list[str] = []
    at = 0
    while one := _MOVED.match(out, at):
        moved, split = one["status"] in b"RC", one["status"] == b"T"
        names = out[one.end() :].split(b"\0", 2)[: 2 if moved else 1]
        at = one.end() + sum(len(name) + 1 for name in names)
        listed += [os.fsdecode(names[-1])] * (2 if split else 1)
    rest = out[at:].removeprefix(b"\0")
    patches = _PATCH.split(rest)[1:]  # a line of a file begins with another character
    if len(patches) != len(listed):
        raise RepositoryError("`git diff-tree` names other files than it compares.")
    found = dict.fromkeys(listed, b"")
    for path, patch in zip(listed, patches, strict=True):
        hunks = _HUNKS.search(patch)
        found[path] += hunks[0] if hunks else b""
    return found


_MODULES_LIMIT = 1_000
"""Folders of objects that are looked into; a repository with more has other troubles."""

_DEPTH_LIMIT = 20
_NESTED_LIMIT = 10
_ENTRIES_LIMIT = 1_000_000


def object_folders(
    root: Path, git_folder: Path, common: Path, paths: Iterable[str]
) -> tuple[Path, ...]:
    """Return the folders that hold objects of submodules: those below `modules` of the git folder
    and of the `common` one of all working trees, and those of submodules at `paths` that keep
    theirs in the working tree.
    """
    folders = tuple(dict.fromkeys((git_folder.resolve(), common)))
    inside = tuple(folder.resolve() for folder in (root, *folders))
    found = [one for folder in folders for one in _below(folder / "modules", 0)]
    found += [root / path / ".git" / "objects" for path in paths]
    kept = (one for one in dict.fromkeys(found) if _is_own(one, inside))
    return tuple(kept)[:_MODULES_LIMIT]


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
        if objects.resolve(strict=True) != Path(os.path.normpath(objects)) or not objects.is_dir():
            return False
        alternates = objects / "info" / "alternates"
        named = alternates.read_bytes().splitlines() if os.path.lexists(alternates) else []
    except OSError:
        return False
    others = (Path(objects, os.fsdecode(one)).resolve() for one in named if one)
    return all(any(one.is_relative_to(home) for home in inside) for one in others)


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
        inner = entries(git, commit)
        asked = sorted({one.oid for one in inner.values() if not one.is_submodule})
        answers = looked_up(git, "".join(f"{oid}\n" for oid in asked).encode()) if asked else []
    except RepositoryError:
        return None
    return inner if all(one.split()[1:2] == [b"blob"] for one in answers) else None


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_name(name: str) -> None:
    """Raise `UsageError` for a name that git could take for something else."""
    if not name or name.startswith("-") or _CONTROL.search(name):
        raise UsageError(
            f"{show_path(name) or 'An empty name'} cannot be the name of a revision.",
            hint="Name a branch, a tag or a commit.",
        )
    if not name.isascii() and any(0xD800 <= ord(char) <= 0xDFFF for char in name):
        raise UsageError(f"The revision name {show_path(name)} is not valid UTF-8.")
