"""The gate's own comments on a pull request: which are ours, and which of them count.

Ours are those by our login and with our marker; anybody can write the marker.
"""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.decision.trust import UNVERIFIED_GATE
from gateval.domain.forge.pull_request import Comment
from gateval.domain.forge.stamp import Marked, read_mark
from gateval.ports.comments import Comments
from gateval.publish.target import CHECK_NAME, Target


class OurComment(NamedTuple):
    """A comment and what its first line says."""

    comment: Comment
    marked: Marked


def ours(forge: Comments, target: Target, pull_request: int) -> list[OurComment]:
    """Return this gate's comments, oldest first."""
    every = all_ours(forge, pull_request)
    return [one for one in every if one.marked.stamp.gate == target.stamp.gate]


def all_ours(forge: Comments, pull_request: int) -> list[OurComment]:
    """Return the comments of all gates, oldest first: by our login and with our marker."""
    marked = [
        OurComment(comment, found)
        for comment in forge.comments(pull_request)
        if (found := read_mark(comment.body))
    ]
    if not marked:
        return []
    viewer = forge.viewer()
    mine = [one for one in marked if one.comment.author == viewer]
    return sorted(mine, key=lambda one: one.comment.number)


def newer_one(found: list[OurComment], target: Target) -> OurComment | None:
    """Return the comment of a newer run on the same head.

    One about another head gives way whatever its stamp: that head is no longer the head.
    """
    about_this = (one for one in found if one.marked.head == target.head)
    return next((one for one in about_this if one.marked.stamp.newer_than(target.stamp)), None)


def verdict_on(every: list[OurComment], target: Target) -> OurComment | None:
    """Return the verdict about this very head, if the target is only a claim."""
    if target.stamp.gate != UNVERIFIED_GATE:
        return None
    about = (one for one in every if one.marked.head == target.head)
    return next((one for one in about if one.marked.stamp.gate == CHECK_NAME), None)


def claims(every: list[OurComment], target: Target) -> list[OurComment]:
    """Return the claims that a verdict of the whole gate takes the place of."""
    whole = target.stamp.gate == CHECK_NAME
    return [one for one in every if whole and one.marked.stamp.gate == UNVERIFIED_GATE]
