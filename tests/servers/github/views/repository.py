"""Repositories."""

from __future__ import annotations

from typing import Any

from tests.servers.github.state.repository import Repository
from tests.servers.github.views.links import Links, node_id
from tests.servers.github.views.people import simple_user

_PARTS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}
_COUNTS = (
    "forks",
    "forks_count",
    "open_issues",
    "open_issues_count",
    "size",
    "stargazers_count",
    "watchers",
    "watchers_count",
)
_HAS = ("downloads", "issues", "projects", "wiki", "pages", "discussions")
_NONE = ("description", "homepage", "language", "mirror_url", "license")
_BORN = "2026-01-01T00:00:00Z"


def minimal_repository(repo: Repository, links: Links) -> dict[str, Any]:
    """A repository as it stands inside the smaller answers."""
    url = links.repo(repo)
    return {
        "id": repo.id,
        "node_id": node_id("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "owner": simple_user(repo.owner, links),
        "private": repo.private,
        "html_url": links.page(repo),
        "description": None,
        "fork": repo.parent is not None,
        "url": url,
        **{key: url + part for key, part in _PARTS.items()},
    }


def repository(repo: Repository, links: Links) -> dict[str, Any]:
    """A repository as it stands inside a pull request."""
    page = links.page(repo)
    host = links.html.partition("://")[2]
    return {
        **minimal_repository(repo, links),
        **dict.fromkeys(_NONE),
        **dict.fromkeys(_COUNTS, 0),
        **{f"has_{name}": name in {"issues", "projects", "wiki"} for name in _HAS},
        "archived": False,
        "disabled": False,
        "visibility": "private" if repo.private else "public",
        "default_branch": repo.default_branch,
        "clone_url": f"{page}.git",
        "git_url": f"git://{host}/{repo.full_name}.git",
        "ssh_url": f"git@{host}:{repo.full_name}.git",
        "svn_url": page,
        "pushed_at": repo.activity[-1].timestamp if repo.activity else _BORN,
        "created_at": _BORN,
        "updated_at": _BORN,
    }


def full_repository(repo: Repository, links: Links) -> dict[str, Any]:
    """A repository asked for by name."""
    full = {**repository(repo, links), "network_count": 0, "subscribers_count": 0}
    if repo.parent is not None:
        parent = repository(repo.parent, links)
        full |= {"parent": parent, "source": parent}
    return full
