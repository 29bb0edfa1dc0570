"""Leaves the record of a run in its results folder, where `get` and an artifact find it."""

from __future__ import annotations

from gateval.adapters.results_folder import ResultsFolder
from gateval.app.names import RUN_FILE
from gateval.domain.decision.report import Report
from gateval.domain.history.runs.record import RunFacts, RunRecord, record_line
from gateval.domain.history.runs.recorded import run_record


def remember(report: Report, folder: ResultsFolder, facts: RunFacts) -> RunRecord | None:
    """Write the record and return it; None where nothing was evaluated."""
    record = run_record(report, facts)
    if record is not None:
        folder.write(RUN_FILE, record_line(record))
    return record
