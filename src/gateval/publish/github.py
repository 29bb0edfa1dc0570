"""Writes on GitHub, in a fixed order.

First, when something will run, the check run in progress (`open_check`). At the end: the pull
request is read again; the check run is completed on the commit that was measured, wherever head is
now; and the comment is written, unless head has moved. Each goes on when the one before failed.
"""

from __future__ import annotations

from collections.abc import Collection

from gateval.domain.forge.check_run import Announcement, CommentMode, Conclusion
from gateval.domain.label_decision import GateLabel
from gateval.errors import ForgeError
from gateval.ports.forge import Forge
from gateval.publish.check import (
    Ending,
    Note,
    Publication,
    PublishTarget,
    Sink,
    Unfinished,
    WriteStatus,
    close_check,
    complete_check,
    ending_of,
    failed,
    left,
    look,
    open_check,
)
from gateval.publish.comment import SWITCHED_OFF, publish_comment

__all__ = ["abandon", "complete_left_open", "complete_unfinished", "open_check", "publish"]


def publish(
    forge: Forge,
    target: PublishTarget,
    announcement: Announcement,
    without_labels: Announcement | None = None,
    labels: Collection[GateLabel] = (),
) -> Publication:
    """Write check run, annotations and comment. Raises nothing that GitHub did.

    `without_labels` is said instead if head has moved since the announcement was made, or one of
    `labels` was taken off: what somebody let through was this very head, as long as they do.
    """
    done = _publish(forge, target, announcement, without_labels, labels)
    lost = [note for note in done.notes if _is_unfinished(note)]
    if not lost:
        return done
    instead = ending_of(without_labels) if without_labels is not None else None
    kept = Unfinished(
        target=target,
        said=ending_of(announcement),
        without_labels=instead,
        labels=tuple(labels),
        forbidden=bool(lost[0].permission),
    )
    return done.replace(unfinished=kept)


def _publish(
    forge: Forge,
    target: PublishTarget,
    announcement: Announcement,
    without_labels: Announcement | None,
    labels: Collection[str],
) -> Publication:
    if target.pull_request is None:
        return Publication(notes=complete_check(forge, target, announcement))
    try:
        live = forge.pull_request(target.pull_request)
    except ForgeError as error:  # nobody knows where head is, so nothing stands for it
        checks = complete_check(forge, target, without_labels or announcement)
        notes = (*checks, _no_comment(target, error))
        return Publication(notes=notes, without_labels=without_labels is not None)
    head = live.head.sha
    if head != target.head:
        checks = complete_check(forge, target, without_labels or announcement, head)
        why = f"Head has moved on to {head[:7]}; the comment is left to the run on it."
        notes = (*checks, left(Sink.COMMENT, why))
        return Publication(notes=notes, without_labels=without_labels is not None)
    gone = without_labels is not None and not set(labels) <= GateLabel.among(live.labels)
    said = without_labels if without_labels is not None and gone else announcement
    return Publication(notes=_check_and_comment(forge, target, said), without_labels=gone)


def _check_and_comment(forge: Forge, target: PublishTarget, said: Announcement) -> tuple[Note, ...]:
    """Write both; the check run keeps the comment in mind.

    So the first comment on a pull request comes before the check run is completed, which would
    have to be changed again for its number; every later one comes after.
    """
    number = target.pull_request or 0
    try:
        seen = look(forge, target)
    except ForgeError as error:
        return (failed(Sink.CHECK_RUN, error), publish_comment(forge, target, said, number)[0])
    if seen.comment:
        checks = complete_check(forge, target, said, seen=seen)
        return (*checks, publish_comment(forge, target, said, number, seen.comment)[0])
    comment, kept = publish_comment(forge, target, said, number)
    again = comment.status is WriteStatus.FAILED  # that may have taken minutes
    checks = complete_check(
        forge, target, said, seen=None if again else seen._replace(comment=kept)
    )
    return (*checks, comment)


def abandon(forge: Forge, target: PublishTarget, *, cancelled: bool, why: str) -> Publication:
    """Complete the check run of a run that ends without a verdict.

    `why` is a sanitised sentence. A required check that nobody reports would be waited for without
    end, so one is made when this run has none.
    """
    conclusion = Conclusion.CANCELLED if cancelled else Conclusion.FAILURE
    title = "Cancelled" if cancelled else "The gate broke off"
    summary = f"{why}\n\nNothing was decided about this commit. Run the job again."
    said = Ending(conclusion=conclusion, title=title)
    note = close_check(forge, target, said, summary)
    forbidden = bool(note.permission)
    kept = Unfinished(target=target, said=said, forbidden=forbidden)
    return Publication(notes=(note,), unfinished=kept if _is_unfinished(note) else None)


def complete_left_open(forge: Forge, target: PublishTarget) -> Publication:
    """Complete what a crash left open, or unmade; for the step after the action's own."""
    why = "The gate ended without completing its check run: it was killed, or the machine was."
    return abandon(forge, target, cancelled=False, why=why)


def complete_unfinished(forge: Forge, kept: Unfinished) -> Publication:
    """Complete a check run that GitHub did not take before, with the same conclusion.

    A label that let something through has to be there still.
    """
    said = kept.said
    if kept.without_labels is not None and not _labels_stand(forge, kept):
        said = kept.without_labels
    summary = (
        "GitHub did not take the check run when the gate had decided, so this was written after "
        "the job. What was found stands in the job's summary, and in the comment if there is one."
    )
    note = close_check(forge, kept.target, said, summary)
    return Publication(notes=(note,))


def _labels_stand(forge: Forge, kept: Unfinished) -> bool:
    if kept.target.pull_request is None:
        return True
    try:
        live = forge.pull_request(kept.target.pull_request)
    except ForgeError:
        return False
    return live.head.sha == kept.target.head and set(kept.labels) <= set(live.labels)


def _is_unfinished(note: Note) -> bool:
    """Whether the check run was not written."""
    return note.sink is Sink.CHECK_RUN and note.status is WriteStatus.FAILED


def _no_comment(target: PublishTarget, error: ForgeError) -> Note:
    if target.comment is CommentMode.OFF:
        return left(Sink.COMMENT, SWITCHED_OFF)
    return failed(Sink.COMMENT, error)
