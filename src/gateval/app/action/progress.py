"""How far a run of the action got, so that no check run stays in progress when it breaks off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gateval.app.action.context import ActionRequest
from gateval.app.action.result import ActionResult, published
from gateval.domain.forge.check_run import CheckRun
from gateval.domain.forge.trigger import CommentSubject, PullRequestSubject
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.publish.check import our_checks
from gateval.publish.github import abandon, open_check, publish
from gateval.publish.target import Publication, PublishTarget, Sink, Unfinished, WriteStatus


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
            cancelled=True, why="The run was cancelled, or its machine was stopped."
        )

    def break_off(self) -> None:
        """Complete what is in progress, because of a fault of our own."""
        self._abandon(cancelled=False, why="This is a fault in Gateval itself; the log says more.")

    def _abandon(self, *, cancelled: bool, why: str) -> Unfinished | None:
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
