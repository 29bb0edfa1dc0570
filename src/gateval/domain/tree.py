"""The tree of one revision: what each path holds, what links point to, who gets which files. Pure.

Format: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md (pointers are under 1,024 bytes).

The rules and not the list of paths: a closure may hold ten thousand files, on two sides.

A branch moves, and what it holds may change without a change here. So a revision says in its own
lock file which commit is meant and what its file holds, and nothing else counts.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote, urlsplit

from pydantic import Field, ValidationError

from gateval.domain.base import Sha, Value, is_sha, known_of_last
from gateval.domain.paths import folder_of, match_any, path_of_text, path_text, show_path
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.errors import RepositoryError

LINK_MODE = "120000"
FOLDER_MODE = "040000"


class TreeEntry(NamedTuple):
    """One entry of a tree: git's mode as text (`100644`, `120000`, `160000`, ...) and object id."""

    mode: str
    oid: str

    @property
    def is_file(self) -> bool:
        """A regular file, executable or not."""
        return self.mode in {"100644", "100755"}

    @property
    def is_symlink(self) -> bool:
        """A symbolic link."""
        return self.mode == LINK_MODE

    @property
    def is_submodule(self) -> bool:
        """A commit of another repository."""
        return self.mode == "160000"

    @property
    def is_folder(self) -> bool:
        """A folder without files, which only a submodule can be."""
        return self.mode == FOLDER_MODE


Tree = Mapping[str, TreeEntry]
"""All entries of a revision by path (`os.fsdecode`d, relative to the repository root)."""


def changed_paths(one: Tree, other: Tree) -> frozenset[str]:
    """Return the paths whose entry differs, or that only one of the trees has."""
    return frozenset(path for path, _ in one.items() ^ other.items())


def below(paths: Sequence[str], root: str) -> Sequence[str]:
    """Return those of the sorted paths that are `root` or stand in it; "" is the whole tree."""
    if not root:
        return paths
    start = bisect_left(paths, f"{root}/")
    inside = paths[start : bisect_left(paths, f"{root}0")]  # "0" follows "/"
    here = bisect_left(paths, root)
    return (root, *inside) if paths[here : here + 1] == [root] else inside


def folders_of(path: str) -> Iterator[str]:
    """Yield the folders around a path, outermost first, but not the root."""
    return (path[:at] for at, char in enumerate(path) if char == "/")


def under(path: str, roots: Collection[str]) -> bool:
    """Whether a path is one of the roots or lies below one; the root "" holds everything."""
    return "" in roots or path in roots or any(folder in roots for folder in folders_of(path))


def has_folder(tree: Tree, path: str) -> bool:
    """Whether an entry stands below `path`, whose links are not followed; the root is a folder."""
    prefix, paths = f"{path}/", sorted_paths(tree)
    here = bisect_left(paths, prefix)
    return not path or any(found.startswith(prefix) for found in paths[here : here + 1])


@known_of_last
def sorted_paths(tree: Tree) -> Sequence[str]:
    """Return all paths of a tree, sorted, so that a folder's files stand together."""
    return sorted(tree)


MOST_HOPS = 40
"""Links that Linux follows for one path before it gives up (path_resolution(7))."""

TEXT_LIMIT = 1024 * 1024
"""Characters of all link targets together; bounds the time of the check."""


PATH_LIMIT = 4096
"""Bytes of a path, beyond which Linux follows no link (PATH_MAX)."""


def walk_links(path: str, targets: Mapping[str, str]) -> tuple[list[str], str | None]:
    """Follow a path from the root as the kernel would, over all links on the way.

    Return these links, in order, and where the path ends; None if it leads out of the root or over
    more than `MOST_HOPS` links. `targets` is as in `check_links`.
    """
    left = path.split("/")[::-1]
    here: list[str] = []
    passed: list[str] = []
    while left:
        part = left.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            if not here:
                return passed, None
            here.pop()
            continue
        here.append(part)
        spot = "/".join(here)
        target = targets.get(spot)
        if target is None:
            continue
        passed.append(spot)
        if len(passed) > MOST_HOPS or len(target) > PATH_LIMIT or target.startswith("/"):
            return passed, None
        here.pop()
        left += target.split("/")[::-1]
    return passed, "/".join(here)


def check_links(targets: Mapping[str, str]) -> None:
    """Raise `RepositoryError` for the first link that could lead outside, naming it.

    `targets` is path of the link → what it holds, for all links of the tree; paths are relative to
    its root. Refused are absolute and empty targets, those that climb above the root (also where
    part of the way does not exist), and chains of more than `MOST_HOPS` links, circles included.
    """
    if sum(map(len, targets.values())) > TEXT_LIMIT:
        raise RepositoryError("The symbolic links of this revision are too many to be checked.")
    walk = _Walk(targets)
    for path in targets:
        walk.follow(path, 0)


class _Walk:
    """Follows links as the kernel would, each of them once."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self._targets = targets
        self._ends: dict[str, tuple[str, int]] = {}

    def follow(self, path: str, depth: int) -> tuple[str, int]:
        """Return the path where the link `path` ends, and over how many links that goes."""
        if path not in self._ends:
            if depth > MOST_HOPS:
                raise _refused(path, self._targets[path], "leads through too many other links")
            self._ends[path] = self._resolve(path, depth)
        return self._ends[path]

    def _resolve(self, path: str, depth: int) -> tuple[str, int]:
        target = self._targets[path]
        if not target or target.startswith("/") or "\0" in target:
            raise _refused(path, target, "does not hold a relative path")
        here = path.rpartition("/")[0]
        hops = 1
        for part in target.split("/"):
            if part in {"", "."}:
                continue
            if part == "..":
                if not here:
                    raise _refused(path, target, "leads out of the repository")
                here = here.rpartition("/")[0]
                continue
            here = f"{here}/{part}" if here else part
            if here in self._targets:
                here, more = self.follow(here, depth + 1)
                hops += more
        if hops > MOST_HOPS:
            raise _refused(path, target, "leads through too many other links")
        return here, hops


def _refused(path: str, target: str, why: str) -> RepositoryError:
    return RepositoryError(
        f"The symbolic link {show_path(path)} {why} (target: {show_path(target[:200])}).",
        hint="Gateval exports only links that stay inside the repository. Change or remove it.",
    )


POINTER_LIMIT = 1024
"""Bytes that every pointer stays below."""

_FIRST_LINE = b"version https://git-lfs.github.com/spec/v1"


def is_lfs_pointer(content: bytes) -> bool:
    """Whether the content of a file is a pointer to it, as git keeps it."""
    return content.startswith(_FIRST_LINE) and len(content) < POINTER_LIMIT


class FileRules(Value):
    """Files and folders (`roots`, "" is the whole repository) and patterns, from the root.

    `folder` is where the candidate works, links followed; it is there even if nothing is in it.
    All three are as `path_text` gives them.
    """

    roots: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    folder: str = ""

    def contents(self, tree: Tree, hidden: Collection[str]) -> Contents:
        """Return what of this tree a candidate gets. `hidden` is what none gets."""
        paths = sorted_paths(tree)
        roots = {path_of_text(root) for root in self.roots}
        found = {path for root in roots for path in below(paths, root)}
        for pattern in map(path_of_text, self.patterns):
            found |= set(filter(match_any([pattern]), below(paths, folder_of(pattern))))
        kept = {path for path in found if path not in hidden}
        folders = {path.rpartition("/")[0] for path in found - kept}
        folder = path_of_text(self.folder)
        if not any(step in tree for step in (*folders_of(folder), folder)):
            folders.add(folder)
        return Contents(paths=tuple(sorted(kept)), folders=tuple(sorted(folders - {""})))


@dataclass(frozen=True)
class Contents:
    """The paths of files, links and submodules, and of folders that are there in any case."""

    paths: tuple[str, ...]
    folders: tuple[str, ...]


def file_rules(roots: Collection[str], patterns: Collection[str], folder: str | None) -> FileRules:
    """Make rules of paths as trees have them; what lies in another root is left out."""
    kept = {root for root in roots if not any(step in roots for step in _around(root))}
    return FileRules.of_known(
        roots=tuple(sorted(map(path_text, kept))),
        patterns=tuple(sorted(map(path_text, patterns))),
        folder=path_text(folder or ""),
    )


def _around(path: str) -> Iterator[str]:
    if path:
        yield ""
        yield from folders_of(path)


LOCK_PATH = ".gateval/sources.lock"

_PATH = re.compile(r"/(?P<repository>[\w.~-]+(?:/[\w.~-]+)+?)/(?:-/)?(?:blob|src)/(?P<rest>.+)")
_PREFIXES = frozenset(
    {
        *("feature", "feat", "bugfix", "hotfix", "fix", "release", "chore", "refactor", "docs"),
        *("test", "ci", "build", "perf", "style"),
    }
)
"""First parts of branches that are called in two."""

_SHAPE = (
    "A file of another repository is named by https://HOST/OWNER/REPO/blob/REF/PATH (on Bitbucket "
    "/src/REF/PATH), without a user, a query or a fragment."
)
_STALE = f"{LOCK_PATH} is not as `gateval lock` writes it. Run that, and commit the file."


class GitFile(Value):
    """A file of another repository: host (with its port, if any), URL to clone, branch and path.

    `choices` are the refs and paths that the URL may mean, the likeliest first: `feature/x/a.md` is
    `a.md` on the branch `feature/x`, or else `x/a.md` on `feature`.
    """

    url: str
    host: str
    repository: str
    choices: tuple[tuple[str, str], ...]

    def may_be(self, locked: LockedFile) -> bool:
        """Whether a lock names a file that this URL can mean; a whole commit id means itself."""
        return any(
            path == locked.path and (not is_sha(ref) or ref == locked.commit)
            for ref, path in self.choices
        )

    def shown(self, path: str) -> str:
        """Return what the file is called where people and agents see it."""
        return f"{self.host}/{self.repository.split('/', 3)[3].removesuffix('.git')}/{path}"


def git_file(url: str) -> GitFile:
    """Take the URL of a file apart. Raises `ValueError` with a sentence."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(_SHAPE) from None
    found = _PATH.fullmatch(parts.path)
    plain = parts.scheme == "https" and not (parts.query or parts.fragment or "@" in parts.netloc)
    if not plain or not parts.hostname or found is None or not url.isprintable():
        raise ValueError(_SHAPE)
    steps = [unquote(step) for step in found["rest"].split("/")]
    names = [*found["repository"].split("/"), *steps]
    if any(map(_is_odd, names)) or steps[0].startswith("-"):
        raise ValueError(_SHAPE)
    choices = tuple(_choices(steps))
    if not choices:
        raise ValueError(_SHAPE)
    host = parts.hostname.lower() + (f":{port}" if port else "")
    repository = found["repository"].removesuffix(".git")
    return GitFile(
        url=url,
        host=host,
        repository=f"https://{host}/{percent_encoded(repository)}.git",
        choices=choices,
    )


def _is_odd(step: str) -> bool:
    return step in {"", ".", ".."} or "/" in step or not step.isprintable()


def _choices(steps: list[str]) -> Iterator[tuple[str, str]]:
    if len(steps) > 2 and steps[0] in _PREFIXES:
        yield f"{steps[0]}/{steps[1]}", "/".join(steps[2:])
    if len(steps) > 1:
        yield steps[0], "/".join(steps[1:])


class LockedFile(Value):
    """What a URL means: a commit, the path in it, and the SHA-256 of what the file holds."""

    commit: Sha
    path: Annotated[str, Field(min_length=1, max_length=4_000)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    def holds(self, data: bytes) -> bool:
        """Whether this is what the file held when it was locked."""
        return hashlib.sha256(data).hexdigest() == self.sha256


class SourcesLock(Value):
    """The lock of a revision: its files by URL."""

    version: Literal[1] = 1
    files: Mapping[str, LockedFile] = Field(default_factory=dict)


def read_lock(data: bytes) -> SourcesLock:
    """Read a lock file. Raises `ValueError` with a sentence."""
    try:
        return SourcesLock.model_validate(read_json(data.decode("utf-8")))
    except (NotStrictJson, UnicodeDecodeError, ValidationError):
        raise ValueError(_STALE) from None


class Revision(Value):
    """A revision as asked for and as found.

    `commit` is None for a snapshot of uncommitted changes (`worktree`), which has a tree only.
    """

    name: str
    commit: str | None
    tree: Sha
    worktree: bool = False

    @property
    def short(self) -> str:
        """How people call it: seven digits of the commit, or `working tree`."""
        return self.commit[:7] if self.commit else "working tree"
