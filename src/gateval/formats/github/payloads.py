"""The parts of GitHub's event payloads that the gate reads. Fields it does not know are ignored.

https://docs.github.com/en/webhooks/webhook-events-and-payloads
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gateval.domain.forge.trigger import Number, Repository, Sha

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
    """What every event says."""

    repository: OwnRepository


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


class DispatchPayload(Payload):
    """The event `workflow_dispatch`. Its inputs reach the gate as inputs of the action."""

    repository: OwnRepository


class SchedulePayload(Payload):
    """The event `schedule`."""

    repository: OwnRepository | None = None


class PushPayload(Payload):
    """The event `push`. `before` is all zeros for a new branch, `after` for a deleted one."""

    ref: Text
    before: Sha
    after: Sha
    created: bool = False
    deleted: bool = False
    repository: OwnRepository


class UserPart(Payload):
    """An account; `type` is `User` for a person."""

    login: Text
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
