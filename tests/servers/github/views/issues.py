"""Labels, comments, events, and a pull request seen as an issue."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.servers.github.state.issues import Comment, IssueEvent, Label
from tests.servers.github.state.people import User
from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository
from tests.servers.github.views.links import Links, node_id
from tests.servers.github.views.people import app, simple_user


def association(user: User, repo: Repository) -> str:
    """How an author stands to the repository."""
    if user == repo.owner:
        return "OWNER"
    return "COLLABORATOR" if user.login in repo.roles else "NONE"


def label(shown: Label, repo: Repository, links: Links) -> dict[str, Any]:
    """A label of the repository."""
    return {
        "id": shown.id,
        "node_id": node_id("LA", shown.id),
        "url": f"{links.repo(repo)}/labels/{quote(shown.name)}",
        "name": shown.name,
        "color": shown.color,
        "default": False,
        "description": shown.description,
    }


def comment(shown: Comment, pull: Pull, links: Links) -> dict[str, Any]:
    """A comment. Its author's login and id, and the app, say who wrote it."""
    url = links.repo(pull.repo)
    anchor = f"{links.page(pull.repo)}/pull/{pull.number}#issuecomment-{shown.id}"
    return {
        "id": shown.id,
        "node_id": node_id("IC", shown.id),
        "url": f"{url}/issues/comments/{shown.id}",
        "html_url": anchor,
        "issue_url": f"{url}/issues/{pull.number}",
        "body": shown.body,
        "user": simple_user(shown.user, links),
        "created_at": shown.created_at,
        "updated_at": shown.updated_at,
        "author_association": association(shown.user, pull.repo),
        "performed_via_github_app": app(shown.app, links) if shown.app else None,
    }


def timeline_comment(shown: Comment, pull: Pull, links: Links) -> dict[str, Any]:
    """A comment as the timeline has it."""
    return {
        **comment(shown, pull, links),
        "event": "commented",
        "actor": simple_user(shown.user, links),
    }


def issue_event(shown: IssueEvent, repo: Repository, links: Links) -> dict[str, Any]:
    """Something that happened. Labels are given by name and colour, without their id."""
    url = links.repo(repo)
    view: dict[str, Any] = {
        "id": shown.id,
        "node_id": node_id("EV", shown.id),
        "url": f"{url}/issues/events/{shown.id}",
        "actor": simple_user(shown.actor, links),
        "event": shown.event,
        "commit_id": shown.commit_id,
        "commit_url": f"{url}/commits/{shown.commit_id}" if shown.commit_id else None,
        "created_at": shown.created_at,
        "performed_via_github_app": app(shown.app, links) if shown.app else None,
    }
    if shown.label is not None:
        view["label"] = {"name": shown.label.name, "color": shown.label.color}
    return view


def issue(pull: Pull, links: Links) -> dict[str, Any]:
    """A pull request as the issues API sees it."""
    url, page = links.repo(pull.repo), f"{links.page(pull.repo)}/pull/{pull.number}"
    own = f"{url}/issues/{pull.number}"
    return {
        "id": pull.id,
        "node_id": node_id("PR", pull.id),
        "url": own,
        "repository_url": url,
        "labels_url": f"{own}/labels{{/name}}",
        "comments_url": f"{own}/comments",
        "events_url": f"{own}/events",
        "html_url": page,
        "number": pull.number,
        "state": pull.state,
        "title": pull.title,
        "body": pull.body,
        "user": simple_user(pull.author, links),
        "labels": [label(each, pull.repo, links) for each in pull.labels],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": False,
        "comments": len(pull.comments),
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": pull.updated_at if pull.state == "closed" else None,
        "author_association": association(pull.author, pull.repo),
        "draft": pull.draft,
        "pull_request": {
            "url": f"{url}/pulls/{pull.number}",
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
        },
    }
