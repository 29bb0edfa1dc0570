"""From a trigger to the revisions it is about; what may have changed since is read live.

Head is the pull request's head, never the merge commit that GitHub makes of it: that one changes
whenever the base moves, and branch protection asks about the head. The base tip, from which the
rules come, is what the server says now.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import NamedTuple

from gateval.domain.audit import AuditEntry, read_log
from gateval.domain.forge.trigger import (
    Comment,
    CommitSubject,
    EventName,
    MergeGroupSubject,
    PullRequest,
    PullRequestSubject,
    Trigger,
    group_members,
    known_for_certain,
)
from gateval.domain.history.verdicts import HistoryRecord, find_record
from gateval.domain.label_decision import GateLabel
from gateval.domain.labels import LabelEvent, LabelFacts, Push, StartingLabel, newest_use
from gateval.domain.text import LONG
from gateval.errors import (
    ForgeError,
    ForgeUnavailable,
    MissingPermission,
    RateLimited,
    RecordsError,
    UsageError,
)
from gateval.pipeline.read import Revisions, common_ancestor
from gateval.ports.forge import Forge, PullRequests
from gateval.ports.repository import Repository, ServerRepository
from gateval.ports.storage import AUDIT_LOG, HISTORY, Records, Stored

OpenRecords = Callable[[], AbstractContextManager[Records]]
"""Opens the records of the repository on the server."""


def labels_of(pull: PullRequest) -> tuple[GateLabel, ...]:
    """Return the gate's labels that are on a pull request, the one about the bar first."""
    order = (GateLabel.ACCEPT_BAR, GateLabel.BYPASS)
    there = GateLabel.among(pull.labels)
    return tuple(label for label in order if label in there)


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
        use = newest_use(label, known.events)
        role = forge.role(use.by.login) if use and use.by.human else ""
    except ForgeError as error:
        return facts.replace(unknown=_sentence(error))
    return facts.replace(role=role)


def _sentence(error: ForgeError) -> str:
    return error.sentence[:LONG]


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


@dataclass(frozen=True)
class ResolvedEvent:
    """The revisions to measure, and their pull request.

    `pull_request` is the live one; None when there is none or the token may not read it. `number`
    is known in both cases; `group` are the numbers in a merge group, and `group_known` says that it
    holds no others for certain. `base_ref` is the target branch. `warning` is a sentence, empty if
    all is well.
    """

    revisions: Revisions
    base_ref: str
    number: int | None = None
    pull_request: PullRequest | None = None
    group: tuple[int, ...] = ()
    group_known: bool = False
    draft: bool = False
    warning: str = ""


def resolve_event(
    trigger: Trigger, repository: Repository, server: ServerRepository, forge: PullRequests
) -> ResolvedEvent:
    """Resolve the revisions of a trigger, fetching what the clone lacks.

    Raises `UsageError` for a pull request that cannot be measured, `RepositoryError`, `ForgeError`.
    """
    subject = trigger.subject
    if isinstance(subject, PullRequestSubject):
        return _pull_request(subject, trigger.event, repository, server, forge)
    if isinstance(subject, MergeGroupSubject):
        return _merge_group(subject, repository, server)
    if isinstance(subject, CommitSubject):
        return _commit(subject, repository, server)
    raise UsageError(
        "What another workflow run measured can only be published.",
        hint="Give the action `with: {step: publish}` on workflow_run.",
    )


def _pull_request(
    subject: PullRequestSubject,
    event: EventName,
    repository: Repository,
    server: ServerRepository,
    forge: PullRequests,
) -> ResolvedEvent:
    number, told, into = subject.number, subject.head_sha, subject.base_ref
    with ThreadPoolExecutor(1) as aside:  # git asks the server while we ask its API
        early = aside.submit(_bring, server, number, told, into) if told and into else None
        found, warning = _live(subject, forge)
    if found is not None and event is EventName.DISPATCH and not found.open:
        raise UsageError(
            f"Pull request #{found.number} is closed.", hint="Reopen it, or name another one."
        )
    head = told or (found.head.sha if found else "")
    if subject.only not in {None, head}:
        raise UsageError(
            f"The head of pull request #{subject.number} is {head[:12]}, not {subject.only[:12]} "
            "as was asked for. Nothing was run.",
            hint="Read what was pushed since; then ask again with the head that you have read.",
        )
    base_ref = found.base.ref if found else into or ""
    retargeted = base_ref != into
    tip = _bring(server, number, head, base_ref) if early is None or retargeted else early.result()
    server.join(head, tip)
    return ResolvedEvent(
        revisions=_revisions(repository, head, tip),
        base_ref=base_ref,
        number=number,
        pull_request=found,
        draft=found.draft if found else subject.draft,
        warning=warning,
    )


def _bring(server: ServerRepository, number: int, head: str, base_ref: str) -> str:
    """Fetch a pull request's head and the tip of the branch it goes into; return the tip."""
    tip = server.tip(base_ref)
    server.bring([head, tip], instead=f"refs/pull/{number}/head")
    return tip


def _live(subject: PullRequestSubject, forge: PullRequests) -> tuple[PullRequest | None, str]:
    """Ask for the pull request. What the event tells is enough where the token may not."""
    try:
        return forge.pull_request(subject.number), ""
    except MissingPermission as error:
        if subject.head_sha is None:
            raise
        return None, f"{error.sentence} The event's own facts count instead."


def _merge_group(
    subject: MergeGroupSubject, repository: Repository, server: ServerRepository
) -> ResolvedEvent:
    """Compare with what the group builds on: that may hold groups before it, unmerged as yet.

    The rules never come from there, but from the tip of the target branch.
    """
    tip = server.tip(subject.base_ref)
    server.bring([subject.head_sha, subject.base_sha, tip])
    server.join(subject.head_sha, subject.base_sha)
    revisions = _revisions(repository, subject.head_sha, subject.base_sha)
    commits = repository.landed(subject.base_sha, subject.head_sha)
    group = group_members(subject.number, commits)
    return ResolvedEvent(
        Revisions(revisions.head, revisions.base, repository.resolve(tip)),
        base_ref=subject.base_ref,
        group=group,
        group_known=known_for_certain(group, commits),
    )


def _commit(
    subject: CommitSubject, repository: Repository, server: ServerRepository
) -> ResolvedEvent:
    before = subject.before or server.tip(subject.base_ref)
    server.bring([subject.head_sha, before])
    server.join(subject.head_sha, before)
    revisions = _revisions(repository, subject.head_sha, before)
    landed = subject.before is not None
    return ResolvedEvent(replace(revisions, landed=landed), subject.base_ref)


def _revisions(repository: Repository, head: str, tip: str) -> Revisions:
    ours, theirs = repository.resolve(head), repository.resolve(tip)
    return Revisions(ours, common_ancestor(repository, theirs, ours), theirs)


def read_stored_records(open_records: OpenRecords) -> tuple[Stored | None, Stored | None]:
    """Read earlier verdicts and the audit log in one visit. Raises `RecordsError`."""
    with open_records() as records:
        return records.read(HISTORY), records.read(AUDIT_LOG)


def verdict_in(stored: Stored | None, head: str, check: str = "") -> HistoryRecord | None:
    """Return the record of a check on a head commit in a history that was read, or None.

    Whether it may be used say `outdated` and `overtaken`. Raises `RecordsError` when it cannot be
    trusted.
    """
    if stored is None or stored.content is None:
        return None
    return find_record(stored.content, head, check)
