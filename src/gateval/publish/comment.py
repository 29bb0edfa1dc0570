"""The comment: one per gate and pull request, ours by marker and author, updated in place.

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
from typing import NamedTuple

from gateval.domain.decision.decision import UNVERIFIED_GATE
from gateval.domain.forge.check_run import (
    Announcement,
    CommentMode,
    MarkedComment,
    Stamp,
    mark,
    read_mark,
)
from gateval.domain.forge.trigger import Comment
from gateval.errors import ForgeError, NotOnForge
from gateval.ports.forge import Forge
from gateval.publish.check import (
    CHECK_NAME,
    Note,
    PublishTarget,
    Sink,
    WriteStatus,
    failed,
    left,
    reported,
    written,
)

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


def _write(pull: _Pull, found: list[OurComment], kept: Comment, body: str) -> Note:
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
