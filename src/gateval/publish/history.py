"""Keeps in git what a run found: the verdict, for the next event on its head, and the run."""

from __future__ import annotations

from gateval.domain.history.file import add_record
from gateval.domain.history.record import HistoryRecord
from gateval.domain.history.runs.file import add_run
from gateval.domain.history.runs.record import RunRecord
from gateval.ports.records import HISTORY, RUNS, Edit, Records


def store_verdict(records: Records, record: HistoryRecord) -> None:
    """Add a record to the history, in place of an older one of the same head.

    Raises `RecordsError`; the verdict holds all the same.
    """

    def edit(content: bytes) -> Edit | None:
        grown = add_record(content, record)
        if grown == content:
            return None
        return Edit(grown, f"Verdict on {record.head[:12]}: {record.verdict}\n")

    records.change(HISTORY, edit)


def store_run(records: Records, record: RunRecord) -> None:
    """Add a run to those that are kept. Raises `RecordsError`; its verdict holds all the same."""

    def edit(content: bytes) -> Edit | None:
        grown = add_run(content, record)
        if grown == content:
            return None
        return Edit(grown, f"Run {record.id} on {record.revision}: {record.verdict}\n")

    records.change(RUNS, edit)
