"""Writes on GitHub, in a fixed order.

First, when something will run, the check run in progress (`open_check`). At the end: the pull
request is read again; the check run is completed on the commit that was measured, wherever head is
now; and the comment is written, unless head has moved. Each goes on when the one before failed.

The comment: one per gate and pull request, ours by marker and author, updated in place.

GitHub offers no way to write only if nobody wrote in between. So everything is read again right
before writing, and after a comment was made the list is read once more: of two runs that raced the
one that began first gives way. What somebody may have written into a comment of ours keeps nothing
from being written: of a newer run, the check runs have to know as well.

A verdict takes the place of a claim: its comment is deleted, and no later claim about the same head
is written.

Ours are those by our login and with our marker, for anybody can write the marker; and the one that
our check runs know by its number, for some may take the marker out of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import NamedTuple

from gateval.domain.decision.decision import UNVERIFIED_GATE
from gateval.domain.forge.check_run import (
    TITLE_LIMIT,
    Announcement,
    CommentMode,
    Conclusion,
    MarkedComment,
    Stamp,
    mark,
    read_mark,
)
from gateval.domain.forge.trigger import Comment
from gateval.domain.label_decision import GateLabel
from gateval.domain.text import Safe, markdown
from gateval.errors import ForgeError, NotOnForge
from gateval.ports.forge import Forge
from gateval.publish.check import (
    CHECK_NAME,
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
    reported,
    written,
)
from gateval.safe.sanitize import label

ACTIONS_BOT = "github-actions[bot]"
"""Who writes with the token that GitHub gives each job."""


SWITCHED_OFF = "Comments are switched off."
_NEWER = "A newer run of this gate has written about this head; an older one does not overwrite it."
_VERDICT = "A trusted run has reported on this head; a claim takes nothing of it back."
_DELETED = "The comment was deleted while it was written, as a newer run does."


class OurComment(NamedTuple):
    """A comment and what its first line says."""

    comment: Comment
    marked: MarkedComment


def publish_comment(
    forge: Forge,
    target: PublishTarget,
    announcement: Announcement,
    pull_request: int,
    known: int = 0,
) -> tuple[Note, int]:
    """Write the comment, or say why not. Head must have been found unmoved just before.

    `known` is the number of the one before, as the check run keeps it in mind. Return what became
    of it, and the number that the check run is to keep in mind.
    """
    if target.comment is CommentMode.OFF:
        return left(Sink.COMMENT, SWITCHED_OFF), known
    pull = _Pull(forge, target, pull_request, known)
    try:
        marked = pull.marked()
        done = _write_comment(pull, announcement, pull.ours(marked))
    except ForgeError as error:
        return failed(Sink.COMMENT, error), known
    with contextlib.suppress(ForgeError):  # what is written stands all the same
        pull.delete(pull.outdated(marked, written=done[0].status is WriteStatus.WRITTEN))
    return done


class _Pull(NamedTuple):
    """The pull request that is commented on, by whom, and what is known of the comment there."""

    forge: Forge
    target: PublishTarget
    number: int
    known: int

    def marked(self) -> list[OurComment]:
        """Return the comments that carry the marker of any gate, by whomever, and the known one.

        One of these without this gate's marker counts as older than any run's.
        """
        found, gate = [], self.target.stamp.gate
        for comment in self.forge.comments(self.number):
            marked = read_mark(comment.body)
            if comment.number == self.known and not (marked and marked.stamp.gate == gate):
                first = Stamp(gate=gate, started="1970-01-01T00:00:00Z", run=0, attempt=0)
                marked = MarkedComment(stamp=first, head="0" * 40)
            if marked is not None:
                found.append(OurComment(comment, marked))
        return found

    def ours(self, marked: list[OurComment]) -> list[OurComment]:
        """Return those by our login, oldest first."""
        if not marked:
            return []
        viewer = self.forge.viewer()
        mine = [one for one in marked if one.comment.author == viewer]
        return sorted(mine, key=lambda one: one.comment.number)

    def of_gate(self, found: list[OurComment]) -> list[OurComment]:
        """Return those of this gate."""
        return [one for one in found if one.marked.stamp.gate == self.target.stamp.gate]

    def outdated(self, marked: list[OurComment], *, written: bool) -> list[OurComment]:
        """Return what is to go: claims, whose place the verdict of the whole gate takes, and, where
        the gate has `written`, what its other token did.

        An App may not edit what the job's own token wrote before this gate became an App of
        somebody's own, and two comments would contradict each other.
        """
        if not marked:
            return []
        viewer, whole = self.forge.viewer(), self.target.stamp.gate == CHECK_NAME
        known = {viewer, ACTIONS_BOT} if viewer.endswith("[bot]") else {viewer}
        theirs = [one for one in marked if one.comment.author in known]
        others = [one for one in self.of_gate(theirs) if one.comment.author != viewer]
        claims = [one for one in theirs if whole and one.marked.stamp.gate == UNVERIFIED_GATE]
        return [*(others if written else ()), *claims]

    def newer(self, found: list[OurComment]) -> OurComment | None:
        """Return the comment of a newer run on the same head.

        One about another head gives way whatever its stamp: that head is no longer the head. One
        that was changed since it was made may say falsely that it is newer: anybody who may edit
        comments can have written that.
        """
        target = self.target
        about_this = (one for one in found if one.marked.head == target.head)
        newer = next((o for o in about_this if o.marked.stamp.newer_than(target.stamp)), None)
        if newer is None or not newer.comment.edited:
            return newer
        try:
            return newer if reported(self.forge, target, newer.marked.stamp) else None
        except ForgeError:
            return newer

    def now(self) -> tuple[list[OurComment], OurComment | None]:
        """Return this gate's comments as they are now, and that of a newer run."""
        found = self.of_gate(self.ours(self.marked()))
        return found, self.newer(found)

    def delete(self, found: list[OurComment]) -> None:
        """Delete these comments."""
        for one in found:
            self.forge.delete_comment(one.comment.number)


def _write_comment(
    pull: _Pull, announcement: Announcement, every: list[OurComment]
) -> tuple[Note, int]:
    forge, target, number, known = pull
    found = pull.of_gate(every)
    if target.stamp.gate == UNVERIFIED_GATE:
        about = (one for one in every if one.marked.head == target.head)
        if verdict := next((one for one in about if one.marked.stamp.gate == CHECK_NAME), None):
            pull.delete(found)
            return left(Sink.COMMENT, _VERDICT, verdict.comment.url), 0
    if newer := pull.newer(found):
        return left(Sink.COMMENT, _NEWER, newer.comment.url), known
    if not found and (unwanted := _unwanted(target, announcement)):
        return left(Sink.COMMENT, unwanted), 0
    body = mark(announcement.comment, MarkedComment(stamp=target.stamp, head=target.head))
    if not found:
        kept = forge.create_comment(number, body)
        return _settle(pull, kept), kept.number
    newest = found[0]
    for one in found[1:]:
        newest = one if one.marked.stamp.newer_than(newest.marked.stamp) else newest
    return _write(pull, found, newest.comment, body), newest.comment.number


def _unwanted(target: PublishTarget, announcement: Announcement) -> str:
    """Return why no first comment is made; empty when one is wanted."""
    if announcement.unasked:
        return "Nothing was to be evaluated, and there is no earlier comment to bring up to date."
    if target.comment is CommentMode.ON_FAILURE and announcement.passes:
        return "Comments are written on failure only."
    return ""


def _settle(pull: _Pull, made: Comment) -> Note:
    """After making a comment: leave one, should another run have made one at the same time.

    The newest run keeps its own and deletes the others; every other run deletes its own. A request
    that was repeated after a broken connection may have made two of ours, too.
    """
    found, newer = pull.now()
    if newer:  # it may be about to take over one of ours, so what is ours is looked up once more
        found, _ = pull.now()
    mine = [one for one in found if one.marked.stamp.same_run(pull.target.stamp)]
    pull.delete(mine if newer else [one for one in found if one not in mine[:1]])
    if newer:
        return left(Sink.COMMENT, _NEWER, newer.comment.url)
    return written(Sink.COMMENT, made.url)


def _write(pull: _Pull, found: list[OurComment], kept: Comment, body: Safe) -> Note:
    """Put the text into the comment of the newest run before, and delete the others.

    A run that made its comment while this one was under way may be about to delete it, having seen
    a newer one. Then the comments are read once more, and a new one is made if none is left.
    """
    try:
        pull.forge.update_comment(kept.number, body)
    except NotOnForge:
        return left(Sink.COMMENT, _DELETED)
    pull.delete([one for one in found if one.comment is not kept])
    if kept.created_at >= pull.target.stamp.started:
        still, newer = pull.now()
        if newer:
            return left(Sink.COMMENT, _NEWER, newer.comment.url)
        if not still:
            return _settle(pull, pull.forge.create_comment(pull.number, body))
    return written(Sink.COMMENT, kept.url)


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


def abandon(forge: Forge, target: PublishTarget, *, cancelled: bool, why: Safe) -> Publication:
    """Complete the check run of a run that ends without a verdict.

    A required check that nobody reports would be waited for without
    end, so one is made when this run has none.
    """
    conclusion = Conclusion.CANCELLED if cancelled else Conclusion.FAILURE
    title = label("Cancelled" if cancelled else "The gate broke off", TITLE_LIMIT)
    summary = markdown("{}\n\nNothing was decided about this commit. Run the job again.", why)
    said = Ending(conclusion=conclusion, title=title)
    note = close_check(forge, target, said, summary)
    forbidden = bool(note.permission)
    kept = Unfinished(target=target, said=said, forbidden=forbidden)
    return Publication(notes=(note,), unfinished=kept if _is_unfinished(note) else None)


def complete_left_open(forge: Forge, target: PublishTarget) -> Publication:
    """Complete what a crash left open, or unmade; for the step after the action's own."""
    why = markdown(
        "The gate ended without completing its check run: it was killed, or the machine was."
    )
    return abandon(forge, target, cancelled=False, why=why)


def complete_unfinished(forge: Forge, kept: Unfinished) -> Publication:
    """Complete a check run that GitHub did not take before, with the same conclusion.

    A label that let something through has to be there still.
    """
    said = kept.said
    if kept.without_labels is not None and not _labels_stand(forge, kept):
        said = kept.without_labels
    summary = markdown(
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
