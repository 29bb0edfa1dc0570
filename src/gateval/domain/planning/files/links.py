"""Where the symbolic links of a closure lead, and the submodules around its files: that belongs to
it, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.links import walk_links
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.patterns import match_any, may_match_below
from gateval.domain.repository.tree import under


def follow_links(
    roots: Mapping[str, str],
    patterns: Mapping[str, str],
    snapshot: Snapshot,
    hidden: Callable[[str], bool] | None = None,
) -> dict[str, str]:
    """Return the roots and, with why, where links lead that stand in them, in patterns or on the
    way to a root.

    The links that are passed on the way belong to it, too: another target leads elsewhere. `hidden`
    says which paths do not count; by default those that no candidate gets.
    """
    found = _linked(roots, patterns, snapshot, hidden or snapshot.is_hidden)
    for path in snapshot.submodules:
        if not under(path, found.keys()):
            why = _why_of_submodule(path, found, patterns)
            found |= {path: why} if why else {}
    return found


def _why_of_submodule(
    path: str, roots: Mapping[str, str], patterns: Mapping[str, str]
) -> str | None:
    """Return why something in a submodule may belong; None where nothing does. All of it counts
    then: what its commits differ in is not looked into.
    """
    told = (why for root, why in roots.items() if under(root, {path}))
    return next(told, None) or next(
        (why for one, why in patterns.items() if may_match_below(one, path)), None
    )


def _linked(
    roots: Mapping[str, str],
    patterns: Mapping[str, str],
    snapshot: Snapshot,
    is_hidden: Callable[[str], bool],
) -> dict[str, str]:
    links, found = snapshot.links, dict(roots)
    if not links:
        return found
    passed: dict[str, str] = {}
    names = sorted(links)
    watched = match_any(patterns)
    todo = [*roots, *(path for path in names if under(path, roots.keys()) or watched(path))]
    followed = set()
    while todo:
        path = todo.pop()
        if path in followed or is_hidden(path):
            continue
        followed.add(path)
        on_the_way, end = walk_links(path, links)
        passed |= {link: f"on the way to {show_path(path)}" for link in on_the_way}
        if on_the_way and end is not None and not under(end, found.keys()):
            found[end] = f"link {show_path(path)}"
            todo += _inside(end, names)
    return {**passed, **found}


def _inside(folder: str, names: Sequence[str]) -> Sequence[str]:
    """Those of the sorted names that stand in the folder; "" is the root."""
    if not folder:
        return names
    return names[bisect_left(names, f"{folder}/") : bisect_left(names, f"{folder}0")]
