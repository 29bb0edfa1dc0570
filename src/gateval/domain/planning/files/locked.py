"""Sealed files for which there is no key: which changes cannot be judged without it.

A sealed file names only what lies beside or below it, so a change of something else, in which no
Agent, manifest or script differs, does not concern it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.scripted import SCRIPTED_FOLDER
from gateval.domain.plan.plan import AgentChange
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.tree import changed_paths, under


def beside_locked(paths: Iterable[str], locked: Collection[str]) -> bool:
    """Whether one of these paths is a locked file, or lies where one may name it."""
    folders = {path.rpartition("/")[0] for path in locked}
    return bool(folders) and any(under(path, folders) for path in paths)


def locked_files(
    head: Snapshot, base: Snapshot, tip: Snapshot | None, changes: Sequence[AgentChange]
) -> tuple[str, ...]:
    """Return the locked files that may concern a change from `base` to `head`, as people see them.

    `changes` are its changed Agents. `tip` is the target branch, None where nothing of the
    change can matter to manifests.
    """
    every = head.locked | base.locked | (tip.locked if tip else frozenset())
    if not every or tip is None:
        return ()
    changed = changed_paths(head.tree, base.tree)
    known = head.manifest_paths | base.manifest_paths
    touches = any(path in known or under(path, {SCRIPTED_FOLDER}) for path in changed)
    moved = touches or beside_locked(changed, every) or bool(changes)
    return tuple(map(show_path, sorted(every))) if moved else ()


def locked_for(evals: Sequence[Eval], catalogue: Catalogue) -> tuple[str, ...]:
    """Return the locked files that may hold fixtures of these Evals, as people see them."""
    may = any(
        one.fixture_selector is not None
        or any(not (catalogue.fixture(f) or catalogue.family(f)) for f in one.fixtures)
        for one in evals
    )
    return tuple(map(show_path, sorted(catalogue.locked))) if may else ()


def why_locked(files: Sequence[str]) -> str:
    """Return the sentence about locked files; empty for none."""
    if not files:
        return ""
    more = f" and {len(files) - 3:,} more" if len(files) > 3 else ""
    verb, asks = ("is", "it asks") if len(files) == 1 else ("are", "they ask")
    return (
        f"{', '.join(files[:3])}{more} {verb} sealed, and the key is not here, so what {asks} was "
        "not run. A run with GATEVAL_IDENTITY in its environment measures that: a maintainer's, or "
        "yours if you hold the key of one of policy.recipients."
    )
