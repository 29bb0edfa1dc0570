"""From the event of a GitHub Actions workflow to a `Trigger`, or to a sentence that says why not.

Pure: environment and bytes in, value out. Payloads hold text of the pull request's author, so
what is used is checked and everything else is ignored. An edited comment is refused: whoever may
write to the repository may edit everybody's.
https://docs.github.com/en/webhooks/webhook-events-and-payloads,
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from gateval.domain.base import NAME_PATTERN, Sha, is_sha
from gateval.domain.forge.trigger import (
    CLOSED,
    REPOSITORY_PATTERN,
    ClaimSubject,
    CommentSubject,
    CommitSubject,
    EventName,
    Labeled,
    MergeGroupSubject,
    Number,
    PullRequestSubject,
    Repository,
    Subject,
    Trigger,
    Trust,
    Verb,
)
from gateval.domain.text import quote
from gateval.errors import UsageError

Text = Annotated[str, StringConstraints(max_length=1024)]


class Payload(BaseModel):
    """A part of a payload. Strict: a number as text is no number."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


class RepositoryPayload(Payload):
    """A repository, as far as it tells which one."""

    full_name: Repository


class OwnRepository(RepositoryPayload):
    """The repository that the workflow runs in."""

    default_branch: Text


class AnyPayload(Payload):
    """What every event says; `workflow_dispatch` no more, for its inputs are the action's."""

    repository: OwnRepository


class SchedulePayload(Payload):
    """The event `schedule`."""

    repository: OwnRepository | None = None


class EndPayload(Payload):
    """One end of a pull request; `repo` is None when it was deleted."""

    ref: Text
    sha: Sha
    repo: RepositoryPayload | None = None


class PullRequestPart(Payload):
    """The pull request of a `pull_request` event."""

    number: Number
    draft: bool = False
    head: EndPayload
    base: EndPayload


class LabelPayload(Payload):
    """The label of a `labeled` or `unlabeled` event."""

    name: Text


class SenderPayload(Payload):
    """Who caused the event."""

    login: Text


class PullRequestPayload(Payload):
    """The event `pull_request`."""

    action: Text
    pull_request: PullRequestPart
    before: Sha | None = None
    label: LabelPayload | None = None
    sender: SenderPayload | None = None


class MergeGroupPart(Payload):
    """The group of a `merge_group` event."""

    head_sha: Sha
    head_ref: Text
    base_sha: Sha
    base_ref: Text


class MergeGroupPayload(Payload):
    """The event `merge_group`."""

    action: Text
    merge_group: MergeGroupPart


class PushPayload(AnyPayload):
    """The event `push`. `before` is all zeros for a new branch, `after` for a deleted one."""

    ref: Text
    before: Sha
    after: Sha
    created: bool = False
    deleted: bool = False


class UserPart(SenderPayload):
    """An account; `type` is `User` for a person."""

    type: Text


class IssuePart(Payload):
    """What is commented on; `pull_request` is there if it is one."""

    number: Number
    pull_request: dict[str, object] | None = None


class CommentPart(Payload):
    """A comment as it was when the event happened; `user` is None when the account is gone."""

    body: str
    user: UserPart | None = None
    performed_via_github_app: dict[str, object] | None = None


class CommentPayload(Payload):
    """The event `issue_comment`."""

    action: Text
    issue: IssuePart
    comment: CommentPart


class WorkflowRunPart(Payload):
    """The run that a `workflow_run` event follows. `event` is what started that one."""

    id: int = Field(ge=1)
    event: Text
    head_sha: Sha
    head_repository: RepositoryPayload | None = None


class WorkflowRunPayload(Payload):
    """The event `workflow_run`."""

    action: Text
    workflow_run: WorkflowRunPart


PAYLOAD_LIMIT = 25 * 1024 * 1024
"""Bytes of an event file. GitHub caps payloads at 25 MB."""

_WRONG_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|^[-/.]|[/.]$")
"""What `git check-ref-format` refuses, and a little more."""

P = TypeVar("P", bound=Payload)


def parse_payload(kind: type[P], payload: bytes) -> P:
    """Return the payload as `kind`. Raises `UsageError` when it is too large or something else."""
    if len(payload) > PAYLOAD_LIMIT:
        raise UsageError(
            f"The event file has {len(payload):,} bytes; GitHub sends at most {PAYLOAD_LIMIT:,}."
        )
    try:
        return kind.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"The event file is not what GitHub sends: {where or 'as a whole'}: {first['msg']}.",
            hint="It is the file that GITHUB_EVENT_PATH names, and belongs to GITHUB_EVENT_NAME.",
        ) from None


def check_ref(name: str) -> str:
    """Return a branch's name as it is. Raises `UsageError` where it could be taken for more."""
    if not name or len(name) > 244 or name == "@" or _WRONG_IN_REF.search(name):
        raise UsageError(
            f"{quote(name)} cannot be the name of a branch.",
            hint="The event file says so; was it changed?",
        )
    return name


ELSEWHERE = "Outside GitHub Actions, use `gateval check --base REV`."
"""What to do where an event is missing or says nothing."""

Read = tuple[str, Trust, Subject]
"""The action of an event, whose word the result is, and the subject."""


class EventInputs(NamedTuple):
    """What the readers read. `asked` is the input pull-request, `head` the input head-sha."""

    environ: Mapping[str, str]
    payload: bytes
    asked: int | None = None
    head: str = ""


def sha_of(given: EventInputs) -> str:
    """Return the commit that the workflow runs for. Raises `UsageError`."""
    sha = given.environ.get("GITHUB_SHA", "")
    if not is_sha(sha):
        raise UsageError(f"GITHUB_SHA is {quote(sha)}, which is no commit.", hint=ELSEWHERE)
    return sha


_BRANCH = "refs/heads/"


def read_dispatch(given: EventInputs) -> Read:
    """A manual run: for a pull request's live head, or for the branch it was started on.

    With the input head-sha, another head than that one is not run.
    """
    event = parse_payload(AnyPayload, given.payload)
    if given.asked is not None:
        return "", Trust.TRUSTED, PullRequestSubject(number=given.asked, only=given.head or None)
    default = check_ref(event.repository.default_branch)
    ref = given.environ.get("GITHUB_REF", "")
    if ref == f"{_BRANCH}{default}":
        raise UsageError(
            f"This manual run on {quote(default)} names no pull request, so there is nothing to "
            "measure.",
            hint="Give the action `with: {pull-request: NUMBER}`, or start the run on a branch.",
        )
    head = sha_of(given)
    if given.head not in {"", head}:
        raise UsageError(
            f"The branch is at {head[:12]}, not at {given.head[:12]} as the input head-sha says. "
            "Nothing was run.",
            hint="Read what was pushed since; then start a run with the commit you have read.",
        )
    return "", Trust.TRUSTED, CommitSubject(head_sha=head, base_ref=default)


def read_schedule(given: EventInputs) -> Read:
    """A run by the clock, always of the default branch. Older servers tell no repository."""
    told = parse_payload(SchedulePayload, given.payload).repository
    ref = given.environ.get("GITHUB_REF", "")
    if told is None and not ref.startswith(_BRANCH):
        raise UsageError(f"GITHUB_REF is {quote(ref)}, which is no branch.", hint=ELSEWHERE)
    default = check_ref(told.default_branch if told else ref.removeprefix(_BRANCH))
    head = sha_of(given)
    return "", Trust.TRUSTED, CommitSubject(head_sha=head, before=head, base_ref=default)


COMMAND = "/gateval"

_LONGEST = 300
"""Characters of a command: a verb and a commit or the name of a fixture."""


def read_comment(given: EventInputs) -> Read:
    """Read a new comment. The command has to be all that it says."""
    event = parse_payload(CommentPayload, given.payload)
    if event.action != "created":
        hint = "Use `on: {issue_comment: {types: [created]}}`."
        raise _nothing_to_do("a comment", event.action, hint)
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


PULL_REQUEST_TYPES = (
    "opened", "synchronize", "reopened", "ready_for_review", "converted_to_draft", "edited",
    "labeled", "unlabeled",
)  # fmt: skip

DEPENDABOT = "dependabot[bot]"

_NO_COMMIT = re.compile(r"0{40}|0{64}")

_QUEUE_REF = re.compile(
    r"refs/heads/gh-readonly-queue/(?P<base>.+)/pr-(?P<number>\d{1,9})-[0-9a-f]+"
)


def _pull_request(given: EventInputs) -> Read:
    event = parse_payload(PullRequestPayload, given.payload)
    found = event.pull_request
    if event.action not in {*PULL_REQUEST_TYPES, CLOSED}:
        known = ", ".join(PULL_REQUEST_TYPES)
        hint = f"Remove that type from `on: pull_request`. It follows {known}."
        raise _nothing_to_do("a pull request", event.action, hint)
    if given.asked not in {None, found.number}:
        raise UsageError(
            f"The input pull-request says {given.asked}, but this run is about #{found.number}.",
            hint="Leave the input out on pull_request; it is for workflow_dispatch.",
        )
    labeled = None
    if event.label is not None and event.action in {"labeled", "unlabeled"}:
        labeled = Labeled(
            name=event.label.name,
            added=event.action == "labeled",
            head_sha=found.head.sha,
            sender=event.sender.login if event.sender else "",
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


def _nothing_to_do(what: str, action: str, hint: str) -> UsageError:
    """Return that nothing is done on this action of an event."""
    return UsageError(f"Gateval has nothing to do when {what} is {quote(action)}.", hint=hint)


def _merge_group(given: EventInputs) -> Read:
    event = parse_payload(MergeGroupPayload, given.payload)
    if event.action != "checks_requested":
        hint = "Use `on: {merge_group: {types: [checks_requested]}}`."
        raise _nothing_to_do("a merge group", event.action, hint)
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


def _push(given: EventInputs) -> Read:
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


def _workflow_run(given: EventInputs) -> Read:
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


def read_trigger(
    environ: Mapping[str, str],
    payload: bytes,
    *,
    pull_request: int | None = None,
    head_sha: str = "",
) -> Trigger:
    """Return what the workflow was started for.

    `environ` is the runner's, `payload` the content of the file at GITHUB_EVENT_PATH;
    `pull_request` and `head_sha` are the action's inputs. Raises `UsageError` for an event that the
    gate does not follow, and for one that does not say what the gate has to know.
    """
    event = _event(environ.get("GITHUB_EVENT_NAME", ""))
    repository = environ.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(REPOSITORY_PATTERN, repository):
        raise UsageError(
            f"GITHUB_REPOSITORY is {quote(repository)}, which is not owner/name.",
            hint=ELSEWHERE,
        )
    asked = pull_request if head_sha or event is not EventName.PULL_REQUEST else None
    for name, value in (("pull-request", asked), ("head-sha", head_sha)):
        if value and event is not EventName.DISPATCH:
            raise UsageError(
                f"The input {name} has no meaning on {event}.",
                hint="Leave it out; it is for workflow_dispatch.",
            )
    action, trust, subject = READERS[event](EventInputs(environ, payload, pull_request, head_sha))
    if event is EventName.SCHEDULE and isinstance(subject, CommitSubject):
        default = subject.base_ref
    else:
        default = parse_payload(AnyPayload, payload).repository.default_branch
    return Trigger(
        event=event,
        action=action,
        repository=repository,
        default_branch=check_ref(default),
        trust=trust,
        subject=subject,
    )


def _event(name: str) -> EventName:
    if name == "pull_request_target":
        raise UsageError(
            "Gateval does not run on pull_request_target: it would start the pull request's code "
            "with the repository's secrets and a token that can write.",
            hint="Use `on: pull_request`; for forks, see docs/guides/forks.md.",
        )
    if not name:
        said = "GITHUB_EVENT_NAME is not set, so there is no event to follow."
        raise UsageError(said, hint=ELSEWHERE)
    try:
        return EventName(name)
    except ValueError:
        said = f"Gateval does not run on the event {quote(name)}."
        raise UsageError(said, hint=f"It follows {', '.join(EventName)}.") from None
