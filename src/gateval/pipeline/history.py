"""Looks for the verdict that an earlier run gave on the same head commit."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.history.file import find_record
from gateval.domain.history.record import HistoryRecord
from gateval.pipeline.labels import OpenRecords
from gateval.ports.records import AUDIT_LOG, HISTORY, Stored


class StoredRecords(NamedTuple):
    """The records as the run began: earlier verdicts, and the audit log."""

    history: Stored | None
    audit: Stored | None


def read_stored_records(open_records: OpenRecords) -> StoredRecords:
    """Read both in one visit. Raises `RecordsError`."""
    with open_records() as records:
        return StoredRecords(records.read(HISTORY), records.read(AUDIT_LOG))


def verdict_in(stored: Stored | None, head: str, check: str = "") -> HistoryRecord | None:
    """Return the record of a check on a head commit in a history that was read, or None.

    Whether it may be used say `outdated` and `overtaken`. Raises `RecordsError` when it cannot be
    trusted.
    """
    if stored is None or stored.content is None:
        return None
    return find_record(stored.content, head, check)
