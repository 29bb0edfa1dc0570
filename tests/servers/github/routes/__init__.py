"""One file per resource. Importing this package registers every route."""

from tests.servers.github.routes import (
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
