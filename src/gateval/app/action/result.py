"""How far a run of the action got and how it ended, and what runner and GitHub are told of it.

Between `stop-commands` and its token nothing that is printed is a command, whatever else failed to
keep a candidate's words out of the log.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gateval.adapters.github.runner import RunnerFiles
from gateval.app.action.context import ActionRequest
from gateval.domain.decision.decision import unwritten
from gateval.domain.forge.check_run import Annotation, Announcement, CheckRun
from gateval.domain.forge.trigger import CommentSubject, PullRequestSubject, Trust
from gateval.domain.text import EMPTY, Safe, markdown
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.publish.check import (
    Publication,
    PublishTarget,
    Sink,
    Unfinished,
    WriteStatus,
    our_checks,
)
from gateval.publish.github import abandon, open_check, publish
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
    summary: Safe = EMPTY
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


class ActionProgress:
    """What is reported on, as far as is known, and whether a check run is in progress there.

    `remember` is told of the target before the check run is left in progress on it.
    """

    def __init__(self, request: ActionRequest, remember: Callable[[PublishTarget], None]) -> None:
        self._request = request
        self._remember = remember
        self._target = _first_target(request)
        self._opened = False
        self._shown = False
        self._listed: tuple[CheckRun, ...] | None = None

    def about(self, target: PublishTarget) -> PublishTarget:
        """Take note of what is reported on; return it."""
        self._target = target
        return target

    def earlier_checks(self, target: PublishTarget) -> tuple[CheckRun, ...]:
        """Return the gate's own check runs on the commit, newest first. Raises `ForgeError`."""
        forge = self._request.forge
        self._listed = forge.check_runs(target.head, target.check_name)
        return our_checks(forge, target, self._listed)

    def open_check(self, target: PublishTarget) -> None:
        """Show a check run in progress, beside those that were listed just before, if any were."""
        self._opened = True
        self._remember(target)
        note = open_check(self._request.forge, target, self._listed)
        self._shown = note.status is WriteStatus.WRITTEN

    def known_checks(self, target: PublishTarget) -> tuple[CheckRun, ...]:
        """Return those of `earlier_checks` as they were listed then; none if they were not."""
        return our_checks(self._request.forge, target, self._listed or ())

    def note(self, target: PublishTarget) -> None:
        """Have the check run in progress say something else than before."""
        self._target = target
        self._remember(target)
        open_check(self._request.forge, target)

    def without_hope(self, result: ActionResult) -> ActionResult:
        """Return the result without a check run that the token may not write, ever.

        One that it wrote before was refused by a hiccup, whatever GitHub calls that.
        """
        kept = result.unfinished
        hopeless = kept is not None and kept.forbidden and not self._shown
        return replace(result, unfinished=None) if hopeless else result

    def report_error(self, error: GatevalError) -> ActionResult:
        """End with an error, and say so on GitHub if it is known what it is about."""
        from gateval.render.github import announce_trouble

        request = self._request
        announcement = announce_trouble(error, request.run_url)
        publication = Publication()
        number = self._target.pull_request if self._target else None
        publishes = request.inputs.step in {ActionStep.ALL, ActionStep.PUBLISH}
        if self._target is not None and publishes:
            publication = publish(request.forge, self._target, announcement)
        trust = request.trigger.trust
        result = published(error.exit_code, announcement, publication, trust, number)
        annotations = () if publication.url(Sink.CHECK_RUN) else announcement.annotations
        return replace(result, annotations=annotations, error=error)

    def cancel(self) -> Unfinished | None:
        """Complete what is in progress, because somebody ends the run; return what was not."""
        return self._abandon(
            cancelled=True, why=markdown("The run was cancelled, or its machine was stopped.")
        )

    def break_off(self) -> None:
        """Complete what is in progress, because of a fault of our own."""
        self._abandon(
            cancelled=False, why=markdown("This is a fault in Gateval itself; the log says more.")
        )

    def _abandon(self, *, cancelled: bool, why: Safe) -> Unfinished | None:
        if not self._opened or self._target is None:
            return None
        done = abandon(self._request.forge, self._target, cancelled=cancelled, why=why)
        return done.unfinished


def _first_target(request: ActionRequest) -> PublishTarget | None:
    """What the run is about by the event alone, for errors that come before anything was asked."""
    subject, trust = request.trigger.subject, request.trigger.trust
    if isinstance(subject, CommentSubject) or subject.head_sha is None:
        return None
    number = subject.number if isinstance(subject, PullRequestSubject) else None
    branch = getattr(subject, "base_ref", None) or ""
    return request.target(subject.head_sha, number, claimed=not trust.verified, branch=branch)
