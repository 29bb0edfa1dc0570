"""The facts about a label on a pull request, on which the gate rules.

Everything comes from the forge or from the audit log, never from a commit: its dates and names are
whatever its author wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import StringConstraints

from gateval.domain.audit.entry import AuditEntry
from gateval.domain.base import SHA_PATTERN, TIME_PATTERN, Value
from gateval.domain.forge.pull_request import Comment
from gateval.domain.ruling import AuditPerson, GateLabel, LabelUse

Instant = Annotated[str, StringConstraints(pattern=TIME_PATTERN)]
"""UTC to the second, `2026-11-20T09:30:00Z`: two of them compare as texts."""


class Account(Value):
    """Who did something. `human` is false for bots and Apps, and for deleted accounts."""

    login: str
    id: int | None = None
    human: bool


class LabelEvent(Value):
    """A label was put on (`added`) or taken off, by whom and when. `number` is the forge's id."""

    number: int
    label: str
    added: bool
    by: Account
    at: Instant

    def use(self, label: GateLabel, author: str, role: str = "") -> LabelUse:
        """Return it as the log has it; `author` is the pull request's, `role` the person's."""
        return LabelUse(
            name=label,
            by=AuditPerson(login=self.by.login, id=self.by.id, role=role),
            applied_at=self.at,
            event=str(self.number),
            own=self.by.login == author,
        )


class Push(Value):
    """The newest push to a branch that the forge tells of: which commit it is at since when.

    Both are empty where the forge can tell, but knows of none as yet.
    """

    after: str = ""
    at: Instant | Literal[""] = ""


class StartingLabel(Value):
    """The label that started this very run: on which head it was put, by whom; GitHub's words."""

    label: str
    head: Annotated[str, StringConstraints(pattern=SHA_PATTERN)]
    sender: str


class LabelFacts(Value):
    """All that bears on one label of one pull request.

    `head` is the commit that was measured; the live head is the same. `events` are all events about
    labels, oldest first. `role` is that of the person who put the label on, empty if unknown.
    `push` is None where the forge does not tell of pushes. `payload` is None unless this is the
    first attempt of the run that the label started. `recorded` are the audit log's entries about
    the pull request. `unknown` says what could not be read, as a sentence that ends the matter;
    empty if all could.
    """

    label: GateLabel
    head: Annotated[str, StringConstraints(pattern=SHA_PATTERN)]
    pull_request: int
    author: str
    events: tuple[LabelEvent, ...] = ()
    role: str = ""
    push: Push | None = None
    payload: StartingLabel | None = None
    recorded: tuple[AuditEntry, ...] = ()
    comments: tuple[Comment, ...] = ()
    unknown: str = ""


def newest_use(label: GateLabel, events: Sequence[LabelEvent]) -> LabelEvent | None:
    """Return the event that put the label on as it is now; None if it was taken off since."""
    newest = newest_event(label, events)
    return newest if newest and newest.added else None


def newest_event(label: GateLabel, events: Sequence[LabelEvent]) -> LabelEvent | None:
    """Return what happened to a label last; None if it was never there."""
    mine = [event for event in events if GateLabel.named(event.label) is label]
    return mine[-1] if mine else None


def use_before(label: GateLabel, events: Sequence[LabelEvent], use: LabelEvent) -> str:
    """Return when the label was put on the time before `use`; empty if that is its first use."""
    earlier = [one.at for one in events if GateLabel.named(one.label) is label and one.added]
    return earlier[-2] if len(earlier) > 1 and use.added else ""


def find_reason(label: GateLabel, comments: Sequence[Comment], *, login: str, since: str) -> str:
    """Return the newest reason (`/LABEL why`) that `login` gave after `since`; empty if none.

    It is in one line, and may begin on the line below the command. What no letter or digit is in
    says nothing. Everybody who may write to the repository may edit all comments, and GitHub's REST
    API does not tell who did, so an edited comment gives no reason. Nor does one from before the
    label's previous use: each use has a reason of its own.
    """
    command = f"/{label}"
    for comment in reversed(comments):
        if comment.author != login or comment.edited or comment.created_at < since:
            continue
        word, *reason = comment.body.split() or [""]
        if word == command and any(map(str.isalnum, "".join(reason))):
            return " ".join(reason)
    return ""
