"""What the manifests say now, as `get` and `due` hold it against what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gateval.adapters.git import GitRepository, open_repository
from gateval.app.history.sources import Runs, known_runs
from gateval.domain.history.calibrations import Measured, judge_agreement
from gateval.domain.history.runs.status import EvalStatus, Present, newest_runs, status_of
from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.planning.definitions import define
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.trials.trial import Side
from gateval.errors import InvalidManifests
from gateval.pipeline.revisions import find_head


@dataclass(frozen=True)
class Here:
    """The manifests of the working tree and the runs that are known."""

    repository: GitRepository
    snapshot: Snapshot
    runs: Runs


def look_here(environ: Mapping[str, str], *, fetch: bool) -> Here:
    """Read the manifests and the runs. Raises `InvalidManifests`, `RecordsError`."""
    repository = open_repository(Path.cwd(), environ)
    with ThreadPoolExecutor(2) as aside:  # git and the remote work while Python imports
        head = aside.submit(find_head, repository, None)
        runs = aside.submit(known_runs, repository, environ, fetch=fetch)
        from gateval.app.registries import registries
        from gateval.pipeline.read import survey

        snapshot = survey(repository, registries(), head.result())
        if snapshot.problems:
            raise InvalidManifests(snapshot.problems)
        return Here(repository, snapshot, runs.result())


def statuses(here: Here, names: frozenset[str] | None = None) -> tuple[EvalStatus, ...]:
    """Return how the Evals stand, all or those of these names, in the order of their names."""
    catalogue = here.snapshot.catalogue
    evals = [one for one in catalogue.evals if names is None or one.name in names]
    measured: list[Measured] = []
    if any(one.judge.calibration for one in evals):
        from gateval.app.history.agreements import known_agreements

        measured = known_agreements(here.runs, here.snapshot)
    present = [
        present_of(one, here.snapshot, judge_agreement(one, measured))
        for one in sorted(evals, key=lambda one: one.name)
    ]
    newest = newest_runs(here.runs.newest([one.name for one in present]), present)
    running = here.runs.running()
    return tuple(
        status_of(one, newest.get(one.name), running=one.name in running) for one in present
    )


def present_of(evaluation: Eval, snapshot: Snapshot, agreement: str = "") -> Present:
    """Return an Eval as it is now, with its Agent's closure and what is known of its judge."""
    agent = snapshot.catalogue.agent(evaluation.target_agent)
    return Present(
        name=evaluation.name,
        agent=evaluation.target_agent,
        closure=define(agent, snapshot, Side.HEAD).closure if agent else "",
        fixtures=len(select_fixtures(evaluation, snapshot.catalogue)),
        schedule=evaluation.schedule or "",
        time_zone=evaluation.time_zone,
        agreement=agreement,
        kind="" if evaluation.kind == "Eval" else evaluation.kind,
        version=evaluation.version,
    )
