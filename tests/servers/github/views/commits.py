"""Commits, refs, branches, and what happened to them."""

from __future__ import annotations

from typing import Any

from tests.servers.github.state.activity import Activity
from tests.servers.github.state.commits import Commit
from tests.servers.github.state.repository import Repository
from tests.servers.github.views.links import Links, node_id
from tests.servers.github.views.people import simple_user

_UNSIGNED = {
    "verified": False,
    "reason": "unsigned",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


def commit(shown: Commit, repo: Repository, links: Links) -> dict[str, Any]:
    """A commit as the repository's API has it."""
    url, page = f"{links.repo(repo)}/commits/{shown.sha}", links.page(repo)
    who = _signature(shown)
    return {
        "sha": shown.sha,
        "node_id": node_id("C", shown.sha),
        "url": url,
        "html_url": f"{page}/commit/{shown.sha}",
        "comments_url": f"{url}/comments",
        "commit": {
            "url": f"{links.repo(repo)}/git/commits/{shown.sha}",
            "author": who,
            "committer": who,
            "message": shown.message,
            "comment_count": 0,
            "tree": _tree(shown, repo, links),
            "verification": _UNSIGNED,
        },
        "author": None,
        "committer": None,
        "parents": [
            {
                "sha": sha,
                "url": f"{links.repo(repo)}/commits/{sha}",
                "html_url": f"{page}/commit/{sha}",
            }
            for sha in shown.parents
        ],
    }


def git_commit(shown: Commit, repo: Repository, links: Links) -> dict[str, Any]:
    """A commit as the git database has it."""
    url, page = f"{links.repo(repo)}/git/commits", links.page(repo)
    who = _signature(shown)
    return {
        "sha": shown.sha,
        "node_id": node_id("C", shown.sha),
        "url": f"{url}/{shown.sha}",
        "html_url": f"{page}/commit/{shown.sha}",
        "author": who,
        "committer": who,
        "tree": _tree(shown, repo, links),
        "message": shown.message,
        "parents": [
            {"sha": sha, "url": f"{url}/{sha}", "html_url": f"{page}/commit/{sha}"}
            for sha in shown.parents
        ],
        "verification": _UNSIGNED,
    }


def git_ref(name: str, sha: str, repo: Repository, links: Links) -> dict[str, Any]:
    """A ref and the commit it points to."""
    url = f"{links.repo(repo)}/git"
    return {
        "ref": name,
        "node_id": node_id("REF", name),
        "url": f"{url}/{name}",
        "object": {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"},
    }


def activity(shown: Activity, links: Links) -> dict[str, Any]:
    """A push."""
    return {
        "id": shown.id,
        "node_id": node_id("PUSH", shown.id),
        "before": shown.before,
        "after": shown.after,
        "ref": shown.ref,
        "timestamp": shown.timestamp,
        "activity_type": shown.type,
        "actor": simple_user(shown.actor, links),
    }


def _signature(shown: Commit) -> dict[str, str]:
    return {"name": shown.author, "email": shown.email, "date": shown.date}


def _tree(shown: Commit, repo: Repository, links: Links) -> dict[str, str]:
    return {"sha": shown.tree, "url": f"{links.repo(repo)}/git/trees/{shown.tree}"}
