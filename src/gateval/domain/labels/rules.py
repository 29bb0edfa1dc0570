"""Whether a label counts: the rules of the bypass, one after the other.

The label that accepts a lowered bar obeys the same rules. What cannot be known counts as a no. The
order matters: a label from before a push is ended, no matter who put it on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gateval.domain.audit.entry import AuditEntry, AuditKind
from gateval.domain.labels.facts import LabelEvent, LabelFacts, find_reason, newest_use, use_before
from gateval.domain.manifests.policy.gate_config import BypassPolicy
from gateval.domain.ruling import AuditPerson, GateLabel, LabelUse, Ruling, RulingStatus

_ANEW = "Put it on anew to let this revision through."
AGAIN = "Take the label off and put it on again to let this revision through."
"""What to do when a label is not, or not for certain, about the present head."""


def rule_on(facts: LabelFacts, policy: BypassPolicy) -> Ruling:
    """Rule on a label that is on the live pull request."""
    event = newest_use(facts.label, facts.events)
    use = _use(facts, event)
    if facts.unknown:
        return _ruling(facts, use, RulingStatus.DENIED, facts.unknown)
    if event is None:
        why = "GitHub does not tell who put the label on. " + AGAIN
        return _ruling(facts, use, RulingStatus.DENIED, why)
    if why := _ended(facts, event):
        return _ruling(facts, use, RulingStatus.ENDED, why)
    since = use_before(facts.label, facts.events, event)
    reason = find_reason(facts.label, facts.comments, login=event.by.login, since=since)
    matter = _Matter(facts, event, policy, reason)
    for rule in _RULES:
        if why := rule(matter):
            return _ruling(facts, use, RulingStatus.DENIED, why, reason)
    return _ruling(facts, use, RulingStatus.GRANTED, "", reason)


class _Matter(NamedTuple):
    """A use of a label, and what the rules look at."""

    facts: LabelFacts
    event: LabelEvent
    policy: BypassPolicy
    reason: str


def _use(facts: LabelFacts, event: LabelEvent | None) -> LabelUse:
    if event is None:
        return LabelUse(name=facts.label, by=AuditPerson(login=""))
    return event.use(facts.label, facts.author, facts.role)


def _ruling(
    facts: LabelFacts, use: LabelUse, status: RulingStatus, why: str, reason: str = ""
) -> Ruling:
    return Ruling(
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
        for entry in _about(facts, event)
    )


_GRANTS = {AuditKind.BYPASS_GRANTED, AuditKind.BAR_ACCEPTED}


def _about(facts: LabelFacts, event: LabelEvent) -> list[AuditEntry]:
    return [
        entry
        for entry in facts.recorded
        if entry.pull_request == facts.pull_request
        and entry.label is not None
        and entry.label.name == facts.label
        and entry.label.event == str(event.number)
    ]


def _person(matter: _Matter) -> str:
    by = matter.event.by
    return "" if by.human else f"{by.login or 'Nobody known'} is not a person; only a person may."


def _role(matter: _Matter) -> str:
    role, roles = matter.facts.role, matter.policy.roles
    if role in roles:
        return ""
    has = f"has the role {role}" if role else "has no role"
    may = " or ".join(roles) or "nobody"
    return f"{matter.event.by.login} {has} in this repository; {may} may use the label."


def _author(matter: _Matter) -> str:
    if matter.policy.allow_author or matter.event.by.login != matter.facts.author:
        return ""
    return "The author of the pull request may not let it through (policy.bypass.allowAuthor)."


def _bound(matter: _Matter) -> str:
    """The label has to be known to be about this very head.

    Where the forge tells of pushes, they decide, and one that it does not tell of yet is a no.
    Where it does not, only the webhook says so. The audit log never does: everybody who
    may push can write there.
    """
    facts = matter.facts
    if facts.push is None:
        told = _told(facts, matter.event)
        return "" if told else f"It is not known on which revision the label was put. {AGAIN}"
    if facts.push.after == facts.head:
        return ""
    return (
        "GitHub's list of pushes does not show this revision yet, so it is not known whether the "
        "label is newer. Run the job again in a minute."
    )


def _reason(matter: _Matter) -> str:
    if matter.reason or not matter.policy.require_reason:
        return ""
    return (
        f"A reason is required. {matter.event.by.login} writes it as a comment of its own, "
        f"`/{matter.facts.label} REASON`, unedited, then takes the label off and puts it on again."
    )


_RULES: tuple[Callable[[_Matter], str], ...] = (_person, _role, _author, _bound, _reason)
