"""Smart HTTP for a repository's real git storage, through git's own `http-backend`.

Tokens decide who may read and push; https://git-scm.com/docs/git-http-backend.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlencode

from tests.servers.git_backend import serve
from tests.servers.github.api import bearer
from tests.servers.github.http import Reply, Request
from tests.servers.github.state.people import User
from tests.servers.github.state.repository import Repository
from tests.servers.github.state.tokens import Token
from tests.servers.github.state.world import World

_TAILS = ("/info/refs", "/git-upload-pack", "/git-receive-pack")


@dataclass(frozen=True)
class GitCall:
    """A request of a git client: for which repository, to read or to push, as whom."""

    request: Request
    repo: Repository
    tail: str
    pushing: bool
    user: User | None

    @property
    def moves_refs(self) -> bool:
        """Say whether refs may move by it."""
        return self.tail == "/git-receive-pack"


def is_git(path: str) -> bool:
    """Say whether a path is one that git clients ask for."""
    return path.endswith(_TAILS)


def allowed(world: World, request: Request) -> GitCall | Reply:
    """Return the call if the token may make it, else GitHub's refusal."""
    tail = next(tail for tail in _TAILS if request.path.endswith(tail))
    name = request.path.removesuffix(tail).strip("/").removesuffix(".git")
    pushing = "git-receive-pack" in {tail.strip("/"), request.query.get("service")}
    token = bearer(world, request)
    repo = world.repositories.get(name.lower())
    given = "authorization" in request.headers
    if token is None and (given or pushing or repo is None or repo.private):
        return Reply(401, b"", {"WWW-Authenticate": 'Basic realm="GitHub"'})
    if repo is None or repo.git is None:
        return Reply(404, b"Repository not found.")
    if token is not None and (refused := _refused(token, repo, pushing=pushing)):
        return refused
    return GitCall(request, repo, tail, pushing, token.user if token else None)


def run(call: GitCall) -> Reply:
    """Let git answer. Blocks while git works."""
    assert call.repo.git is not None
    store = call.repo.git
    served = serve(store.path.parent, call.request.raw, _cgi(call, store.path.name), store.env)
    return Reply(served.status, served.body, served.headers)


def take_note(call: GitCall) -> None:
    """Let the repository know what a push did to its branches."""
    repo, user = call.repo, call.user
    assert repo.git is not None
    assert user is not None
    prefix = "refs/heads/"
    if prefix.encode() not in call.request.raw:
        return
    now = {
        name.removeprefix(prefix): sha
        for name, sha in repo.git.refs().items()
        if name.startswith(prefix)
    }
    for name in [name for name in repo.branches if name not in now]:
        repo.deleted(name, by=user)
    for name, sha in now.items():
        if repo.branches.get(name) != sha:
            repo.pushed(name, sha, by=user)


def _refused(token: Token, repo: Repository, *, pushing: bool) -> Reply | None:
    level = "write" if pushing else "read"
    if token.app is None:
        role = repo.role_of(token.user)
        if role.reaches(level):
            return None
        if not role.reaches("read"):
            return Reply(404, b"Repository not found.")
        words = f"Permission to {repo.full_name}.git denied to {token.user.login}."
        return Reply(403, words.encode())
    bound = token.repository == repo.full_name.lower()
    if repo.private and not bound:
        return Reply(404, b"Repository not found.")
    if (bound and token.grants(f"contents={level}")) or not (pushing or repo.private):
        return None
    return Reply(403, b"Write access to repository not granted.")


def _cgi(call: GitCall, folder: str) -> dict[str, str]:
    request = call.request
    environment = {
        "PATH_INFO": f"/{folder}{call.tail}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": urlencode(request.query),
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(request.raw)),
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "NO_FORCE": _guarded(call.repo, "non_fast_forward"),
        "NO_DELETION": _guarded(call.repo, "deletion"),
    }
    assert call.repo.git is not None
    hooks = [one.name for one in (call.repo.git.path / "hooks").iterdir()]
    if hooks == ["update"] and not (environment["NO_FORCE"] or environment["NO_DELETION"]):
        environment |= _NO_HOOK
    return environment | ({"REMOTE_USER": call.user.login} if call.user else {})


_NO_HOOK = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": os.devnull,
}
"""The hook of `GitStore` guards refs; to start it takes a process."""


def _guarded(repo: Repository, rule: str) -> str:
    """Return the refs that a rule guards, for the hook, between spaces."""
    names = {
        name
        for ruleset in repo.rulesets
        if ruleset.active and rule in {each.type for each in ruleset.rules}
        for name in ruleset.branches
    }
    for name, guard in repo.protections.items():
        free = guard.allow_force_pushes if rule == "non_fast_forward" else guard.allow_deletions
        names |= set() if free else {name}
    return "".join(f" refs/heads/{name} " for name in sorted(names))
