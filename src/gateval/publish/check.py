"""The check run: one that counts per gate and commit, always completed, never by an older run.

GitHub does not reopen a completed check run, and keeps its annotations for ever. So a run takes
over one that is still in progress, and makes a new one of the same name beside a completed one;
GitHub shows and counts the newest. Whose a check run is, GitHub decides: changing one of another
App fails, and then we make our own.

A check run also keeps in mind which comment is ours, and each hands that on to the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.forge.check_run import (
    ANNOTATIONS_AT_ONCE,
    Annotation,
    Announcement,
    CheckReport,
    CheckRun,
    Conclusion,
    RunFindings,
    Stamp,
)
from gateval.errors import ForgeError, ForgeRejected, MissingPermission, NotOnForge
from gateval.ports.forge import CheckRuns
from gateval.publish.target import Ending, Note, PublishTarget, Sink, failed, left, written

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
    found = _stamped(listed, target)
    return tuple(one.run for one in found if f"{one.run.app}[bot]" == forge.viewer())


def reported(forge: CheckRuns, target: PublishTarget, other: Stamp) -> bool:
    """Whether our check runs on the commit know of the run with this stamp."""
    found = _stamped(forge.check_runs(target.head, target.check_name), target)
    same = [
        one.run for one in found if one.stamp.same_run(other) and one.stamp.started == other.started
    ]
    return any(f"{run.app}[bot]" == forge.viewer() for run in same)


class _Stamped(NamedTuple):
    run: CheckRun
    stamp: Stamp


class _Present(NamedTuple):
    """The check runs of this gate on this commit, newest first."""

    newer: Sequence[CheckRun]
    mine: Sequence[CheckRun]
    older: Sequence[CheckRun]

    @property
    def open_ones(self) -> Sequence[CheckRun]:
        """Those that this run may take over, its own first."""
        return [run for run in (*self.mine, *self.older) if not run.completed]


class Seen(NamedTuple):
    """The check runs of this gate on a commit, and the number of the comment that ours know of."""

    present: _Present
    comment: int = 0


def look(forge: CheckRuns, target: PublishTarget, listed: Sequence[CheckRun] | None = None) -> Seen:
    """Look at the check runs on the commit, `listed` if they are known. Raises `ForgeError`.

    The comment is asked of those on the head before, too, unless this run has begun its own.
    Where GitHub does not list them, this run goes by what it wrote itself, and makes its own.
    """
    if listed is None:
        listed = _listed(forge, target, target.head)
    found = _stamped(listed, target)
    present = _present(forge, target, found)
    comment = _known(forge, found)
    if not comment and target.before and not present.mine:
        comment = _known(forge, _stamped(_listed(forge, target, target.before), target))
    return Seen(present, comment)


def open_check(
    forge: CheckRuns, target: PublishTarget, listed: Sequence[CheckRun] | None = None
) -> Note:
    """Show that the gate is at work; `listed` are the check runs on the commit, if known."""
    summary = "Gateval is evaluating this commit. The result will stand here."
    try:
        present, comment = look(forge, target, listed)
        if present.newer:
            return left(Sink.CHECK_RUN, _NEWER, present.newer[0].url)
        report = _report(_knowing(target, comment), "Evaluating", summary)
        return written(Sink.CHECK_RUN, _write(forge, target, present.open_ones, report).url)
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
        present, comment = seen or look(forge, target)
        takeable = [run for run in present.mine if not run.completed]
        if present.newer and not takeable:
            return (left(Sink.CHECK_RUN, _NEWER, present.newer[0].url),)
        if not present.newer:
            takeable = list(present.open_ones)
        target = _knowing(target, comment)
        report = _final(target, announcement, moved, superseded=bool(present.newer))
        return _complete(forge, target, takeable, report, announcement.annotations)
    except ForgeError as error:
        return (failed(Sink.CHECK_RUN, error),)


def close_check(
    forge: CheckRuns,
    target: PublishTarget,
    said: Ending,
    summary: str,
) -> Note:
    """Complete the check run of a run that has no verdict; made if this run has none yet.

    One that is completed already, or that a newer run writes, is left alone. Unseen, none is made:
    what has no verdict must not speak after a run that has one.
    """
    try:
        present, comment = look(forge, target, _listed(forge, target, target.head, blind=False))
        mine = [run for run in present.mine if not run.completed]
        if not mine and (present.mine or present.newer):
            return left(Sink.CHECK_RUN, "The check run is completed, or a newer run writes it.")
        known = _knowing(target, comment)
        report = _report(known, said.title, summary, said.conclusion, said.findings)
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


def _stamped(runs: Sequence[CheckRun], target: PublishTarget) -> list[_Stamped]:
    """The check runs that carry this gate's stamp, of whatever App, newest first."""
    return [
        _Stamped(run, stamp)
        for run in runs
        if (stamp := Stamp.parse(run.external_id)) and stamp.gate == target.stamp.gate
    ]


def _known(forge: CheckRuns, found: Sequence[_Stamped]) -> int:
    """Return the number of the comment that the newest of ours knows of, 0 for none.

    Who we are is asked only where an App of somebody's own is among them: what jobs wrote of what
    is not theirs leads to no comment, for its author would be another.
    """
    plain = {one.run.app for one in found} == {JOBS_APP}
    for one in found:
        with contextlib.suppress(ForgeError):  # unknown, then: the marker is left to find it by
            if one.stamp.comment and (plain or f"{one.run.app}[bot]" == forge.viewer()):
                return one.stamp.comment
    return 0


def _knowing(target: PublishTarget, comment: int) -> PublishTarget:
    stamp = target.stamp.model_copy(update={"comment": comment})
    return target.model_copy(update={"stamp": stamp})


def _present(forge: CheckRuns, target: PublishTarget, found: Sequence[_Stamped]) -> _Present:
    mine = [one.run for one in found if one.stamp.same_run(target.stamp)]
    newer = [one.run for one in found if one.stamp.newer_than(target.stamp)]
    if newer:  # another App's, with a stamp from the future, must not silence this gate
        viewer = forge.viewer()
        newer = [run for run in newer if f"{run.app}[bot]" == viewer]
    older = [one.run for one in found if target.stamp.newer_than(one.stamp)]
    return _Present(newer, mine, older)


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


def _final(
    target: PublishTarget, announcement: Announcement, moved: str, *, superseded: bool
) -> CheckReport:
    notes = []
    if moved:
        notes.append(
            f"Head has moved on to <code>{moved[:12]}</code> since; this is about "
            f"<code>{target.head[:12]}</code>, and the comment is left to the run on the new head."
        )
    if superseded:
        notes.append("A newer run of this gate reports on this commit, too.")
    stamped = target.model_copy(
        update={"stamp": target.stamp.model_copy(update={"record": announcement.record})}
    )
    summary = "\n\n".join((*notes, announcement.check_summary))
    said = announcement
    return _report(stamped, said.title, summary, said.conclusion, said.findings)


def _report(
    target: PublishTarget,
    title: str,
    summary: str,
    conclusion: Conclusion | None = None,
    findings: RunFindings | None = None,
) -> CheckReport:
    return CheckReport(
        name=target.check_name,
        external_id=str(target.stamp),
        details_url=target.details_url,
        started_at=target.stamp.started,
        conclusion=conclusion,
        title=title,
        summary=summary,
        text="" if findings is None else str(findings),
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
        update = report.model_copy(update={"conclusion": None, "annotations": batch})
        try:
            runs = [_write(forge, target, runs, update)]
        except ForgeRejected as error:
            refused = error
            break
    final = (
        report if refused else report.model_copy(update={"annotations": tuple(annotations[last:])})
    )
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
