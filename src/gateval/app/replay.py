"""Finds the recording that a run is to replay, or that it is to make one.

A change can bring a recording, too: what git has files of decides about no change.
"""

from __future__ import annotations

from gateval.adapters.git.repository import GitRepository
from gateval.adapters.machine import show_here
from gateval.app.run.recording import FOLDER, Taping
from gateval.app.run.views import RESULTS_FILE
from gateval.app.stored import find_run
from gateval.errors import UsageError


def taping_asked(
    repository: GitRepository,
    *,
    record: bool,
    replay: str | None,
    offline: bool,
    decides: bool = False,
) -> Taping:
    """Return what the options ask for. With `decides`, files of git are not replayed.

    Raises `UsageError` for options that do not fit, and for a folder that holds no recording.
    """
    if replay is None:
        if offline:
            raise UsageError("--offline goes with --replay DIR.", hint="Name what is replayed.")
        return Taping(record=record)
    found = find_run(repository.root, replay)
    if found is None or not found.is_dir():
        raise UsageError(
            f"There is no folder {replay} to replay.",
            hint="Name a run that was made with --record, or its folder.",
        )
    inside = found / FOLDER
    folder = inside if inside.is_dir() else found
    if folder == found and (found / RESULTS_FILE).exists():
        raise UsageError(
            f"The run in {show_here(found)} has no recording to replay.",
            hint="Make one with --record. A run that calls no model of a provider has none.",
        )
    root = repository.root.resolve()
    real = folder.resolve()
    if decides and real.is_relative_to(root) and repository.tracks(real.relative_to(root)):
        raise UsageError(
            f"Git has files of {show_here(folder)}, which a change may have brought: they would "
            "decide about it.",
            hint="`gateval run --replay` shows them.",
        )
    return Taping(record=record, replay=folder, offline=offline)
