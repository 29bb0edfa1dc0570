"""Reads all that bears on the gate's labels of a pull request, from the forge and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from gateval.domain.audit import AuditEntry, read_log
from gateval.domain.forge.pull_request import Comment, PullRequest
from gateval.domain.forge.trigger import PullRequestSubject, Trigger
from gateval.domain.label_decision import GateLabel
from gateval.domain.labels import LabelEvent, LabelFacts, Push, StartingLabel, newest_use
from gateval.domain.text import LONG
from gateval.errors import ForgeError, ForgeUnavailable, RateLimited, RecordsError
from gateval.ports.forge import Forge
from gateval.ports.storage import RecordFile, Records, Stored

OpenRecords = Callable[[], AbstractContextManager[Records]]
"""Opens the records of the repository on the server."""


def labels_of(pull: PullRequest) -> tuple[GateLabel, ...]:
    """Return the gate's labels that are on a pull request, the one about the bar first."""
    order = (GateLabel.ACCEPT_BAR, GateLabel.BYPASS)
    there = GateLabel.among(pull.labels)
    return tuple(label for label in order if label in there)


def read_recorded(open_records: OpenRecords, file: RecordFile) -> tuple[AuditEntry, ...]:
    """Return the audit log's entries. Raises `RecordsError` if it is broken or unreadable."""
    with open_records() as records:
        return entries_in(records.read(file))


def entries_in(stored: Stored | None) -> tuple[AuditEntry, ...]:
    """Return the entries of a log that was read. Raises `RecordsError` if it is broken."""
    log = read_log((stored.content if stored else None) or b"")
    if log.broken:
        raise RecordsError(str(log.broken))
    return log.entries


class PullFacts(NamedTuple):
    """What bears on all labels of a pull request; `unknown` is a sentence if it cannot be read."""

    events: tuple[LabelEvent, ...] = ()
    comments: tuple[Comment, ...] = ()
    push: Push | None = None
    unknown: str = ""


def read_pull(forge: Forge, pull: PullRequest) -> PullFacts:
    """Return what bears on the labels of a pull request. Waits for pushes that are not told yet."""
    try:
        events, comments = forge.label_events(pull.number), forge.comments(pull.number)
        return PullFacts(events, comments, _push(forge, pull))
    except ForgeError as error:
        return PullFacts(unknown=_sentence(error))


def read_label(
    forge: Forge,
    pull: PullRequest,
    label: GateLabel,
    trigger: Trigger,
    recorded: tuple[AuditEntry, ...],
    known: PullFacts,
    *,
    attempt: int,
) -> LabelFacts:
    """Return what is known about a label that is on the live pull request.

    `attempt` is that of the workflow run: the event of a re-run is as old as its first attempt, so
    what it says about a label no longer counts.
    """
    facts = LabelFacts(
        label=label,
        head=pull.head.sha,
        pull_request=pull.number,
        author=pull.author,
        payload=_payload(trigger, pull) if attempt == 1 else None,
        recorded=tuple(entry for entry in recorded if entry.pull_request == pull.number),
        events=known.events,
        comments=known.comments,
        push=known.push,
        unknown=known.unknown,
    )
    try:
        role = _role(forge, newest_use(label, known.events))
    except ForgeError as error:
        return facts.model_copy(update={"unknown": _sentence(error)})
    return facts.model_copy(update={"role": role})


def _sentence(error: ForgeError) -> str:
    return error.sentence[:LONG]


def _role(forge: Forge, use: LabelEvent | None) -> str:
    return forge.role(use.by.login) if use and use.by.human else ""


def _payload(trigger: Trigger, pull: PullRequest) -> StartingLabel | None:
    subject = trigger.subject
    if not isinstance(subject, PullRequestSubject) or subject.number != pull.number:
        return None
    told = subject.labeled
    if told is None or not told.added:
        return None
    return StartingLabel(label=told.name, head=told.head_sha, sender=told.sender)


def _push(forge: Forge, pull: PullRequest) -> Push | None:
    """Ask for the newest push to the head branch; None where the forge never tells.

    An outage or a rate limit is no such place: a person who may cause one must not gain by it.
    """
    if pull.head.repository is None:
        return None
    try:
        return forge.newest_push(pull.head.repository, pull.head.ref, upto=pull.head.sha)
    except (ForgeUnavailable, RateLimited):
        raise
    except ForgeError:
        return None
