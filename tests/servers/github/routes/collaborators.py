"""What roles people have."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import ApiError, Call, Reply, not_found
from tests.servers.github.routing import route
from tests.servers.github.state.people import LEGACY, User
from tests.servers.github.views.people import simple_user


@route("GET", "R/collaborators/{username}", Needs(role="write"))
def is_collaborator(call: Call) -> Reply:
    """Say by the status whether a person is a collaborator."""
    user = _user(call)
    if user != call.repo.owner and user.login not in call.repo.roles:
        raise not_found()
    return Reply(204)


@route("GET", "R/collaborators/{username}/permission", Needs(role="write"))
def get_permission(call: Call) -> Reply:
    """The coarse `permission` of old, and `role_name`, which knows maintain, triage, custom roles."""
    user = _user(call)
    role = call.repo.role_of(user)
    names = {"admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage"}
    permissions = {key: role.reaches(base) for key, base in names.items()}
    shown = {
        **simple_user(user, call.links),
        "permissions": {**permissions, "pull": role.reaches("read")},
        "role_name": role.name,
    }
    return Reply(200, {"permission": LEGACY[role.base], "role_name": role.name, "user": shown})


def _user(call: Call) -> User:
    name = call.params["username"]
    user = next(
        (each for each in call.world.users.values() if each.login.lower() == name.lower()), None
    )
    if user is None or user.type != "User":
        raise ApiError(404, f"{name} is not a user")
    return user
