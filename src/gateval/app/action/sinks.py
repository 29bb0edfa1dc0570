"""Where audit entries go besides git: a line in the job's log, a part of the job's summary."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gateval.adapters.runner_files import RunnerFiles
from gateval.domain.audit.entry import AuditEvent
from gateval.domain.manifests.policy.words import AuditSinkName
from gateval.errors import RecordsError
from gateval.publish.audit import AuditSink
from gateval.render.github.audit import log_line, summary_section


def audit_sinks(environ: Mapping[str, str]) -> tuple[AuditSink, ...]:
    """Return the sinks of a job on a runner."""
    files = RunnerFiles(environ)

    def summary(event: AuditEvent) -> None:
        if not environ.get("GITHUB_STEP_SUMMARY"):
            raise RecordsError("This job has no summary to record in.")
        if not files.summary(summary_section(event)):
            raise RecordsError("The job summary has no room for an entry of the audit log.")

    return (AuditSink(AuditSinkName.STDOUT, _say), AuditSink(AuditSinkName.SUMMARY, summary))


def _say(event: AuditEvent) -> None:
    sys.stdout.write(f"{log_line(event)}\n")
    sys.stdout.flush()
