"""The subject of a run: one reader for each event of GitHub Actions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gateval.domain.forge.trigger import (
    CLOSED,
    ClaimSubject,
    CommitSubject,
    EventName,
    Labeled,
    MergeGroupSubject,
    PullRequestSubject,
    Trust,
)
from gateval.domain.text.quoting import quote
from gateval.errors import UsageError
from gateval.formats.github.comment import read_comment
from gateval.formats.github.given import Given, Read, refuse_inputs
from gateval.formats.github.manual import read_dispatch, read_schedule
from gateval.formats.github.payloads import (
    MergeGroupPayload,
    PullRequestPayload,
    PushPayload,
    WorkflowRunPayload,
)
from gateval.formats.github.reading import check_ref, parse_payload

PULL_REQUEST_TYPES = (
    "opened",
    "synchronize",
    "reopened",
    "ready_for_review",
    "converted_to_draft",
    "edited",
    "labeled",
    "unlabeled",
)

DEPENDABOT = "dependabot[bot]"

_NO_COMMIT = re.compile(r"0{40}|0{64}")

_QUEUE_REF = re.compile(
    r"refs/heads/gh-readonly-queue/(?P<base>.+)/pr-(?P<number>\d{1,9})-[0-9a-f]+"
)


def _pull_request(given: Given) -> Read:
    event = parse_payload(PullRequestPayload, given.payload)
    found = event.pull_request
    if event.action not in {*PULL_REQUEST_TYPES, CLOSED}:
        raise UsageError(
            f"Gateval has nothing to do when a pull request is {quote(event.action)}.",
            hint=f"Remove that type from `on: pull_request`. It follows "
            f"{', '.join(PULL_REQUEST_TYPES)}.",
        )
    if given.head:
        refuse_inputs(given, EventName.PULL_REQUEST)
    if given.asked not in {None, found.number}:
        raise UsageError(
            f"The input pull-request says {given.asked}, but this run is about #{found.number}.",
            hint="Leave the input out on pull_request; it is for workflow_dispatch.",
        )
    labeled = None
    if event.label is not None and event.action in {"labeled", "unlabeled"}:
        sender = event.sender.login if event.sender else ""
        labeled = Labeled(
            name=event.label.name,
            added=event.action == "labeled",
            head_sha=found.head.sha,
            sender=sender,
        )
    subject = PullRequestSubject(
        number=found.number,
        head_sha=found.head.sha,
        before=event.before,
        base_ref=check_ref(found.base.ref),
        draft=found.draft,
        labeled=labeled,
    )
    return event.action, _trust(given.environ, event), subject


def _trust(environ: Mapping[str, str], event: PullRequestPayload) -> Trust:
    """Judge by GitHub's own facts. A deleted head repository is none of ours."""
    head, base = event.pull_request.head.repo, event.pull_request.base.repo
    if head is None or base is None or head.full_name != base.full_name:
        return Trust.FORK
    return Trust.DEPENDABOT if environ.get("GITHUB_ACTOR") == DEPENDABOT else Trust.TRUSTED


def _merge_group(given: Given) -> Read:
    refuse_inputs(given, EventName.MERGE_GROUP)
    event = parse_payload(MergeGroupPayload, given.payload)
    if event.action != "checks_requested":
        raise UsageError(
            f"Gateval has nothing to do when a merge group is {quote(event.action)}.",
            hint="Use `on: {merge_group: {types: [checks_requested]}}`.",
        )
    group = event.merge_group
    queue = _QUEUE_REF.fullmatch(group.head_ref)
    if queue is None:
        raise UsageError(
            f"The merge group's ref {quote(group.head_ref)} names no pull request.",
            hint="This looks like a new form of merge queue; please report it.",
        )
    subject = MergeGroupSubject(
        head_sha=group.head_sha,
        base_sha=group.base_sha,
        base_ref=check_ref(group.base_ref.removeprefix("refs/heads/")),
        number=int(queue["number"]),
    )
    return event.action, Trust.TRUSTED, subject


def _push(given: Given) -> Read:
    refuse_inputs(given, EventName.PUSH)
    event = parse_payload(PushPayload, given.payload)
    if not event.ref.startswith("refs/heads/") or event.deleted:
        raise UsageError(
            f"This push to {quote(event.ref)} leaves no branch to measure.",
            hint="Limit the workflow to branches: `on: {push: {branches: [...]}}`.",
        )
    default = check_ref(event.repository.default_branch)
    to_default = event.ref == f"refs/heads/{default}"
    if to_default and (event.created or _NO_COMMIT.fullmatch(event.before)):
        raise UsageError(
            f"This is the first push to {quote(default)}, so there is nothing to compare with.",
            hint="Run one revision by itself with `gateval run`.",
        )
    before = event.before if to_default else None
    return "", Trust.TRUSTED, CommitSubject(head_sha=event.after, before=before, base_ref=default)


def _workflow_run(given: Given) -> Read:
    refuse_inputs(given, EventName.WORKFLOW_RUN)
    event = parse_payload(WorkflowRunPayload, given.payload)
    run = event.workflow_run
    if run.event != EventName.PULL_REQUEST:
        raise UsageError(
            f"The workflow run that this one follows was started by {quote(run.event)}, not by a "
            "pull request.",
            hint="Limit the job: `if: github.event.workflow_run.event == 'pull_request'`.",
        )
    head = run.head_repository.full_name if run.head_repository else None
    subject = ClaimSubject(head_sha=run.head_sha, head_repository=head, run=run.id)
    return event.action, Trust.CLAIM, subject


READERS: Final = {
    EventName.PULL_REQUEST: _pull_request,
    EventName.MERGE_GROUP: _merge_group,
    EventName.DISPATCH: read_dispatch,
    EventName.PUSH: _push,
    EventName.SCHEDULE: read_schedule,
    EventName.WORKFLOW_RUN: _workflow_run,
    EventName.COMMENT: read_comment,
}
"""Each gives the action, whose word the result is, and the subject; raises `UsageError`."""
