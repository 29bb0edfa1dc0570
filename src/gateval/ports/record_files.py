"""The files of records that the gate keeps in a repository."""

from __future__ import annotations

from gateval.domain.audit.entry import AUDIT_BRANCH, AUDIT_FILE
from gateval.domain.history.record import HISTORY_FILE, HISTORY_REF
from gateval.ports.records import RecordFile

AUDIT_LOG = RecordFile(
    f"refs/heads/{AUDIT_BRANCH}", AUDIT_FILE, limit=64 * 1024 * 1024, keeps_history=True
)
"""Room for some 50,000 entries; what comes then is refused, so that nothing is ever dropped."""

HISTORY = RecordFile(HISTORY_REF, HISTORY_FILE, limit=2 * 1024 * 1024, keeps_history=False)
