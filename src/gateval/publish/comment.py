"""The comment: one per gate and pull request, ours by marker and author, updated in place.

GitHub offers no way to write only if nobody wrote in between. So everything is read again right
before writing, and after a comment was made the list is read once more: of two runs that raced the
one that began first gives way.

A verdict takes the place of a claim: its comment is deleted, and no later claim about the same head
is written.
"""

from __future__ import annotations

import contextlib

from gateval.domain.forge.announcement import Announcement
from gateval.domain.forge.pull_request import Comment
from gateval.domain.forge.stamp import BORDER, MarkedComment, mark
from gateval.errors import ForgeError, NotOnForge
from gateval.ports.forge import Comments
from gateval.publish.our_comments import (
    OurComment,
    marked_comments,
    newer_one,
    of_gate,
    of_viewer,
    outdated_ones,
    verdict_on,
)
from gateval.publish.outcome import Note, Sink, WriteStatus, failed, left, written
from gateval.publish.target import CommentMode, PublishTarget


def publish_comment(
    forge: Comments, target: PublishTarget, announcement: Announcement, pull_request: int
) -> Note:
    """Write the comment, or say why not. Head must have been found unmoved just before."""
    if target.comment is CommentMode.OFF:
        return left(Sink.COMMENT, "Comments are switched off.")
    try:
        marked = marked_comments(forge, pull_request)
        every = of_viewer(forge, marked)
        note = _write_comment(forge, target, announcement, pull_request, every)
    except ForgeError as error:
        return failed(Sink.COMMENT, error)
    with contextlib.suppress(ForgeError):  # what is written stands all the same
        written_now = note.status is WriteStatus.WRITTEN
        _delete(forge, outdated_ones(forge, marked, target, written=written_now))
    return note


def _write_comment(
    forge: Comments,
    target: PublishTarget,
    announcement: Announcement,
    pull_request: int,
    every: list[OurComment],
) -> Note:
    found = of_gate(every, target)
    if verdict := verdict_on(every, target):
        _delete(forge, found)
        return left(Sink.COMMENT, _VERDICT, verdict.comment.url)
    if newer := newer_one(found, target):
        return left(Sink.COMMENT, _NEWER, newer.comment.url)
    if not found and (unwanted := _unwanted(target, announcement)):
        return left(Sink.COMMENT, unwanted)
    text = _text(announcement, target, found)
    body = mark(text, MarkedComment(stamp=target.stamp, head=target.head))
    if not found:
        made = forge.create_comment(pull_request, body)
        return _settle(forge, target, pull_request, made)
    return _write(forge, target, pull_request, found, body)


_NEWER = "A newer run of this gate has written about this head; an older one does not overwrite it."


_VERDICT = "A trusted run has reported on this head; a claim takes nothing of it back."


_DELETED = "The comment was deleted while it was written, as a newer run does."


def _unwanted(target: PublishTarget, announcement: Announcement) -> str:
    """Return why no first comment is made; empty when one is wanted."""
    if announcement.unasked:
        return "Nothing was to be evaluated, and there is no earlier comment to bring up to date."
    if target.comment is CommentMode.ON_FAILURE and announcement.passes:
        return "Comments are written on failure only."
    return ""


def _delete(forge: Comments, found: list[OurComment]) -> None:
    for one in found:
        forge.delete_comment(one.comment.number)


def _text(announcement: Announcement, target: PublishTarget, found: list[OurComment]) -> str:
    """Return the comment, with the evals of the one before if they were not run again."""
    if not announcement.keeps_evals:
        return announcement.comment
    said, sign, _ = announcement.comment.partition(BORDER)
    for one in reversed(found):
        _, there, evals = one.comment.body.partition(BORDER)
        if there and one.marked.head == target.head and len(said) + len(evals) < _ROOM:
            return f"{said}{sign}{evals}"
    return announcement.comment


_ROOM = 65_000
"""Characters of a comment; GitHub takes 65,536."""


def _settle(forge: Comments, target: PublishTarget, pull_request: int, made: Comment) -> Note:
    """After making a comment: leave one, should another run have made one at the same time.

    The newest run keeps its own and deletes the others; every other run deletes its own. A request
    that was repeated after a broken connection may have made two of ours, too.
    """
    found, newer = _now(forge, target, pull_request)
    if newer:  # it may be about to take over one of ours, so what is ours is looked up once more
        found, _ = _now(forge, target, pull_request)
    mine = [one for one in found if one.marked.stamp.same_run(target.stamp)]
    _delete(forge, mine if newer else [one for one in found if one not in mine[:1]])
    if newer:
        return left(Sink.COMMENT, _NEWER, newer.comment.url)
    return written(Sink.COMMENT, made.url)


def _now(
    forge: Comments, target: PublishTarget, pull_request: int
) -> tuple[list[OurComment], OurComment | None]:
    """Return this gate's comments as they are now, and that of a newer run."""
    found = of_gate(of_viewer(forge, marked_comments(forge, pull_request)), target)
    return found, newer_one(found, target)


def _write(
    forge: Comments, target: PublishTarget, pull_request: int, found: list[OurComment], body: str
) -> Note:
    """Put the text into the comment of the newest run before, and delete the others.

    A run that made its comment while this one was under way may be about to delete it, having seen
    a newer one. Then the comments are read once more, and a new one is made if none is left.
    """
    kept = found[0]
    for one in found[1:]:
        kept = one if one.marked.stamp.newer_than(kept.marked.stamp) else kept
    others = [one for one in found if one is not kept]
    try:
        forge.update_comment(kept.comment.number, body)
    except NotOnForge:
        return left(Sink.COMMENT, _DELETED)
    _delete(forge, others)
    if kept.comment.created_at >= target.stamp.started:
        still, newer = _now(forge, target, pull_request)
        if newer:
            return left(Sink.COMMENT, _NEWER, newer.comment.url)
        if not still:
            return _settle(forge, target, pull_request, forge.create_comment(pull_request, body))
    return written(Sink.COMMENT, kept.comment.url)
