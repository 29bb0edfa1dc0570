"""What there is to run on a revision, for somebody who named nothing."""

from __future__ import annotations

from pathlib import Path

from gateval.adapters.git import open_repository
from gateval.app.registries import registries, valid_snapshot
from gateval.domain.manifests.catalogue import select_fixtures
from gateval.errors import GatevalError, UsageError
from gateval.pipeline.read import survey
from gateval.pipeline.revisions import find_head
from gateval.render.report.words.counts import count


def evals_here(rev: str | None) -> list[tuple[str, str]]:
    """Return the name of each Eval on a revision, and what it is about.

    Raises `InvalidManifests` where they cannot be read, `UsageError` where there are none.
    """
    repository = open_repository(Path.cwd())
    revision = find_head(repository, rev)
    snapshot = valid_snapshot(repository, revision)
    found = snapshot.catalogue.evals
    if not found:
        raise UsageError(
            f"There is no Eval to run on {revision.short}.",
            hint="`gateval init` writes the first.",
        )
    fixtures = [len(select_fixtures(one, snapshot.catalogue)) for one in found]
    return [
        (one.name, f"Agent {one.target_agent}, {count(number, 'fixture')}")
        for one, number in zip(found, fixtures, strict=True)
    ]


def names_here(kind: str) -> tuple[str, ...]:
    """Return the names of all manifests of a kind (`agents`) in the working tree, for a shell.

    Empty where they cannot be read: a shell that completes a word is not the place to say why.
    """
    try:
        repository = open_repository(Path.cwd())
        catalogue = survey(repository, registries(), find_head(repository, None)).catalogue
    except GatevalError:
        return ()
    found = {
        "agents": [one.name for one in catalogue.agents],
        "evals": [one.name for one in catalogue.evals],
        "fixtures": [one.name for one in catalogue.fixtures],
        "calibrations": [one.name for one in catalogue.calibrations],
    }
    return tuple(sorted(found[kind]))
