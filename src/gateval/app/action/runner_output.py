"""The output of the action for the runner: commands, outputs, state, summary, audit entries.

Between `stop-commands` and its token nothing that is printed is a command, whatever else failed to
keep a candidate's words out of the log.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator, Mapping

from gateval.adapters.runner_files import RunnerFiles
from gateval.app.action.result import ActionResult
from gateval.domain.audit.entry import AuditEvent
from gateval.domain.manifests.policy.words import AuditSinkName
from gateval.errors import RecordsError
from gateval.publish.audit import AuditSink
from gateval.render.github.audit import log_line, summary_section
from gateval.safe.workflow_commands import (
    annotation_commands,
    error_command,
    mask_commands,
    notice_command,
    resume_commands,
    stop_commands,
    warning_command,
)

ON_RUNNER = "GITHUB_ACTIONS"


class RunnerOutput:
    """Writes commands and files for the runner; elsewhere, there is only the log."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._files = RunnerFiles(environ)
        self._on_runner = environ.get(ON_RUNNER) == "true"

    @contextlib.contextmanager
    def guarded(self, secret: tuple[str, ...]) -> Iterator[None]:
        """Have these secrets hidden, and no commands obeyed, until the block ends."""
        token = secrets.token_hex(16)
        self._command(*mask_commands(secret), stop_commands(token))
        try:
            yield
        finally:
            self._command(resume_commands(token))

    def keep(self, name: str, value: str) -> None:
        """Keep a value for the entry that runs after the job, if the runner can."""
        with contextlib.suppress(OSError):
            self._files.state(name, value)

    def finish(self, result: ActionResult) -> None:
        """Say how the run ended. A summary that is too large or cannot be written is a warning."""
        warnings = list(result.warnings)
        try:
            for name, value in result.outputs.items():
                self._files.output(name, value)
            if result.summary and not self._files.summary(result.summary):
                warnings.append("The job summary was too large to be written.")
        except OSError as error:
            warnings.append(f"A file of the runner could not be written: {error.strerror}.")
        if result.notice:
            self._command(notice_command(result.notice))
        for warning in warnings:
            self._say(warning_command(warning), f"Warning: {warning}")
        self._command(*annotation_commands(result.annotations))
        if result.error is not None:
            self._command(error_command(result.error.sentence))

    def _say(self, command: str, otherwise: str) -> None:
        if self._on_runner:
            self._command(command)
        else:
            from gateval.safe.sanitize import plain_line

            print(plain_line(otherwise, 1_000), file=sys.stderr)

    def _command(self, *commands: str) -> None:
        if self._on_runner:
            sys.stdout.flush()
            for command in commands:
                print(command)
            sys.stdout.flush()


def audit_sinks(environ: Mapping[str, str]) -> tuple[AuditSink, ...]:
    """Return where audit entries go besides git: the job's log, and its summary."""
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
