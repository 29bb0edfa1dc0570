"""A pull request, and what people and programs do to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.servers.github.state.commits import ChangedFile
from tests.servers.github.state.issues import Comment, IssueEvent, Label
from tests.servers.github.state.people import App, User

if TYPE_CHECKING:
    from tests.servers.github.state.repository import Repository


@dataclass
class Pull:
    """A pull request of `repo`; `head_repo` is another repository for a fork, None if deleted.

    `base_sha` is the base branch's tip when the pull request was opened or last pushed to, as the
    API gives it; the live tip is `repo.branches[base_ref]`.
    """

    repo: Repository
    number: int
    id: int
    title: str
    author: User
    head_repo: Repository | None
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    created_at: str
    body: str | None = None
    draft: bool = False
    state: str = "open"
    merge_commit_sha: str | None = None
    merged_by: User | None = None
    updated_at: str = ""
    labels: list[Label] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    events: list[IssueEvent] = field(default_factory=list)
    files: list[ChangedFile] | None = None
    """Set by a test; None takes them from the commits."""

    def label(self, name: str, *, by: User, app: App | None = None) -> IssueEvent | None:
        """Put a label on it; None if it has that label already."""
        label = self.repo.label(name)
        if label in self.labels:
            return None
        self.labels.append(label)
        return self._happened("labeled", by, app, label)

    def unlabel(self, name: str, *, by: User, app: App | None = None) -> IssueEvent | None:
        """Take a label off; None if it is not there."""
        found = next((each for each in self.labels if each.name.lower() == name.lower()), None)
        if found is None:
            return None
        self.labels.remove(found)
        return self._happened("unlabeled", by, app, found)

    def comment(self, body: str, *, by: User, app: App | None = None) -> Comment:
        """Write a comment."""
        now = self.repo.world.clock.tick()
        comment = Comment(self.repo.world.new_id(), body, by, now, now, app)
        self.comments.append(comment)
        self.updated_at = now
        return comment

    def edit(self, comment: Comment, body: str) -> None:
        """Reword a comment. Nothing tells who did; its author stays the author."""
        comment.body, comment.updated_at = body, self.repo.world.clock.tick()

    def push(self, sha: str, *, by: User | None = None, force: bool = False) -> str:
        """Push a commit to its branch and return it; a merge request follows its branch."""
        target = self.head_repo or self.repo
        target.push(self.head_ref, sha, by=by or self.author, force=force)
        return sha

    def moved(self, sha: str, *, by: User, force: bool) -> None:
        """Take note that its branch moved."""
        before, self.head_sha = self.head_sha, sha
        self.base_sha = self.repo.branches[self.base_ref]
        self.repo.merge_refs(self)
        if force:
            self._happened("head_ref_force_pushed", by, None, None, commit_id=sha)
        self.updated_at = self.repo.world.clock.tick() if before != sha else self.updated_at

    def close(self, *, by: User) -> None:
        """Close it unmerged."""
        self.state = "closed"
        self._happened("closed", by, None, None)

    def reopen(self, *, by: User) -> None:
        """Open it again."""
        self.state = "open"
        self._happened("reopened", by, None, None)

    def ready(self, *, by: User) -> None:
        """End the draft."""
        self.draft = False
        self._happened("ready_for_review", by, None, None)

    def merge(self, *, by: User) -> str:
        """Merge it with a merge commit; return that commit."""
        tip = self.repo.branches[self.base_ref]
        ref = f"refs/heads/{self.base_ref}"
        sha = self.repo.merge(tip, self.head_sha, ref, self.merge_message)
        if sha is None:
            raise ValueError(f"#{self.number} conflicts with {self.base_ref}")
        self.state = "closed"
        self.merge_commit_sha, self.merged_by = sha, by
        self.repo.pushed(self.base_ref, sha, by=by)
        self._happened("merged", by, None, None, commit_id=sha)
        self._happened("closed", by, None, None)
        return sha

    @property
    def merge_message(self) -> str:
        """What the commit says that merges it."""
        owner = (self.head_repo or self.repo).owner.login
        words = f"Merge pull request #{self.number} from {owner}/{self.head_ref}"
        return f"{words}\n\n{self.title}"

    @property
    def from_fork(self) -> bool:
        """Say whether the head lies in another repository."""
        return self.head_repo is not self.repo

    def _happened(
        self,
        event: str,
        by: User,
        app: App | None,
        label: Label | None,
        commit_id: str | None = None,
    ) -> IssueEvent:
        world = self.repo.world
        self.updated_at = world.clock.tick()
        record = IssueEvent(world.new_id(), event, by, self.updated_at, app, label, commit_id)
        self.events.append(record)
        return record
