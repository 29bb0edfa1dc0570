"""What nothing measures: changed files that no Agent depends on, and why no Eval runs at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.scripted import SCRIPTED_FOLDER
from gateval.domain.plan.bar import Doubt
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.planning.closure import closure_of
from gateval.domain.planning.files.check_files import check_closures
from gateval.domain.planning.files.departures import prompt_path
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.patterns import match_any
from gateval.domain.repository.tree import changed_paths

Owned = Callable[[str], bool]


def homeless(head: Snapshot, base: Snapshot) -> Sequence[str]:
    """Return the changed paths that belong to no Agent and are no manifest, sorted."""
    changed = sorted(changed_paths(head.tree, base.tree))
    return _strays(changed, head, base, measured=False)


def unclaimed(
    patterns: Iterable[str], head: Snapshot, base: Snapshot, idle: Collection[str] = ()
) -> Sequence[str]:
    """Return the changed paths that match and belong to no Agent that an Eval measures.

    Those of head whose names are in `idle` measure nothing here.
    """
    matches = match_any(pattern.removeprefix("/") for pattern in patterns)
    changed = [path for path in sorted(changed_paths(head.tree, base.tree)) if matches(path)]
    if not changed:
        return []
    evals = tuple(one for one in head.catalogue.evals if one.name not in idle)
    ours = replace(head, catalogue=replace(head.catalogue, evals=evals)) if idle else head
    return _strays(changed, ours, base, measured=True)


def _strays(
    paths: Sequence[str], head: Snapshot, base: Snapshot, *, measured: bool
) -> Sequence[str]:
    """Those that belong to nobody on head or, if they are gone there, at the base."""
    gone = [path for path in paths if path not in head.tree]
    ours = _owned(head, measured=measured)
    theirs = _owned(base, measured=measured) if gone else ours
    return [path for path in paths if not (ours if path in head.tree else theirs)(path)]


def _owned(snapshot: Snapshot, *, measured: bool = False) -> Owned:
    """Whether a path of this revision belongs to an Agent or a check, or the gate reads it."""
    targets = {evaluation.target_agent for evaluation in snapshot.catalogue.evals}
    agents = [one for one in snapshot.catalogue.agents if not measured or one.name in targets]
    closures = [closure_of(agent, snapshot) for agent in agents]
    closures += check_closures(snapshot)
    prompts = {prompt_path(agent) for agent in agents}
    return lambda path: (
        path in prompts
        or path in snapshot.manifest_paths
        or snapshot.is_hidden(path)
        or any(closure.covers(path) for closure in closures)
    )


NAMED = 5
FILES_NAMED = 10


def why_nothing(
    changes: Sequence[AgentChange], doubts: Sequence[Doubt], head: Snapshot, base: Snapshot
) -> str:
    """Return the sentence for a change from `base` to `head` for which no Eval runs."""
    said = "Nothing to evaluate"
    if doubts:
        wheres = " and ".join(dict.fromkeys(doubt.revision for doubt in doubts))
        return f"{said} was found, but there are manifests on {wheres} that cannot be read."
    if changes:
        return f"{said}: {_agents(changes)}."
    if not head.catalogue.agents:
        return f"{said}: there is no Agent manifest on head. `gateval init` writes the first."
    if head.revision.commit and head.revision.commit == base.revision.commit:
        return (
            f"{said}: head and base are the same commit, {head.revision.short}. "
            "Name an older one with --base to compare with it."
        )
    between = f"between {base.revision.short} and {head.revision.short}"
    edits = list(_edits(head, base))
    if edits:
        more = f" and {len(edits) - NAMED:,} more" if len(edits) > NAMED else ""
        named = f"{', '.join(edits[:NAMED])}{more}"
        return f"{said}: {named} {between}, but no Eval on head runs for that.{_files(head, base)}"
    return f"{said}: no Agent, Eval or fixture changed {between}.{_files(head, base)}"


def _files(head: Snapshot, base: Snapshot) -> str:
    """Name changed files that nothing measures; a person who knows better declares them."""
    paths = homeless(head, base)
    if not paths:
        return ""
    named = ", ".join(map(show_path, paths[:FILES_NAMED]))
    if len(paths) == 1:
        return f" No Agent depends on the changed file {named}."
    more = f" and {len(paths) - FILES_NAMED:,} more" if len(paths) > FILES_NAMED else ""
    return f" No Agent depends on the {len(paths):,} changed files {named}{more}."


def _agents(changes: Sequence[AgentChange]) -> str:
    gone = [one.agent for one in changes if one.kind is ChangeKind.DELETED]
    stay = [one.agent for one in changes if one.kind is not ChangeKind.DELETED]
    parts = [f"{', '.join(stay)} changed, but no Eval on head targets it"] if stay else []
    parts += [f"{', '.join(gone)} removed"] if gone else []
    return "; ".join(parts)


def _edits(head: Snapshot, base: Snapshot) -> Iterator[str]:
    """What differs, though nothing runs for it: Evals, fixtures, calibrations, scripts."""
    if head.catalogue is base.catalogue:
        return
    ours, theirs = _digests(head.catalogue), _digests(base.catalogue)
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            word = "removed" if key not in ours else "changed" if key in theirs else "added"
            yield f"{' '.join(key)} {word}"
    for path in sorted(changed_paths(head.tree, base.tree)):
        if path.startswith(f"{SCRIPTED_FOLDER}/"):
            yield f"{show_path(path)} changed"


def _digests(catalogue: Catalogue) -> dict[tuple[str, str], str]:
    """What each manifest but the Agents means, by what it is and its name."""
    return {
        **{("Eval", one.name): one.digest for one in catalogue.evals},
        **{("fixture", one.name): one.digest for one in catalogue.fixtures},
        **{("calibration", one.name): one.digest for one in catalogue.calibrations},
    }
