"""The gate's own comments on a pull request: which are ours, and which of them count.

Ours are those by our login and with our marker, for anybody can write the marker; and the one that
our check runs know by its number, for some may take the marker out of it.
"""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.decision.trust import UNVERIFIED_GATE
from gateval.domain.forge.pull_request import Comment
from gateval.domain.forge.stamp import KnownComment, MarkedComment, Stamp, read_mark
from gateval.ports.forge import Comments
from gateval.publish.target import CHECK_NAME, PublishTarget

ACTIONS_BOT = "github-actions[bot]"
"""Who writes with the token that GitHub gives each job."""


class OurComment(NamedTuple):
    """A comment and what its first line says."""

    comment: Comment
    marked: MarkedComment


def marked_comments(
    forge: Comments, target: PublishTarget, pull_request: int, known: KnownComment
) -> list[OurComment]:
    """Return the comments that carry the marker of any gate, by whomever, and the known one."""
    found = []
    for comment in forge.comments(pull_request):
        marked = read_mark(comment.body)
        if comment.number == known.number and not (
            marked and marked.stamp.gate == target.stamp.gate
        ):
            marked = _defaced(target)
        if marked is not None:
            found.append(OurComment(comment, marked))
    return found


def _defaced(target: PublishTarget) -> MarkedComment:
    """Return the mark that a comment without this gate's counts for: older than any run's."""
    first = Stamp(gate=target.stamp.gate, started="1970-01-01T00:00:00Z", run=0, attempt=0)
    return MarkedComment(stamp=first, head="0" * 40)


def of_viewer(forge: Comments, marked: list[OurComment]) -> list[OurComment]:
    """Return those by our login, oldest first."""
    if not marked:
        return []
    viewer = forge.viewer()
    mine = [one for one in marked if one.comment.author == viewer]
    return sorted(mine, key=lambda one: one.comment.number)


def of_gate(found: list[OurComment], target: PublishTarget) -> list[OurComment]:
    """Return those of this gate."""
    return [one for one in found if one.marked.stamp.gate == target.stamp.gate]


def outdated_ones(
    forge: Comments, marked: list[OurComment], target: PublishTarget, *, written: bool
) -> list[OurComment]:
    """Return what is to go: claims, and, where the gate has `written`, what its other token did.

    An App may not edit what the job's own token wrote before this gate became an App of somebody's
    own, and two comments would contradict each other.
    """
    if not marked:
        return []
    viewer = forge.viewer()
    known = {viewer, ACTIONS_BOT} if viewer.endswith("[bot]") else {viewer}
    theirs = [one for one in marked if one.comment.author in known]
    others = [one for one in of_gate(theirs, target) if one.comment.author != viewer]
    return [*(others if written else ()), *_claims(theirs, target)]


def newer_one(found: list[OurComment], target: PublishTarget) -> OurComment | None:
    """Return the comment of a newer run on the same head.

    One about another head gives way whatever its stamp: that head is no longer the head.
    """
    about_this = (one for one in found if one.marked.head == target.head)
    return next((one for one in about_this if one.marked.stamp.newer_than(target.stamp)), None)


def verdict_on(every: list[OurComment], target: PublishTarget) -> OurComment | None:
    """Return the verdict about this very head, if the target is only a claim."""
    if target.stamp.gate != UNVERIFIED_GATE:
        return None
    about = (one for one in every if one.marked.head == target.head)
    return next((one for one in about if one.marked.stamp.gate == CHECK_NAME), None)


def _claims(every: list[OurComment], target: PublishTarget) -> list[OurComment]:
    """Return the claims that a verdict of the whole gate takes the place of."""
    whole = target.stamp.gate == CHECK_NAME
    return [one for one in every if whole and one.marked.stamp.gate == UNVERIFIED_GATE]
