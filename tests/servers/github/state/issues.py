"""What hangs on an issue or pull request: labels, comments, events."""

from __future__ import annotations

from dataclasses import dataclass

from tests.servers.github.state.people import App, User

MAX_BODY = 65_536
"""Characters of a comment; GitHub answers 422 to more."""


@dataclass(frozen=True)
class Label:
    """A label of a repository. Names are compared without regard to case."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass
class Comment:
    """A comment in the conversation. `app` is set when it was written with an app's token."""

    id: int
    body: str
    user: User
    created_at: str
    updated_at: str
    app: App | None = None


@dataclass(frozen=True)
class IssueEvent:
    """Something that happened to an issue. A `labeled` event does not say at which head."""

    id: int
    event: str
    actor: User
    created_at: str
    app: App | None = None
    label: Label | None = None
    commit_id: str | None = None
