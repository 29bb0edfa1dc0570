"""Why the gate runs, as the event of the workflow tells it, and what GitHub tells live.

What a `Trigger` holds was written by GitHub when the event happened. Labels, the draft mark and the
tip of the base branch may have changed since (a re-run gets the old event), so those are read live.
Field names follow GitHub's REST API where it has one: https://docs.github.com/en/rest/pulls/pulls,
https://docs.github.com/en/rest/issues/comments.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from gateval.domain.base import Positive, Sha, Value

REPOSITORY_PATTERN = r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$"
Repository = Annotated[str, Field(pattern=REPOSITORY_PATTERN)]
"""`owner/name`."""

REPOSITORY_NAME = "[A-Za-z0-9._-]+/[A-Za-z0-9._-]+"
"""OWNER/NAME of a repository, as a regular expression for the whole of it."""

Number = Annotated[int, Field(ge=1, le=2**31)]
"""The number of a pull request."""


class EventName(StrEnum):
    """The events of GitHub Actions that the gate follows."""

    PULL_REQUEST = "pull_request"
    MERGE_GROUP = "merge_group"
    DISPATCH = "workflow_dispatch"
    PUSH = "push"
    SCHEDULE = "schedule"
    COMMENT = "issue_comment"
    WORKFLOW_RUN = "workflow_run"


class Trust(StrEnum):
    """Whose word the result of this run is."""

    TRUSTED = "trusted"
    FORK = "fork"
    """The head lies in another repository: no keys, no token that can write."""
    DEPENDABOT = "dependabot"
    """Started by Dependabot, which GitHub treats like a fork."""
    CLAIM = "claim"
    """What was measured comes as data from a run that was not trusted."""

    @property
    def verified(self) -> bool:
        """Whether the gate may stand for what it reports."""
        return self is Trust.TRUSTED


class Labeled(Value):
    """The label that was just put on (`added`) or taken off, by whom, and on which head."""

    name: str
    added: bool = True
    head_sha: Sha
    sender: str


class PullRequestSubject(Value):
    """A pull request. `head_sha` is None when the live head counts, as in a manual run.

    `only` is the head that somebody asked for: if the live one is another, nothing is run. `before`
    is the head that a push replaced.
    """

    kind: Literal["pull-request"] = "pull-request"
    number: Number
    head_sha: Sha | None = None
    only: Sha | None = None
    before: Sha | None = None
    base_ref: str | None = None
    draft: bool = False
    labeled: Labeled | None = None


class MergeGroupSubject(Value):
    """A group in the merge queue: `base_sha` is what it builds on, `number` its last member."""

    kind: Literal["merge-group"] = "merge-group"
    head_sha: Sha
    base_sha: Sha
    base_ref: str
    number: Number


class CommitSubject(Value):
    """A commit without a pull request.

    `before` is what a push to the default branch replaced; on a schedule it is the commit itself,
    of which all Evals run. Otherwise the commit is compared with its merge-base with `base_ref`.
    """

    kind: Literal["commit"] = "commit"
    head_sha: Sha
    before: Sha | None = None
    base_ref: str


class ClaimSubject(Value):
    """Another workflow run, whose results are data: which head it ran on, and whose."""

    kind: Literal["claim"] = "claim"
    head_sha: Sha
    head_repository: Repository | None
    run: Positive


class Verb(StrEnum):
    """What a comment asks for. What begins as a command and is none is unclear."""

    NOTHING = "nothing"
    UNCLEAR = "unclear"
    RERUN = "rerun"
    EXPLAIN = "explain"


class CommentSubject(Value):
    """A comment, by the login `author`; `person` says that it is neither a bot's nor an App's.

    `argument` is a commit for a rerun, the name of a fixture for an explanation.
    """

    kind: Literal["comment"] = "comment"
    number: Number
    on_pull_request: bool
    author: str
    person: bool
    verb: Verb
    argument: str = ""


Subject = Annotated[
    PullRequestSubject | MergeGroupSubject | CommitSubject | ClaimSubject | CommentSubject,
    Field(discriminator="kind"),
]


class Trigger(Value):
    """The subject of a run, before anything was asked of GitHub or git.

    `default_branch` is that of the repository, empty where the event does not tell.
    """

    version: Literal["trigger.v1"] = "trigger.v1"
    event: EventName
    action: str = ""
    repository: Repository
    default_branch: str = ""
    trust: Trust = Trust.TRUSTED
    subject: Subject

    @property
    def label(self) -> Labeled | None:
        """The label that the run was started by; None when something else started it."""
        return self.subject.labeled if isinstance(self.subject, PullRequestSubject) else None

    @property
    def closing(self) -> bool:
        """Whether the pull request was closed, merged or not: then there is nothing to measure."""
        return self.event is EventName.PULL_REQUEST and self.action == CLOSED


CLOSED = "closed"
"""The action of a pull request that was closed."""

_OWN_SCOPE = {EventName.PULL_REQUEST, EventName.PUSH, EventName.SCHEDULE}


def may_keep(trigger: Trigger) -> bool:
    """Whether a run may keep what it made for later runs.

    Only a trusted one whose cache, on GitHub, is that of what it measures. Runs by hand, comments
    and other workflows measure a pull request with the cache of the default branch, and a queue's
    group is nobody's: they read.
    """
    return trigger.trust.verified and trigger.event in _OWN_SCOPE


def of_default_branch(trigger: Trigger, ref: str) -> bool:
    """Whether a run on this ref finds what the default branch's runs have cached, and nothing else.

    GitHub gives a run the caches of its own ref first; those of a pull request are its own.
    """
    own = trigger.event not in {EventName.PULL_REQUEST, EventName.MERGE_GROUP}
    return own and bool(trigger.default_branch) and ref == f"refs/heads/{trigger.default_branch}"


_IN_QUEUE = re.compile(
    r"Merge pull request #([1-9]\d{0,8}) from \S+\Z|.*\(#([1-9]\d{0,8})\)\Z", re.DOTALL
)
"""The name of a branch has no spaces; a title that begins like a merge may have."""


class Landed(NamedTuple):
    """A commit of a merge group: its first line, and whether it is a merge."""

    subject: str
    merge: bool = True


def group_members(last: int, commits: Collection[Landed]) -> tuple[int, ...]:
    """Return the pull requests of a merge group, in their order.

    `last` is known from the group's ref, and one commit alone is its. `commits` are those along
    first parents, of which GitHub ends the first lines of squashed ones with the number and begins
    those of merges with it. Those of rebased ones are their authors' words: `known_for_certain`.
    """
    if len(commits) == 1:
        return (last,)
    found = (_IN_QUEUE.match(commit.subject) for commit in commits)
    return tuple(sorted({last, *(int(one[1] or one[2]) for one in found if one)}))


def known_for_certain(members: Collection[int], commits: Collection[Landed]) -> bool:
    """Whether a merge group holds no other pull request than `members`.

    One commit is that of the pull request in the group's ref. Of several, each has to be a merge,
    which only the queue makes there, and name a pull request of its own: a commit that is none may
    have been rebased, and then its author chose the number.
    """
    return len(members) == len(commits) and (
        len(commits) == 1 or all(commit.merge for commit in commits)
    )


class Branch(Value):
    """One end of a pull request.

    `repository` is `owner/name`; None when the repository, a fork, was deleted.
    """

    ref: str
    sha: Sha
    repository: str | None


class PullRequest(Value):
    """A pull request as it is now, not as an event said it was."""

    number: Positive
    open: bool
    draft: bool
    author: str
    head: Branch
    base: Branch
    labels: tuple[str, ...] = ()
    url: str

    @property
    def fork(self) -> bool:
        """Whether head lies in another repository than base, a deleted one included."""
        return self.head.repository != self.base.repository


class Comment(Value):
    """One comment on a pull request. `author` is a login; that of an App ends with `[bot]`.

    `created_at` is UTC, as ISO 8601 to the second; `edited` says that it was changed since.
    """

    number: Positive
    author: str
    body: str
    url: str
    created_at: str = ""
    edited: bool = False


class WorkflowRun(Value):
    """A run: its event, the branch and commit it is of, the file of its workflow.

    `repository` and `head_repository` are `owner/name`; they differ where the head is a fork's.
    """

    number: int
    event: str
    branch: str
    head: str
    path: str
    repository: str
    head_repository: str


class Artifact(Value):
    """What a run uploaded, by name, as an archive of `size` bytes; `digest` is its SHA-256 in hex.

    GitHub Enterprise may tell no digest; it is empty then.
    """

    number: int
    name: str
    size: int
    expired: bool = False
    digest: str = ""
