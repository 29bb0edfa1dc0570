"""The repository itself."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply
from tests.servers.github.routing import route
from tests.servers.github.views.repository import full_repository


@route("GET", "R", Needs(public=True))
def get_repository(call: Call) -> Reply:
    """The repository by name; its permissions are those of a person's token."""
    body = full_repository(call.repo, call.links)
    if call.token is not None and call.token.app is None:
        role = call.repo.role_of(call.token.user)
        names = {"admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage"}
        body["permissions"] = {"pull": True} | {
            name: role.reaches(base) for name, base in names.items()
        }
    return Reply(200, body)
