"""Looks for the verdict that an earlier run gave on the same head commit."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.history import HistoryRecord, find_record
from gateval.pipeline.labels import OpenRecords
from gateval.ports import Records, Stored
from gateval.publish.audit import AUDIT_LOG
from gateval.publish.history import HISTORY


class Memory(NamedTuple):
    """What the records held when the run began: earlier verdicts, and the audit log."""

    history: Stored | None
    audit: Stored | None


def read_memory(open_records: OpenRecords) -> Memory:
    """Read both in one visit. Raises `RecordsError`."""
    with open_records() as records:
        return Memory(records.read(HISTORY), records.read(AUDIT_LOG))


def stored_verdict(records: Records, head: str, check: str = "") -> HistoryRecord | None:
    """Return the record of a check on a head commit, or None. Whether it may be used says `usable`.

    Raises `RecordsError` when the history cannot be read or the record not be trusted.
    """
    return verdict_in(records.read(HISTORY), head, check)


def verdict_in(stored: Stored | None, head: str, check: str = "") -> HistoryRecord | None:
    """Return the same of a history that was read before. Raises `RecordsError`."""
    if stored is None or stored.content is None:
        return None
    return find_record(stored.content, head, check)
