"""Where runs are remembered: the ref of runs at the remote, and this clone's results folders.

The remote's file is kept as a copy in git's own folder, so that looking takes no network. Each says
what it says: whoever may push can write the remote's, a pull request the folders.
"""

from __future__ import annotations

import heapq
import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.adapters.folders import is_being_written
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.results_folder import PARENTS, run_folders
from gateval.adapters.store import STORE_FOLDER
from gateval.app.run.views import PLAN_FILE, RESULTS_FILE, RUN_FILE
from gateval.domain.history.run_record import LINE_LIMIT, RunRecord, newest_first, read_line
from gateval.domain.paths import nearest
from gateval.errors import GatevalError, RecordsError, UsageError
from gateval.ports.storage import RUNS

if TYPE_CHECKING:
    from gateval.adapters.git.records import GitRecords


_COPY = ("gateval", "runs.jsonl")
_PLAN_LIMIT = 64 * 1024 * 1024
_TOLD_AFTER_MINUTES = 10


@dataclass(frozen=True)
class Runs:
    """The runs that are known here. `content` is the remote's file, `root` the working tree."""

    content: bytes
    root: Path

    def newest(self, naming: Collection[str] = ()) -> Iterator[RunRecord]:
        """Yield whole runs, the newest first, each once; with `naming`, those that name one of
        these. A part says nothing of an Eval: it was picked by how an earlier run ended.
        """
        return (record for record in self.all(naming) if not record.part)

    def all(self, naming: Collection[str] = ()) -> Iterator[RunRecord]:
        """Yield the same with runs of a part among them."""
        known: set[str] = set()
        folders = sorted(run_folders(self.root, (RUN_FILE,)), reverse=True)
        here = (record_in(self.root.joinpath(*PARENTS, name)) for name in folders)
        both = newest_first(self.content, naming), filter(None, here)
        for record in heapq.merge(*both, key=lambda one: one.at, reverse=True):
            if record.id not in known:
                known.add(record.id)
                yield record

    def running(self) -> frozenset[str]:
        """Return the names of the Evals that are being measured in this clone right now."""
        found: set[str] = set()
        for name in run_folders(self.root, (PLAN_FILE,)):
            folder = self.root.joinpath(*PARENTS, name)
            if not (folder / RESULTS_FILE).exists() and is_being_written(folder / STORE_FOLDER):
                found.update(_planned(folder / PLAN_FILE))
        return frozenset(found)


def measured_names(runs: Runs) -> list[str]:
    """Return the names of the Evals that were measured, as far as is known here."""
    return sorted({one.eval for record in runs.newest() for one in record.evals})


def unknown_eval(name: str, runs: Runs, *, besides: str = "") -> UsageError:
    """Return the error about an Eval of which no run is known here."""
    names = measured_names(runs)
    return UsageError(
        f'No run of an Eval "{name}" is known{besides}.{nearest(name, names)}',
        hint=f"Known: {', '.join(names[:20]) or 'none; `gateval run` makes the first'}.",
    )


def known_runs(repository: GitRepository, environ: Mapping[str, str], *, fetch: bool) -> Runs:
    """Return the runs that are known here; the remote is asked the first time and with `fetch`.

    Raises `RecordsError` when it was asked for and cannot be read; else that is told on stderr.
    """
    copy = repository.git_folder.joinpath(*_COPY)
    if fetch or not copy.exists():
        try:
            records = repository.records(environ)
        except RecordsError:  # no remote: nothing but this clone's own runs
            if fetch:
                raise
            return Runs(b"", repository.root)
        try:
            return Runs(_fetched(records, copy), repository.root)
        except GatevalError as error:
            if fetch:
                raise
            _note(f"Runs in CI are not known here: {error.message}")
            return Runs(b"", repository.root)
    old = datetime.now(UTC).timestamp() - copy.stat().st_mtime
    if old > 60 * _TOLD_AFTER_MINUTES:
        _note(f"Runs in CI as of {_ago(old)}; --fetch reads them anew.")
    return Runs(copy.read_bytes(), repository.root)


def stored_runs(repository: GitRepository) -> Runs:
    """Return the runs that are known in this clone, without a word to the remote."""
    try:
        content = repository.git_folder.joinpath(*_COPY).read_bytes()
    except OSError:
        content = b""
    return Runs(content, repository.root)


def _fetched(records: GitRecords, copy: Path) -> bytes:
    with records:
        stored = records.read(RUNS)
    content = (stored and stored.content) or b""
    copy.parent.mkdir(parents=True, exist_ok=True)
    passing = copy.with_name(f".{copy.name}.{os.getpid()}")
    passing.write_bytes(content)
    passing.replace(copy)
    return content


def record_in(folder: Path) -> RunRecord | None:
    """Return the record of the run whose results lie in this folder, None without one."""
    line = _limited(folder / RUN_FILE, LINE_LIMIT)
    return read_line(line) if line else None


def _planned(plan: Path) -> list[str]:
    try:
        content = json.loads(_limited(plan, _PLAN_LIMIT))
        return [str(one["name"]) for one in content["evals"]]
    except (ValueError, KeyError, TypeError):
        return []


def _limited(path: Path, limit: int) -> bytes:
    """Return what a regular file holds; nothing where it cannot be read or is larger."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(file, "rb") as opened:
            content = opened.read(limit + 1)
    except OSError:
        return b""
    return content if len(content) <= limit else b""


def _ago(seconds: float) -> str:
    minutes = int(seconds // 60)
    for size, noun in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            number = minutes // size
            return f"{number} {noun}{'' if number == 1 else 's'} ago"
    return "now"


def _note(text: str) -> None:
    from gateval.safe.sanitize import plain_line

    print(plain_line(text, 600), file=sys.stderr)
