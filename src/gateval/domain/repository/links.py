"""Symbolic links of a revision: where they lead, and that none leads out of an export. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.domain.repository.paths import show_path
from gateval.errors import RepositoryError

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
