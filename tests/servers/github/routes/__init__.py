"""One file per resource. Importing this package registers every route."""

from tests.servers.github.routes import (
    actions,
    activity,
    checks,
    collaborators,
    comments,
    commits,
    contents,
    guards,
    identity,
    issues,
    labels,
    pulls,
    refs,
    repository,
    statuses,
)

__all__ = [
    "actions",
    "activity",
    "checks",
    "collaborators",
    "comments",
    "commits",
    "contents",
    "guards",
    "identity",
    "issues",
    "labels",
    "pulls",
    "refs",
    "repository",
    "statuses",
]
