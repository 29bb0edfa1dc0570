"""How a run of the action ended, and what the runner is told of it.

Between `stop-commands` and its token nothing that is printed is a command, whatever else failed to
keep a candidate's words out of the log.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gateval.adapters.runner_files import RunnerFiles
from gateval.domain.audit import AuditEvent
from gateval.domain.decision.decision import unwritten
from gateval.domain.forge.check_run import Annotation, Announcement
from gateval.domain.forge.trigger import Trust
from gateval.domain.manifests.gate_config import AuditSinkName
from gateval.errors import GatevalError, RecordsError
from gateval.publish.audit import AuditSink
from gateval.publish.target import Publication, Sink, Unfinished
from gateval.render.audit_log import log_line, summary_section
from gateval.safe.workflow_commands import (
    annotation_commands,
    error_command,
    mask_commands,
    notice_command,
    resume_commands,
    stop_commands,
    warning_command,
)


@dataclass(frozen=True)
class ActionResult:
    """The result for the runner. `summary` is markdown for the job, `text` plain for the log.

    `notice` is a sentence that the run shows beside its green. `annotations` are shown by the job
    itself, because no check run does. `error` is what stood in the way of a report, if anything
    did. `unfinished` is a check run that the step after the job has to complete.
    """

    exit_code: int
    outputs: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    text: str = ""
    warnings: tuple[str, ...] = ()
    notice: str = ""
    annotations: tuple[Annotation, ...] = ()
    error: GatevalError | None = None
    unfinished: Unfinished | None = None


def published(
    exit_code: int,
    said: Announcement,
    publication: Publication,
    trust: Trust,
    number: int | None,
) -> ActionResult:
    """Return the result of a run that said this on GitHub; `number` is that of a pull request."""
    urls = {
        "comment-url": publication.url(Sink.COMMENT),
        "check-url": publication.url(Sink.CHECK_RUN),
    }
    return ActionResult(
        exit_code,
        urls,
        said.job_summary,
        warnings=_warnings(publication, trust, number),
        unfinished=publication.unfinished,
    )


def _warnings(publication: Publication, trust: Trust, number: int | None) -> tuple[str, ...]:
    """Return what has to be said about what was not written.

    Nobody can give a fork's token more, so there it is said what helps instead.
    """
    lacking = any(note.permission for note in publication.failed)
    if trust is not Trust.FORK or not lacking:
        return publication.warnings
    others = tuple(note for note in publication.failed if not note.permission)
    return (unwritten(number), *Publication(notes=others).warnings)


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
