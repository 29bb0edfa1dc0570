"""The gate's labels on a pull request: the facts about one, and the rules by which it counts.
Pure.

Everything comes from the forge or from the audit log, never from a commit: its dates and names are
whatever its author wrote.

The label that accepts a lowered bar obeys the same rules. What cannot be known counts as a no. The
order matters: a label from before a push is ended, no matter who put it on.

The log only says what there is to take back. A forged grant leads to one more line about a label
that was taken off, and to nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import StringConstraints

from gateval.domain.audit import AuditEntry, AuditKind
from gateval.domain.base import SHA_PATTERN, TIME_PATTERN, Value
from gateval.domain.forge.trigger import Comment
from gateval.domain.label_decision import (
    AuditPerson,
    GateLabel,
    LabelDecision,
    LabelStatus,
    LabelUse,
)
from gateval.domain.manifests.gate_config import BypassPolicy

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


_ANEW = "Put it on anew to let this revision through."
AGAIN = "Take the label off and put it on again to let this revision through."
"""What to do when a label is not, or not for certain, about the present head."""


def rule_on(facts: LabelFacts, policy: BypassPolicy) -> LabelDecision:
    """Rule on a label that is on the live pull request."""
    event = newest_use(facts.label, facts.events)
    if event is None:
        use = LabelUse(name=facts.label, by=AuditPerson(login=""))
        why = facts.unknown or "GitHub does not tell who put the label on. " + AGAIN
        return _decided(facts, use, LabelStatus.DENIED, why)
    use = event.use(facts.label, facts.author, facts.role)
    if facts.unknown:
        return _decided(facts, use, LabelStatus.DENIED, facts.unknown)
    if why := _ended(facts, event):
        return _decided(facts, use, LabelStatus.ENDED, why)
    since = use_before(facts.label, facts.events, event)
    reason = find_reason(facts.label, facts.comments, login=event.by.login, since=since)
    why = _denied(facts, event, policy, reason)
    status = LabelStatus.DENIED if why else LabelStatus.GRANTED
    return _decided(facts, use, status, why, reason)


def _decided(
    facts: LabelFacts, use: LabelUse, status: LabelStatus, why: str, reason: str = ""
) -> LabelDecision:
    return LabelDecision(
        label=facts.label,
        status=status,
        use=use,
        why=why,
        reason=reason,
        pull_request=facts.pull_request,
        head=facts.head,
    )


def _ended(facts: LabelFacts, event: LabelEvent) -> str:
    """Return why a push has ended the label; empty if none is known to have."""
    after = facts.push
    if after is not None and after.after == facts.head and after.at == event.at:
        return (
            f"The label was put on in the very second of a push ({after.at}), which GitHub cannot "
            f"tell apart, so the push ended it. {_ANEW}"
        )
    pushed = after is not None and after.after == facts.head and after.at > event.at
    moved = _told(facts, event) and facts.payload and facts.payload.head != facts.head
    if pushed or moved or _noted(facts, event):
        return f"The label was put on an earlier revision, and a push ended it. {_ANEW}"
    return ""


def _told(facts: LabelFacts, event: LabelEvent) -> bool:
    """Whether the webhook that started this run is about this use of the label."""
    said = facts.payload
    if said is None or GateLabel.named(said.label) is not facts.label:
        return False
    return said.sender == event.by.login


def _noted(facts: LabelFacts, event: LabelEvent) -> bool:
    """Whether the log has it that this use was ended, or that it was for another head."""
    return any(
        entry.kind is AuditKind.BYPASS_ENDED or (entry.kind in _GRANTS and entry.head != facts.head)
        for entry in facts.recorded
        if entry.pull_request == facts.pull_request
        and entry.label is not None
        and (entry.label.name, entry.label.event) == (facts.label, str(event.number))
    )


def _denied(facts: LabelFacts, event: LabelEvent, policy: BypassPolicy, reason: str) -> str:
    """Return which rule a label breaks that no push has ended; empty if it counts."""
    login, role = event.by.login, facts.role
    if not event.by.human:
        return f"{login or 'Nobody known'} is not a person; only a person may."
    if role not in policy.roles:
        has = f"has the role {role}" if role else "has no role"
        may = " or ".join(policy.roles) or "nobody"
        return f"{login} {has} in this repository; {may} may use the label."
    if login == facts.author and not policy.allow_author:
        return "The author of the pull request may not let it through (policy.bypass.allowAuthor)."
    if why := _unbound(facts, event):
        return why
    if reason or not policy.require_reason:
        return ""
    return (
        f"A reason is required. {login} writes it as a comment of its own, "
        f"`/{facts.label} REASON`, unedited, then takes the label off and puts it on again."
    )


def _unbound(facts: LabelFacts, event: LabelEvent) -> str:
    """Return why the label is not known to be about this very head; empty if it is.

    Where the forge tells of pushes, they decide, and one that it does not tell of yet is a no.
    Where it does not, only the webhook says so. The audit log never does: everybody who
    may push can write there.
    """
    if facts.push is None:
        told = _told(facts, event)
        return "" if told else f"It is not known on which revision the label was put. {AGAIN}"
    if facts.push.after == facts.head:
        return ""
    return (
        "GitHub's list of pushes does not show this revision yet, so it is not known whether the "
        "label is newer. Run the job again in a minute."
    )


_GRANTS = {AuditKind.BYPASS_GRANTED, AuditKind.BAR_ACCEPTED}
_OVER = {AuditKind.BYPASS_ENDED, AuditKind.BYPASS_WITHDRAWN}


def open_grant(
    label: GateLabel, pull_request: int, entries: Iterable[AuditEntry]
) -> AuditEntry | None:
    """Return the grant for a pull request that nothing has ended as yet; None if there is none."""
    found = None
    for entry in entries:
        if entry.pull_request != pull_request or entry.label is None or entry.label.name != label:
            continue
        if entry.kind in _GRANTS | _OVER:
            found = entry if entry.kind in _GRANTS else None
    return found


def taken_off(label: GateLabel, events: Sequence[LabelEvent], author: str) -> LabelUse | None:
    """Return who took a label off and when; None if it is there, or never was.

    `author` is the pull request's.
    """
    newest = newest_event(label, events)
    if newest is None or newest.added:
        return None
    return newest.use(label, author)
