"""The file of runs that the gate keeps in a repository."""

from __future__ import annotations

from gateval.domain.history.runs.record import RUNS_FILE, RUNS_REF
from gateval.ports.records import RecordFile

RUNS = RecordFile(RUNS_REF, RUNS_FILE, limit=24 * 1024 * 1024, keeps_history=False)
