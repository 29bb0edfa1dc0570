"""A request and its answer as the routes see them, apart from any HTTP library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.servers.github.state.people import GITHUB_ACTIONS, App, User
from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository
from tests.servers.github.state.tokens import Token
from tests.servers.github.state.world import World

if TYPE_CHECKING:
    from tests.servers.github.limits import Limits
    from tests.servers.github.views.links import Links

DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True)
class Request:
    """A request as it came: path without query and API prefix, header names in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes

    def json(self) -> Any:
        """Return the parsed body; None if there is none."""
        return json.loads(self.raw) if self.raw else None


@dataclass
class Reply:
    """What goes back. `body` is anything JSON can say; bytes go out as they are."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return the body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


class ApiError(Exception):
    """A refusal, worded as GitHub words it."""

    def __init__(self, status: int, message: str, *, errors: Any = None, **headers: str) -> None:
        super().__init__(message)
        body: dict[str, Any] = {"message": message}
        if errors is not None:
            body["errors"] = errors
        body |= {"documentation_url": DOCS, "status": str(status)}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.reply = Reply(status, body, named)


def not_found() -> ApiError:
    """What is not there, and what the token may not see, look the same."""
    return ApiError(404, "Not Found")


def invalid(*errors: Any) -> ApiError:
    """The answer to values that the schema allows but GitHub does not."""
    return ApiError(422, "Validation Failed", errors=list(errors))


@dataclass
class Call:
    """A request that found its route: who asks, for what."""

    request: Request
    template: str
    params: Mapping[str, str]
    world: World
    links: Links
    limits: Limits
    token: Token | None
    body: Any = None

    @property
    def query(self) -> Mapping[str, str]:
        """The query string."""
        return self.request.query

    @property
    def actor(self) -> User:
        """Who acts: the person, or the app's bot."""
        assert self.token is not None
        return self.token.user

    @property
    def app(self) -> App | None:
        """The app behind the token, if any."""
        return self.token.app if self.token else None

    @property
    def repo(self) -> Repository:
        """The repository of the path, if the caller may know of it."""
        name = f"{self.params['owner']}/{self.params['repo']}".lower()
        repo = self.world.repositories.get(name)
        if repo is None or (repo.private and not self._sees(repo)):
            raise not_found()
        return repo

    @property
    def pull(self) -> Pull:
        """The pull request of the path; every issue here is one."""
        number = self.params.get("pull_number") or self.params["issue_number"]
        pull = self.repo.pulls.get(int(number)) if number.isdigit() else None
        if pull is None:
            raise not_found()
        return pull

    def commit_id(self, name: str) -> str:
        """Return the commit that a part of the path names."""
        sha = self.repo.resolve(name)
        if sha is None:
            raise ApiError(422, f"No commit found for SHA: {name}")
        return sha

    def _sees(self, repo: Repository) -> bool:
        if self.token is None:
            return False
        if self.token.app is not None:
            return self.token.repository == repo.full_name.lower()
        return repo.role_of(self.token.user).reaches("read")


def is_workflow(token: Token | None) -> bool:
    """Say whether this is a GITHUB_TOKEN."""
    return token is not None and token.app == GITHUB_ACTIONS
