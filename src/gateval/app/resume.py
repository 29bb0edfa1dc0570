"""Finds the run that another one goes on from, among those that were cut short in this clone, and
those whose judgements count in it.

A change can bring a folder of results, too: what git has files of is not gone on from. Nor is one
that somebody else may write, or whose trials say something else than their assertions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from gateval.adapters.folders import is_being_written
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.layer_trust import refuse_way, trusted_owners
from gateval.adapters.machine import show_here
from gateval.adapters.own_code import engine_digest
from gateval.adapters.results_folder import PARENTS, run_folders
from gateval.adapters.run_notes import (
    BATCHES_FILE,
    OFFERS_FILE,
    SPENT_FILE,
    read_batches,
    read_begun,
    read_offers,
    read_spent,
)
from gateval.adapters.store import STORE_FOLDER, stored_trials
from gateval.app.run.finished import finished_ending
from gateval.app.run.shards import KilledTry
from gateval.app.run.views import PART_FILE, PLAN_FILE, RESULTS_FILE, TRIALS_FILE
from gateval.app.stored import named_run, read_plan, read_results
from gateval.domain.base import plain_message
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import RunInfo, results_of
from gateval.domain.results.resume import (
    NOTHING_KEPT,
    Resumed,
    kept_trials,
    offered_in,
    resumed_sentence,
)
from gateval.domain.results.reuse import could_reuse, reusable_of, with_reused
from gateval.errors import StageFileError, UsageError
from gateval.render.stage import load_part


def resumed_run(plan: Plan, repository: GitRepository, named: str | None) -> Resumed:
    """Return what `plan` keeps of the run `named` by id or path, or of the newest that fits.

    Raises `UsageError` where nothing fits: no run measured any of the same trials by the same code,
    or it is still under way.
    """
    if named is None:
        folders = _folders(repository)
    else:
        folder = named_run(repository.root, named)
        folder = folder if folder.is_dir() else folder.parent
        _refuse_unfit(repository, folder)
        folders = iter([folder])
    other = list[OtherVersion]()
    for each in folders:
        try:
            if found := _resumed(plan, each):
                return found
        except OtherVersion as error:
            other.append(error)
    if other:
        raise other[0]
    raise UsageError(
        "There is nothing to go on from: no earlier run here measured any of the same "
        "revisions, Agents, fixtures and judges.",
        hint="Without --resume, everything is measured.",
    )


def killed_try(plan: Plan, repository: GitRepository, folder: Path) -> KilledTry | None:
    """Return what a job that was killed or cut short left in its folder; None where that is another
    run's.

    Raises `UsageError` where it may not be gone on from, or is still under way.
    """
    there = [name for name in (PLAN_FILE, STORE_FOLDER) if (folder / name).exists()]
    if not there or (folder / RESULTS_FILE).exists():
        return None
    _refuse_unfit(repository, folder)
    try:
        trials = stored_trials(folder, TRIALS_FILE)
        part = folder / PART_FILE
        left = load_part(part.read_bytes()) if part.exists() else None
    except (StageFileError, OSError):
        return None
    found = _resumed(plan, folder) if trials else NOTHING_KEPT
    if found is None:
        return None
    if left and left.offers:
        found = found._replace(offers=offered_in(plan, found.kept, left.offers))
    counted = {one.key for one in (*found.kept.measured, *found.kept.to_judge)}
    rest = tuple(one for one in trials if one.key not in counted)
    if any(one.passed is not None for one in rest):
        return None
    usd = read_spent(folder) or (left and left.usd) or 0.0
    return KilledTry(found, rest, usd, left.shard if left else None)


def with_reused_here(plan: Plan, repository: GitRepository, resumed: Resumed) -> Resumed:
    """Return `resumed` with what `plan` takes over of the newest runs in this clone.

    What another user may have put there is passed over, and what was measured by other code.
    """
    engine = engine_digest()
    wanted = could_reuse(plan, engine)
    if not wanted:
        return resumed
    left = []
    for folder in islice(_folders(repository), MOST_REUSED):
        try:
            _refuse_of_others(repository, folder)
            earlier = read_plan(str(folder / PLAN_FILE))
            if earlier.engine == engine:
                trials = stored_trials(folder, TRIALS_FILE)
                found = reusable_of(results_of(earlier, trials, RunInfo()), engine)
                left.append((folder.name, found))
        except (StageFileError, UsageError, ValidationError):
            continue  # not ours, torn, changed or of another version: nothing of it counts
    return with_reused(plan, wanted, left, resumed)


MOST_REUSED = 5
"""Runs of this clone that are looked through for judgements that count again."""


class OtherVersion(UsageError):
    """A run was measured by other code than this."""


def _folders(repository: GitRepository) -> Iterator[Path]:
    """Yield the folders of runs in this clone that are over, the newest first."""
    root = repository.root
    for name in sorted(run_folders(root, (PLAN_FILE,)), reverse=True):
        folder = root.joinpath(*PARENTS, name)
        if not is_being_written(folder / STORE_FOLDER) and not _is_tracked(repository, folder):
            yield folder


def _is_over(store: Path) -> bool:
    """Whether nobody writes the store any more; what a killed run was starting lets go soon."""
    for _ in range(_LOOKS):
        if not is_being_written(store):
            return True
        time.sleep(_APART_SECONDS)  # until the kernel has ended a process: nothing tells of that
    return False


_LOOKS = 10
_APART_SECONDS = 0.1


def _is_tracked(repository: GitRepository, folder: Path) -> bool:
    root, real = repository.root.resolve(), folder.resolve()
    return real.is_relative_to(root) and repository.tracks(real.relative_to(root))


def _refuse_unfit(repository: GitRepository, folder: Path) -> None:
    """Raise `UsageError` where a run may not be gone on from, whatever it measured."""
    if _is_tracked(repository, folder):
        raise UsageError(
            f"Git has files of {show_here(folder)}, which a change may have brought.",
            hint="A run goes on from one that was made here.",
        )
    _refuse_of_others(repository, folder)
    if not _is_over(folder / STORE_FOLDER):
        raise UsageError(f"The run {show_here(folder)} is still under way.", hint="Await it.")


_READ = (PLAN_FILE, PART_FILE, STORE_FOLDER, TRIALS_FILE, OFFERS_FILE, BATCHES_FILE, SPENT_FILE)


def _refuse_of_others(repository: GitRepository, folder: Path) -> None:
    """Raise `UsageError` where another user may have put there what is read."""
    owners = trusted_owners(repository.root)
    try:
        for name in _READ:
            refuse_way(folder.absolute() / name, owners)
    except OSError as error:
        raise UsageError(
            f"The run {show_here(folder)} is not gone on from: {error.strerror}.",
            hint="A run goes on from one that nobody else could change.",
        ) from error


def _resumed(plan: Plan, folder: Path) -> Resumed | None:
    """Return what `plan` keeps of the run in this folder; None where that is nothing."""
    try:
        trials = stored_trials(folder, TRIALS_FILE)
        earlier = read_plan(str(folder / PLAN_FILE))
        kept = kept_trials(plan, earlier, trials)
    except StageFileError:  # torn, or of another version: nothing of it can be kept
        return None
    if not kept.measured and not kept.to_judge:
        return None
    if earlier.engine != engine_digest():
        raise OtherVersion(
            f"The run {show_here(folder)} is not gone on from: another version of Gateval measured "
            "it, which may ask Agents or judges otherwise.",
            hint="Without --resume and --from, everything is measured anew.",
        )
    try:
        results_of(plan, kept.measured, RunInfo())
    except ValidationError as error:
        said = plain_message(error.errors(include_url=False)[0]["msg"])
        raise UsageError(
            f"The run {show_here(folder)} is not gone on from: {said}.",
            hint="What is there was changed, or another version of Gateval wrote it.",
        ) from error
    over = {one.key for one in trials}
    if (folder / RESULTS_FILE).exists():
        results = folder / RESULTS_FILE
        ended = finished_ending(folder, results) or read_results(folder)
        lost, offers = len(ended.info.started), ended.offers
    else:
        lost, offers = len(read_begun(folder) - over), read_offers(folder)
    told = resumed_sentence(folder.name, kept, lost)
    return Resumed(kept, told, offered_in(plan, kept, offers), read_batches(folder))
