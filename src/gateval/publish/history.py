"""Keeps the verdict of a run in git, for the next event on the same head commit."""

from __future__ import annotations

from gateval.domain.history.file import add_record
from gateval.domain.history.record import HistoryRecord
from gateval.ports.record_files import HISTORY
from gateval.ports.records import Edit, Records


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
