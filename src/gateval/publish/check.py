"""The check run: one that counts per gate and commit, always completed, never by an older run.

GitHub does not reopen a completed check run, and keeps its annotations for ever. So a run takes
over one that is still in progress, and makes a new one of the same name beside a completed one;
GitHub shows and counts the newest. Whose a check run is, GitHub decides: changing one of another
App fails, and then we make our own.

A check run also keeps in mind which comment is ours, and each hands that on to the next.

What is published about what, by whom, and how that went: publishing changes no verdict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Sha, Value, digest
from gateval.domain.forge.check_run import (
    ANNOTATIONS_AT_ONCE,
    TITLE_LIMIT,
    Annotation,
    Announcement,
    CheckReport,
    CheckRun,
    CommentMode,
    Conclusion,
    RunFindings,
    Stamp,
)
from gateval.domain.text import PARAGRAPHS, Label, Safe, markdown
from gateval.errors import ForgeError, ForgeRejected, MissingPermission, NotOnForge
from gateval.ports.forge import CheckRuns
from gateval.safe.sanitize import code, label

CHECK_NAME = "gateval"

MOST = 80
"""Characters of a branch's name in the name of a check."""


class PublishTarget(Value):
    """A commit, the pull request it is head of (None for a push), and this run's stamp.

    `before` is the head that a push replaced, if one did. `details_url` leads to the run's log.
    `into` is the target branch; empty for the default one. `left` is what the check run confirms of
    trials for a run that goes on from this one (`LeftTrials`), empty for nothing.
    """

    head: Sha
    before: str | None = Field(default=None, pattern=SHA_PATTERN)
    pull_request: int | None = None
    stamp: Stamp
    details_url: str = ""
    comment: CommentMode = CommentMode.ALWAYS
    into: str = ""
    left: str = ""

    @property
    def check_name(self) -> str:
        """`gateval`, with the gate's own name and the branch it is measured for in brackets.

        GitHub knows a check by commit and name alone. One commit can be head of several pull
        requests, and what passes for one target branch says nothing about another.
        """
        gate = self.stamp.gate
        own = [gate] if gate != CHECK_NAME else []
        into = [f"into {shown_branch(self.into)}"] if self.into else []
        return f"{CHECK_NAME} ({', '.join(own + into)})" if own or into else CHECK_NAME


def shown_branch(name: str) -> str:
    """Return a branch's name as it stands in a check's; a long or odd one by a digest of it."""
    if len(name) <= MOST and name.isascii() and name.isprintable():
        return name
    return f"{name[:20].encode('ascii', 'replace').decode()} {digest(name)[:12]}"


class Sink(StrEnum):
    """Where something is written."""

    CHECK_RUN = "check run"
    ANNOTATIONS = "annotations"
    COMMENT = "comment"


class WriteStatus(StrEnum):
    """The outcome at one place: `left` was not to be written, `failed` could not be."""

    WRITTEN = "written"
    LEFT = "left"
    FAILED = "failed"


class Note(Value):
    """What happened in one sink.

    `why` is a sentence, empty when written as planned; it may hold GitHub's words, unsanitised.
    `permission` is the one to add, as a workflow writes it.
    """

    sink: Sink
    status: WriteStatus
    url: str = ""
    why: str = ""
    permission: str = ""


class Ending(Value):
    """How a check run ends, its title, and what it remembers; None for nothing decided."""

    conclusion: Conclusion
    title: Label
    findings: RunFindings | None = None


class Unfinished(Value):
    """A check run that GitHub did not take in the end: what it has to say, for a later try.

    `without_labels` counts if head has moved, or one of `labels` is no longer on the pull request;
    None where no label counted. `forbidden` says that GitHub named a permission that is missing.
    The step after the job gets it as text in its environment, so it is short.
    """

    target: PublishTarget
    said: Ending
    without_labels: Ending | None = None
    labels: tuple[str, ...] = ()
    forbidden: bool = False


class Publication(Value):
    """What publishing did, in order; `without_labels` says that it wrote what holds without any.

    `unfinished` is a check run that GitHub did not take, and may take later.
    """

    notes: tuple[Note, ...] = ()
    without_labels: bool = False
    unfinished: Unfinished | None = None

    def url(self, sink: Sink) -> str:
        """Where a sink's last text can be seen; empty when there is none."""
        return next((note.url for note in reversed(self.notes) if note.sink is sink), "")

    @property
    def failed(self) -> tuple[Note, ...]:
        """What could not be written."""
        return tuple(note for note in self.notes if note.status is WriteStatus.FAILED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for everything that could not be written."""
        return tuple(f"The {note.sink} could not be written. {note.why}" for note in self.failed)


def written(sink: Sink, url: str) -> Note:
    """Return the note of something that stands there now."""
    return Note(sink=sink, status=WriteStatus.WRITTEN, url=url)


def left(sink: Sink, why: str, url: str = "") -> Note:
    """Return the note of something that was not to be written."""
    return Note(sink=sink, status=WriteStatus.LEFT, url=url, why=why)


def failed(sink: Sink, error: ForgeError) -> Note:
    """Return the note of something that GitHub did not take."""
    permission = getattr(error, "permission", "")
    return Note(sink=sink, status=WriteStatus.FAILED, why=error.sentence, permission=permission)


def ending_of(announcement: Announcement) -> Ending:
    """Return the part of an announcement that is kept."""
    return Ending(
        conclusion=announcement.conclusion,
        title=announcement.title,
        findings=announcement.findings,
    )


FORBIDDEN = 403

JOBS_APP = "github-actions"
"""The App as which the token writes that GitHub gives each job."""


def newest_check(forge: CheckRuns, target: PublishTarget) -> CheckRun | None:
    """Return the newest check run of this gate on the commit that is ours; None for none."""
    listed = forge.check_runs(target.head, target.check_name)
    return next(iter(our_checks(forge, target, listed)), None)


def our_checks(
    forge: CheckRuns, target: PublishTarget, listed: Sequence[CheckRun]
) -> tuple[CheckRun, ...]:
    """Return those of this gate that are ours among the check runs on the commit, newest first."""
    return tuple(run for run, _ in _stamped(listed, target) if is_ours(forge, run))


def is_ours(forge: CheckRuns, run: CheckRun) -> bool:
    """Whether a check run was made by the App as which this run writes."""
    return f"{run.app}[bot]" == forge.viewer()


def reported(forge: CheckRuns, target: PublishTarget, other: Stamp) -> bool:
    """Whether our check runs on the commit know of the run with this stamp."""
    found = _stamped(forge.check_runs(target.head, target.check_name), target)
    same = [run for run, stamp in found if stamp.same_run(other) and stamp.started == other.started]
    return any(is_ours(forge, run) for run in same)


_Stamped = Sequence[tuple[CheckRun, Stamp]]


class Seen(NamedTuple):
    """The check runs of this gate on a commit, newest first: those of newer runs, of this one and
    of older ones; and the number of the comment that ours know of.
    """

    newer: Sequence[CheckRun]
    mine: Sequence[CheckRun]
    older: Sequence[CheckRun]
    comment: int = 0

    @property
    def open_ones(self) -> Sequence[CheckRun]:
        """Those that this run may take over, its own first."""
        return [run for run in (*self.mine, *self.older) if not run.completed]


def look(forge: CheckRuns, target: PublishTarget, listed: Sequence[CheckRun] | None = None) -> Seen:
    """Look at the check runs on the commit, `listed` if they are known. Raises `ForgeError`.

    The comment is asked of those on the head before, too, unless this run has begun its own.
    Where GitHub does not list them, this run goes by what it wrote itself, and makes its own.
    """
    found = _stamped(_listed(forge, target, target.head) if listed is None else listed, target)
    mine = [run for run, stamp in found if stamp.same_run(target.stamp)]
    # another App's, with a stamp from the future, must not silence this gate
    newer = [r for r, stamp in found if stamp.newer_than(target.stamp) and is_ours(forge, r)]
    older = [run for run, stamp in found if target.stamp.newer_than(stamp)]
    comment = _known(forge, found)
    if not comment and target.before and not mine:
        comment = _known(forge, _stamped(_listed(forge, target, target.before), target))
    return Seen(newer, mine, older, comment)


def open_check(
    forge: CheckRuns, target: PublishTarget, listed: Sequence[CheckRun] | None = None
) -> Note:
    """Show that the gate is at work; `listed` are the check runs on the commit, if known."""
    summary = markdown("Gateval is evaluating this commit. The result will stand here.")
    try:
        seen = look(forge, target, listed)
        if seen.newer:
            return left(Sink.CHECK_RUN, _NEWER, seen.newer[0].url)
        report = _report(target, seen.comment, label("Evaluating", TITLE_LIMIT), summary)
        return written(Sink.CHECK_RUN, _write(forge, target, seen.open_ones, report).url)
    except ForgeError as error:
        return failed(Sink.CHECK_RUN, error)


def complete_check(
    forge: CheckRuns,
    target: PublishTarget,
    announcement: Announcement,
    moved: str = "",
    *,
    seen: Seen | None = None,
) -> tuple[Note, ...]:
    """Complete the check run with what the gate found; `moved` is the head's new SHA, if any.

    `seen` is what a look just now gave, with the comment to keep in mind.
    """
    try:
        seen = seen or look(forge, target)
        takeable = [run for run in seen.mine if not run.completed]
        if seen.newer and not takeable:
            return (left(Sink.CHECK_RUN, _NEWER, seen.newer[0].url),)
        notes = []
        if moved:
            notes.append(
                markdown(
                    "Head has moved on to {} since; this is about {}, and the comment is left to "
                    "the run on the new head.",
                    code(moved[:12], 12),
                    code(target.head[:12], 12),
                )
            )
        if seen.newer:
            notes.append(markdown("A newer run of this gate reports on this commit, too."))
        summary = PARAGRAPHS.joined((*notes, announcement.check_summary))
        ending, record = ending_of(announcement), announcement.record
        report = _report(target, seen.comment, ending.title, summary, ending, record)
        runs = takeable if seen.newer else seen.open_ones
        return _complete(forge, target, runs, report, announcement.annotations)
    except ForgeError as error:
        return (failed(Sink.CHECK_RUN, error),)


def close_check(forge: CheckRuns, target: PublishTarget, said: Ending, summary: Safe) -> Note:
    """Complete the check run of a run that has no verdict; made if this run has none yet.

    One that is completed already, or that a newer run writes, is left alone. Unseen, none is made:
    what has no verdict must not speak after a run that has one.
    """
    try:
        seen = look(forge, target, _listed(forge, target, target.head, blind=False))
        mine = [run for run in seen.mine if not run.completed]
        if not mine and (seen.mine or seen.newer):
            return left(Sink.CHECK_RUN, "The check run is completed, or a newer run writes it.")
        report = _report(target, seen.comment, said.title, summary, said)
        done = _write(forge, target, mine, report)
        _close_others(forge, mine, done, report)
        return written(Sink.CHECK_RUN, done.url)
    except ForgeError as error:
        return failed(Sink.CHECK_RUN, error)


_NEWER = "A newer run of this gate reports on this commit; an older one does not overwrite it."


def _listed(
    forge: CheckRuns, target: PublishTarget, sha: str, *, blind: bool = True
) -> tuple[CheckRun, ...]:
    """Return the check runs on a commit, else those that this run wrote, where it goes on blind."""
    try:
        return forge.check_runs(sha, target.check_name)
    except ForgeError:
        wrote = forge.written_check_runs(sha, target.check_name)
        if not (blind or wrote):
            raise
        return wrote


def _stamped(runs: Sequence[CheckRun], target: PublishTarget) -> _Stamped:
    """The check runs that carry this gate's stamp, of whatever App, newest first."""
    stamps = ((run, Stamp.parse(run.external_id)) for run in runs)
    return [(run, stamp) for run, stamp in stamps if stamp and stamp.gate == target.stamp.gate]


def _known(forge: CheckRuns, found: _Stamped) -> int:
    """Return the number of the comment that the newest of ours knows of, 0 for none.

    Who we are is asked only where an App of somebody's own is among them: what jobs wrote of what
    is not theirs leads to no comment, for its author would be another.
    """
    plain = {run.app for run, _ in found} == {JOBS_APP}
    for run, stamp in found:
        with contextlib.suppress(ForgeError):  # unknown, then: the marker is left to find it by
            if stamp.comment and (plain or is_ours(forge, run)):
                return stamp.comment
    return 0


def _write(
    forge: CheckRuns, target: PublishTarget, candidates: Sequence[CheckRun], report: CheckReport
) -> CheckRun:
    """Update the first check run that is ours, or make a new one.

    One that we may not change is of another App that copied our external id; one that is not there
    any more is gone.
    """
    for run in candidates:
        try:
            return forge.update_check_run(run.number, report)
        except (MissingPermission, NotOnForge):
            continue
        except ForgeRejected as error:
            if error.status != FORBIDDEN:
                raise
    return forge.create_check_run(target.head, report)


def _report(
    target: PublishTarget,
    comment: int,
    title: Label,
    summary: Safe,
    ending: Ending | None = None,
    record: str = "",
) -> CheckReport:
    stamp = target.stamp.replace(comment=comment, record=record)
    findings = ending.findings if ending else None
    return CheckReport(
        name=target.check_name,
        external_id=str(stamp),
        details_url=target.details_url,
        started_at=stamp.started,
        conclusion=ending.conclusion if ending else None,
        title=title,
        summary=summary,
        text="\n".join(filter(None, ("" if findings is None else str(findings), target.left))),
    )


def _complete(
    forge: CheckRuns,
    target: PublishTarget,
    open_ones: Sequence[CheckRun],
    report: CheckReport,
    annotations: Sequence[Annotation],
) -> tuple[Note, ...]:
    """Write all batches of annotations, the last one with the conclusion.

    When GitHub refuses annotations, the conclusion is written without the rest of them.
    """
    last = max(0, (len(annotations) - 1) // ANNOTATIONS_AT_ONCE) * ANNOTATIONS_AT_ONCE
    refused: ForgeError | None = None
    runs = list(open_ones)
    for start in range(0, last, ANNOTATIONS_AT_ONCE):
        batch = tuple(annotations[start : start + ANNOTATIONS_AT_ONCE])
        update = report.replace(conclusion=None, annotations=batch)
        try:
            runs = [_write(forge, target, runs, update)]
        except ForgeRejected as error:
            refused = error
            break
    final = report if refused else report.replace(annotations=tuple(annotations[last:]))
    try:
        done = _write(forge, target, runs, final)
    except ForgeRejected as error:
        if not final.annotations:
            raise
        refused = error
        done = _write(forge, target, runs, report)
    _close_others(forge, open_ones, done, report)
    check = written(Sink.CHECK_RUN, done.url)
    return (check, failed(Sink.ANNOTATIONS, refused)) if refused else (check,)


def _close_others(
    forge: CheckRuns, open_ones: Sequence[CheckRun], done: CheckRun, report: CheckReport
) -> None:
    """Complete what else is open: a request repeated after a lost answer made two."""
    for run in open_ones:
        if run.number != done.number:
            with contextlib.suppress(ForgeError):  # another App's, or it stays as it is
                forge.update_check_run(run.number, report)
