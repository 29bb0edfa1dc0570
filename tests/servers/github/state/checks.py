"""Check runs, their suites and annotations, and commit statuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.servers.github.state.people import App, User


@dataclass(frozen=True)
class CheckSuite:
    """All check runs of one app on one commit."""

    id: int
    head_sha: str
    app: App
    created_at: str


@dataclass
class CheckRun:
    """A check run. `managed` marks the one that GitHub makes for a workflow job."""

    id: int
    suite: CheckSuite
    name: str
    status: str
    started_at: str | None
    conclusion: str | None = None
    completed_at: str | None = None
    external_id: str = ""
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)
    managed: bool = False

    @property
    def app(self) -> App:
        """The app that made it, and alone may change it."""
        return self.suite.app

    @property
    def head_sha(self) -> str:
        """The commit it stands on."""
        return self.suite.head_sha


@dataclass(frozen=True)
class Status:
    """A commit status. The newest of a context counts; none can be deleted."""

    id: int
    sha: str
    context: str
    state: str
    description: str | None
    target_url: str | None
    creator: User
    created_at: str
