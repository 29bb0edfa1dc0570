"""A repository: branches and commits, pull requests, roles, checks, and what guards it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers.github.git_store import GitStore
from tests.servers.github.state.actions import WorkflowRun
from tests.servers.github.state.activity import NO_COMMIT, Activity
from tests.servers.github.state.checks import CheckRun, CheckSuite, Status
from tests.servers.github.state.commits import ChangedFile, Commit, ancestors, merge_base
from tests.servers.github.state.issues import Label
from tests.servers.github.state.people import GITHUB_ACTIONS, NO_ROLE, READER, App, Role, User
from tests.servers.github.state.protection import Environment, Protection, Ruleset
from tests.servers.github.state.pull import Pull

if TYPE_CHECKING:
    from tests.servers.github.state.world import World


@dataclass
class Repository:
    """A repository. Commits come from `commit`, or from `git` when it has a real store."""

    world: World
    owner: User
    name: str
    id: int
    private: bool = False
    default_branch: str = "main"
    parent: Repository | None = None
    git: GitStore | None = None
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    activity: list[Activity] = field(default_factory=list)
    suites: list[CheckSuite] = field(default_factory=list)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    protections: dict[str, Protection] = field(default_factory=dict)
    rulesets: list[Ruleset] = field(default_factory=list)
    environments: dict[str, Environment] = field(default_factory=dict)
    workflow_runs: dict[int, WorkflowRun] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """`owner/name`."""
        return f"{self.owner.login}/{self.name}"

    def role(self, user: User, name: str, base: str | None = None) -> User:
        """Give a person a role here (`base` for a custom one) and return the person."""
        self.roles[user.login] = Role.named(name, base)
        return user

    def role_of(self, user: User) -> Role:
        """Return the role a person has; everybody may read what is public."""
        if user == self.owner:
            return Role.named("admin")
        return self.roles.get(user.login, NO_ROLE if self.private else READER)

    def label(self, name: str, **more: Any) -> Label:
        """Return the label of this name, made if need be."""
        return self.labels.setdefault(name.lower(), Label(self.world.new_id(), name, **more))

    def commit(
        self,
        message: str = "Change",
        *,
        on: str | None = None,
        files: tuple[ChangedFile, ...] = (),
        **more: Any,
    ) -> str:
        """Make a commit that has no content behind it, on top of a branch or commit; return its id.

        The branch does not move: that is what `push` is for.
        """
        parents = (self.resolve(on) or on,) if on else ()
        seed = f"{message}{parents}{len(self.commits)}{self.full_name}"
        sha = hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = Commit(sha, parents, message, files=files, **more)
        return sha

    def look(self, sha: str) -> Commit | None:
        """Return a commit of this repository or of one it shares its network with."""
        if sha not in self.commits and self.git is not None:
            self.commits |= self.git.history(sha)
        if sha in self.commits:
            return self.commits[sha]
        heads = [pull.head_repo for pull in self.pulls.values() if pull.head_repo is not None]
        return next((repo.commits[sha] for repo in heads if sha in repo.commits), None)

    def resolve(self, name: str) -> str | None:
        """Return the commit that a branch, a ref or a full commit id names."""
        if self.look(name):
            return name
        short = name.removeprefix("refs/").removeprefix("heads/")
        if short in self.branches:
            return self.branches[short]
        return self.refs().get(name)

    def refs(self) -> dict[str, str]:
        """Return every ref with its commit."""
        refs = {f"refs/heads/{name}": sha for name, sha in sorted(self.branches.items())}
        for pull in self.pulls.values():
            refs[f"refs/pull/{pull.number}/head"] = pull.head_sha
            if pull.merge_commit_sha:
                refs[f"refs/pull/{pull.number}/merge"] = pull.merge_commit_sha
        return refs | (self.git.refs() if self.git else {})

    def push(self, branch: str, sha: str, *, by: User, force: bool = False) -> None:
        """Move a branch (made if need be), as a push by `by` would."""
        if self.git is not None:
            self.git.set_ref(f"refs/heads/{branch}", sha)
        self.pushed(branch, sha, by=by, force=force)

    def push_from(self, source: Path, revision: str, branch: str, *, by: User) -> str:
        """Push a revision of a real repository on disk to a branch; return the commit's id."""
        assert self.git is not None, "only a repository with real git takes commits from another"
        sha = self.git.take(source, revision, f"refs/heads/{branch}")
        self.pushed(branch, sha, by=by)
        return sha

    def pushed(self, branch: str, sha: str, *, by: User, force: bool = False) -> None:
        """Take note of a push: activity, and the pull requests that follow this branch."""
        before = self.branches.get(branch, NO_COMMIT)
        self.branches[branch] = sha
        known = before == NO_COMMIT or before in ancestors(self.look, sha)
        kind = "branch_creation" if before == NO_COMMIT else "push"
        if force or not known:
            kind = "force_push"
        self._record(before, sha, branch, kind, by)
        for repo in self.world.repositories.values():
            for pull in repo.pulls.values():
                if pull.state == "open" and (pull.head_repo, pull.head_ref) == (self, branch):
                    pull.moved(sha, by=by, force=kind == "force_push")

    def deleted(self, branch: str, *, by: User) -> None:
        """Take note that a branch is gone."""
        before = self.branches.pop(branch)
        self._record(before, NO_COMMIT, branch, "branch_deletion", by)

    def _record(self, before: str, after: str, branch: str, kind: str, by: User) -> None:
        now = self.world.clock.tick()
        ref = f"refs/heads/{branch}"
        self.activity.append(Activity(self.world.new_id(), before, after, ref, now, kind, by))

    def open_pull(
        self,
        branch: str,
        *,
        by: User,
        title: str = "Change",
        into: str | None = None,
        fork: Repository | None = None,
        number: int | None = None,
        **more: Any,
    ) -> Pull:
        """Open a pull request for a branch of this repository or of `fork`."""
        source, base = fork or self, into or self.default_branch
        number = number or max(self.pulls, default=0) + 1
        now = self.world.clock.tick()
        pull = Pull(
            self,
            number,
            self.world.new_id(),
            title,
            by,
            source,
            branch,
            source.branches[branch],
            base,
            self.branches[base],
            now,
            updated_at=now,
            **more,
        )
        self.pulls[number] = pull
        self.merge_refs(pull)
        return pull

    def merge_refs(self, pull: Pull) -> None:
        """Give a pull request its head and test-merge refs; a conflict leaves it without a merge."""
        ref = f"refs/pull/{pull.number}"
        if self.git is not None:
            source = pull.head_repo.git if pull.head_repo else None
            self.git.take((source or self.git).path, pull.head_sha, f"{ref}/head")
        message = f"Merge {pull.head_sha} into {pull.base_sha}"
        pull.merge_commit_sha = self.merge(pull.base_sha, pull.head_sha, f"{ref}/merge", message)

    def merge(self, base: str, head: str, ref: str, message: str) -> str | None:
        """Merge two commits under a ref; return the merge, or None if they conflict."""
        if self.git is not None:
            return self.git.merge(base, head, ref, message)
        seed = f"{base}{head}{message}"
        sha = hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = Commit(sha, (base, head), message)
        return sha

    def merge_base(self, one: str, other: str) -> Commit | None:
        """Return where two commits of this repository part."""
        return merge_base(self.look, one, other)

    def suite(self, sha: str, app: App = GITHUB_ACTIONS) -> CheckSuite:
        """Return the suite of an app on a commit, made if need be."""
        for suite in self.suites:
            if (suite.head_sha, suite.app) == (sha, app):
                return suite
        suite = CheckSuite(self.world.new_id(), sha, app, self.world.clock.tick())
        self.suites.append(suite)
        return suite

    def add_check(
        self,
        name: str,
        sha: str,
        *,
        app: App = GITHUB_ACTIONS,
        status: str = "completed",
        conclusion: str | None = "success",
        **more: Any,
    ) -> CheckRun:
        """Add a check run that somebody else made: another app, an earlier run, a workflow job."""
        now = self.world.clock.tick()
        done = status == "completed"
        run = CheckRun(
            self.world.new_id(),
            self.suite(sha, app),
            name,
            status,
            now,
            conclusion if done else None,
            now if done else None,
            **more,
        )
        self.check_runs[run.id] = run
        return run

    def checks(self, name: str, sha: str | None = None) -> list[CheckRun]:
        """Return the check runs of a name, oldest first."""
        runs = list(self.check_runs.values())
        return [run for run in runs if run.name == name and sha in (None, run.head_sha)]
