"""What a comment on a pull request asks of the gate: nothing at all, as a rule.

What counts is the comment as it was written: an event that tells of an edit is refused, since
whoever may write to the repository may edit everybody's comments.
"""

from __future__ import annotations

import re

from gateval.domain.base import NAME_PATTERN, is_sha
from gateval.domain.forge.trigger import CommentSubject, EventName, Trust, Verb
from gateval.domain.text.quoting import quote
from gateval.errors import UsageError
from gateval.formats.github.given import Given, Read, refuse_inputs
from gateval.formats.github.payloads import CommentPayload
from gateval.formats.github.reading import parse_payload

COMMAND = "/gateval"

_LONGEST = 300
"""Characters of a command: a verb and a commit or the name of a fixture."""


def read_comment(given: Given) -> Read:
    """Read a new comment. The command has to be all that it says."""
    refuse_inputs(given, EventName.COMMENT)
    event = parse_payload(CommentPayload, given.payload)
    if event.action != "created":
        raise UsageError(
            f"Gateval has nothing to do when a comment is {quote(event.action)}.",
            hint="Use `on: {issue_comment: {types: [created]}}`.",
        )
    comment, user = event.comment, event.comment.user
    verb, argument = read_command(comment.body)
    subject = CommentSubject(
        number=event.issue.number,
        on_pull_request=event.issue.pull_request is not None,
        author=user.login if user else "",
        person=user is not None and user.type == "User" and not comment.performed_via_github_app,
        verb=verb,
        argument=argument,
    )
    return event.action, Trust.TRUSTED, subject


def read_command(body: str) -> tuple[Verb, str]:
    """Return what a comment asks for: a verb and its argument, empty if it asks for nothing."""
    words = body.split()
    if not words or words[0] != COMMAND:
        return Verb.NOTHING, ""
    match words[1:] if len(body) <= _LONGEST else ():
        case ["rerun", sha] if is_sha(sha):
            return Verb.RERUN, sha
        case ["explain", name] if re.fullmatch(NAME_PATTERN, name):
            return Verb.EXPLAIN, name
    return Verb.UNCLEAR, ""
