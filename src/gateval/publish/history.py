"""Keeps in git what a run found: the verdict, for the next event on its head, and the run."""

from __future__ import annotations

from collections.abc import Callable

from gateval.domain.history.file import add_record
from gateval.domain.history.record import HistoryRecord
from gateval.domain.history.runs.file import add_run
from gateval.domain.history.runs.record import RunRecord
from gateval.ports.records import HISTORY, RUNS, Edit, RecordFile, Records


def store_verdict(records: Records, record: HistoryRecord) -> None:
    """Add a record to the history, in place of an older one of the same head.

    Raises `RecordsError`; the verdict holds all the same.
    """
    message = f"Verdict on {record.head[:12]}: {record.verdict}\n"
    _grow(records, HISTORY, lambda content: add_record(content, record), message)


def store_run(records: Records, record: RunRecord) -> None:
    """Add a run to those that are kept. Raises `RecordsError`; its verdict holds all the same."""
    message = f"Run {record.id} on {record.revision}: {record.verdict}\n"
    _grow(records, RUNS, lambda content: add_run(content, record), message)


def _grow(records: Records, file: RecordFile, add: Callable[[bytes], bytes], message: str) -> None:
    def edit(content: bytes) -> Edit | None:
        grown = add(content)
        return None if grown == content else Edit(grown, message)

    records.change(file, edit)
