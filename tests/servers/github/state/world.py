"""All of GitHub: accounts, repositories, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from tests.servers.github.git_store import GitStore
from tests.servers.github.state.clock import Clock
from tests.servers.github.state.people import GITHUB_ACTIONS, App, User
from tests.servers.github.state.repository import Repository
from tests.servers.github.state.tokens import Token


class World:
    """What a test sets up first and looks at last. Nothing here knows of HTTP."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.users: dict[str, User] = {}
        self.apps: dict[str, App] = {GITHUB_ACTIONS.slug: GITHUB_ACTIONS}
        self.repositories: dict[str, Repository] = {}
        self.tokens: dict[str, Token] = {}
        self._ids = count(1001)

    def new_id(self) -> int:
        """Return a number that nothing else has."""
        return next(self._ids)

    def user(self, login: str, kind: str = "User") -> User:
        """Return the account of this name, made if need be; a name that ends in [bot] is a bot's."""
        kind = "Bot" if login.endswith("[bot]") else kind
        return self.users.setdefault(login, User(login, self.new_id(), kind))

    def app(self, slug: str) -> App:
        """Return the GitHub App of this name, made if need be."""
        if slug not in self.apps:
            bot = self.user(f"{slug}[bot]")
            self.apps[slug] = App(self.new_id(), slug, slug.title(), self.user("acme"), bot)
        return self.apps[slug]

    def repository(
        self, full_name: str, *, git: Path | None = None, private: bool = False
    ) -> Repository:
        """Make a repository, whose branch main has one commit.

        With `git`, the folder of a bare repository (made if need be), it is a real one, served
        over HTTP too; it has the branches that are there.
        """
        owner, _, name = full_name.partition("/")
        account = self.user(owner, "Organization")
        repo = Repository(self, account, name, self.new_id(), private=private)
        self.repositories[full_name.lower()] = repo
        if git is None:
            repo.push("main", repo.commit("First"), by=account)
            return repo
        repo.git = GitStore(git)
        for ref, sha in repo.git.refs().items():
            repo.pushed(ref.removeprefix("refs/heads/"), sha, by=account)
        return repo

    def fork(self, parent: Repository, owner: User, *, git: Path | None = None) -> Repository:
        """Make a fork that has the parent's branches; a real parent needs a real fork."""
        repo = Repository(
            self, owner, parent.name, self.new_id(), private=parent.private, parent=parent
        )
        repo.branches, repo.commits = dict(parent.branches), dict(parent.commits)
        if parent.git is not None:
            if git is None:
                raise ValueError("the fork of a repository with real git needs a folder too")
            repo.git = GitStore(git)
            for branch in repo.branches:
                repo.git.take(parent.git.path, branch, f"refs/heads/{branch}")
        self.repositories[repo.full_name.lower()] = repo
        return repo

    def workflow_token(self, repo: Repository, **permissions: str) -> str:
        """Return a GITHUB_TOKEN with the `permissions:` of a workflow (`-` written as `_`)."""
        return self.app_token(GITHUB_ACTIONS, repo, **permissions)

    def app_token(self, app: App, repo: Repository, **permissions: str) -> str:
        """Return an installation token of any app for one repository."""
        return self._issue("ghs", app.bot, app, permissions, repo.full_name.lower())

    def user_token(self, user: User) -> str:
        """Return a person's token: it may do what the person may."""
        return self._issue("ghp", user, None, {}, None)

    def expire(self, token: str) -> None:
        """End a token's life."""
        self.tokens.pop(token)

    def _issue(
        self,
        kind: str,
        user: User,
        app: App | None,
        permissions: Mapping[str, str],
        repository: str | None,
    ) -> str:
        value = f"{kind}_{self.new_id():036d}"
        self.tokens[value] = Token(value, user, app, dict(permissions), repository)
        return value
