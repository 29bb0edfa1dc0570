"""Where things are kept: records on refs, set-ups, finished trials; and the clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from gateval.domain.trials.trial import Trial


class RecordFile(NamedTuple):
    """A file of records on a ref of its own: `ref` in full, `path` in its tree.

    `limit` counts bytes. `keeps_history`: each change is a commit on top of the one before, and
    other files of the tree stay; otherwise a change replaces the ref, so that it never grows.
    """

    ref: str
    path: str
    limit: int
    keeps_history: bool


AUDIT_BRANCH = "gateval-audit"
"""An ordinary branch, so that a ruleset can forbid rewriting and deleting it."""

AUDIT_LOG = RecordFile(
    f"refs/heads/{AUDIT_BRANCH}", "audit.jsonl", limit=64 * 1024 * 1024, keeps_history=True
)
"""Room for some 50,000 entries; what comes then is refused, so that nothing is ever dropped."""

HISTORY = RecordFile(
    "refs/gateval/history", "history.jsonl", limit=2 * 1024 * 1024, keeps_history=False
)
"""Verdicts of earlier runs."""

RUNS = RecordFile("refs/gateval/runs", "runs.jsonl", limit=24 * 1024 * 1024, keeps_history=False)
"""What earlier runs measured."""


class Stored(NamedTuple):
    """The content of a file of records (None: the ref is there, the file is not) at a commit."""

    content: bytes | None
    commit: str


class Edit(NamedTuple):
    """New content of a file of records, and the message of the commit that brings it."""

    content: bytes
    message: str


class Records(Protocol):
    """Files of records on refs of a remote repository. Every method raises `RecordsError`."""

    def preload(self, *files: RecordFile) -> None:
        """Bring what `refs/gateval/` holds in one visit: a `read` of each soon after pays none.

        Does nothing where the remote refuses; what has to be said of that says `read`.
        """

    def read(self, file: RecordFile) -> Stored | None:
        """Return the remote's content of now, or None when it has no such ref."""

    def change(self, file: RecordFile, edit: Callable[[bytes], Edit | None]) -> str | None:
        """Write what `edit` makes of the content (empty when there is none) and return the commit.

        When somebody else writes at the same time, `edit` is called again with what they wrote, so
        it has to be repeatable. When it answers None nothing is written, and None returned. What it
        raises is raised here.
        """


class KeptLayers(Protocol):
    """Layers by digest. Each has one absolute path, the same in every run."""

    def place(self, digest: str) -> Path | None:
        """Return the folder in which this layer has to be made; nobody else uses it meanwhile.

        None if it cannot be had: then the layer is made elsewhere, and not kept.
        """

    def restore(self, place: Path) -> bool:
        """Put back what was kept for this place. False if there is none that is whole."""

    def keep(self, place: Path) -> None:
        """Keep what lies at this place, if this run may."""


class TrialLog(Protocol):
    """Where each finished trial goes at once, so that a crash loses only what was under way."""

    def append(self, trial: Trial) -> Trial:
        """Store one trial; on return it is with the operating system.

        Returns the same trial, which may hold less: its steps are read when somebody asks for them.
        """


class Clock(Protocol):
    """Time. `monotonic` in seconds for durations; `utc_now` as ISO 8601 with `Z`."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def utc_now(self) -> str:
        """The present, e.g. `2026-11-20T09:30:00Z`."""
