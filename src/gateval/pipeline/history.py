"""Looks for the verdict that an earlier run gave on the same head commit."""

from __future__ import annotations

from gateval.domain.history import HistoryRecord, find_record
from gateval.ports import Records
from gateval.publish.history import HISTORY


def stored_verdict(records: Records, head: str, check: str = "") -> HistoryRecord | None:
    """Return the record of a check on a head commit, or None. Whether it may be used says `usable`.

    Raises `RecordsError` when the history cannot be read or the record not be trusted.
    """
    stored = records.read(HISTORY)
    if stored is None or stored.content is None:
        return None
    return find_record(stored.content, head, check)
