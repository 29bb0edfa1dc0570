"""Repository activity: who pushed what, when, by GitHub's clock."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply
from tests.servers.github.routing import route
from tests.servers.github.state.activity import Activity
from tests.servers.github.views.commits import activity


@route("GET", "R/activity", Needs("contents=read", public=True))
def list_activity(call: Call) -> Reply:
    """Pushes, newest first; paginated by cursor, not by number."""
    found = [each for each in call.repo.activity if _fits(call, each)]
    if call.query.get("direction", "desc") == "desc":
        found.reverse()
    size = min(int(call.query.get("per_page", 30)), 100)
    cursor = call.query.get("after", "")
    start = next((i + 1 for i, each in enumerate(found) if f"c{each.id}" == cursor), 0)
    shown = found[start : start + size]
    headers = {}
    if start + size < len(found):
        query = urlencode({**call.query, "after": f"c{shown[-1].id}"})
        headers["Link"] = f'<{call.links.api}{call.request.path}?{query}>; rel="next"'
    return Reply(200, [activity(each, call.links) for each in shown], headers)


def _fits(call: Call, each: Activity) -> bool:
    ref, query = each.ref.removeprefix("refs/heads/"), call.query
    return (
        query.get("ref", ref).removeprefix("refs/heads/") == ref
        and query.get("actor", each.actor.login) == each.actor.login
        and query.get("activity_type", each.type) == each.type
    )
