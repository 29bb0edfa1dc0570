"""The reason for a label: a comment `/LABEL why`, by the person who put the label on.

Everybody who may write to the repository may edit all comments, and GitHub's REST API does not
tell who did. So an edited comment gives no reason. Nor does one that was written before the label's
previous use: each use has a reason of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.forge.pull_request import Comment
from gateval.domain.ruling import GateLabel


def find_reason(label: GateLabel, comments: Sequence[Comment], *, login: str, since: str) -> str:
    """Return the newest reason that `login` gave after `since`, in one line; empty if none.

    It may begin on the line below the command. What no letter or digit is in says nothing.
    """
    command = f"/{label}"
    for comment in reversed(comments):
        if comment.author != login or comment.edited or comment.created_at < since:
            continue
        word, *reason = comment.body.split() or [""]
        if word == command and any(map(str.isalnum, "".join(reason))):
            return " ".join(reason)
    return ""
