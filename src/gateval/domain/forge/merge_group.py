"""Which pull requests a group of the merge queue holds, as far as its commits tell."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_IN_QUEUE = re.compile(
    r"Merge pull request #([1-9]\d{0,8}) from \S+\Z|.*\(#([1-9]\d{0,8})\)\Z", re.DOTALL
)
"""The name of a branch has no spaces; a title that begins like a merge may have."""


class Landed(NamedTuple):
    """A commit of a merge group: its first line, and whether it is a merge."""

    subject: str
    merge: bool = True


def group_members(last: int, commits: Collection[Landed]) -> tuple[int, ...]:
    """Return the pull requests of a merge group, in their order.

    `last` is known from the group's ref, and one commit alone is its. `commits` are those along
    first parents, of which GitHub ends the first lines of squashed ones with the number and begins
    those of merges with it. Those of rebased ones are their authors' words: `known_for_certain`.
    """
    if len(commits) == 1:
        return (last,)
    found = (_IN_QUEUE.match(commit.subject) for commit in commits)
    return tuple(sorted({last, *(int(one[1] or one[2]) for one in found if one)}))


def known_for_certain(members: Collection[int], commits: Collection[Landed]) -> bool:
    """Whether a merge group holds no other pull request than `members`.

    One commit is that of the pull request in the group's ref. Of several, each has to be a merge,
    which only the queue makes there, and name a pull request of its own: a commit that is none may
    have been rebased, and then its author chose the number.
    """
    return len(members) == len(commits) and (
        len(commits) == 1 or all(commit.merge for commit in commits)
    )
