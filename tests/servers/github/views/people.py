"""Accounts and apps."""

from __future__ import annotations

from typing import Any

from tests.servers.github.state.people import App, User
from tests.servers.github.views.links import Links, node_id

_PARTS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
_BORN = "2020-01-01T00:00:00Z"


def simple_user(user: User, links: Links) -> dict[str, Any]:
    """An account as it stands inside other answers."""
    name = user.login.replace("[", "%5B").replace("]", "%5D")
    url = f"{links.api}/users/{name}"
    return {
        "login": user.login,
        "id": user.id,
        "node_id": node_id("U", user.id),
        "avatar_url": f"{links.html}/avatars/{user.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{links.html}/{name}",
        "type": user.type,
        "site_admin": False,
        **{key: url + part for key, part in _PARTS.items()},
    }


def public_user(user: User, links: Links) -> dict[str, Any]:
    """An account as anybody may look it up."""
    empty = dict.fromkeys(("name", "company", "location", "email", "hireable", "bio"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    return {
        **simple_user(user, links),
        **empty,
        "blog": "",
        **counts,
        "created_at": _BORN,
        "updated_at": _BORN,
        "user_view_type": "public",
    }


def app(shown: App, links: Links) -> dict[str, Any]:
    """A GitHub App."""
    return {
        "id": shown.id,
        "slug": shown.slug,
        "node_id": node_id("A", shown.id),
        "owner": simple_user(shown.owner, links),
        "name": shown.name,
        "description": None,
        "external_url": f"{links.html}/apps/{shown.slug}",
        "html_url": f"{links.html}/apps/{shown.slug}",
        "created_at": _BORN,
        "updated_at": _BORN,
        "permissions": {"metadata": "read"},
        "events": [],
    }
