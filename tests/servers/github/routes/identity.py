"""Who am I, who is that, how much may I still ask."""

from __future__ import annotations

from tests.servers.github.http import ApiError, Call, Reply, not_found
from tests.servers.github.routing import route
from tests.servers.github.views.people import public_user


@route("GET", "/user")
def get_user(call: Call) -> Reply:
    """The account of a person's token. An installation has none, so GITHUB_TOKEN cannot ask."""
    if call.token is None:
        raise ApiError(401, "Requires authentication")
    if call.token.app is not None:
        raise ApiError(403, "Resource not accessible by integration")
    return Reply(200, public_user(call.token.user, call.links))


@route("GET", "/app")
def get_app(call: Call) -> Reply:
    """The app itself; it asks with a JWT signed by its private key, which no token is."""
    raise ApiError(401, "A JSON web token could not be decoded")


@route("GET", "/users/{username}")
def get_user_by_name(call: Call) -> Reply:
    """An account by name; a bot's name ends in [bot]."""
    known = {**call.world.users, **{app.bot.login: app.bot for app in call.world.apps.values()}}
    user = known.get(call.params["username"])
    if user is None:
        raise not_found()
    return Reply(200, public_user(user, call.links))


@route("GET", "/rate_limit")
def get_rate_limit(call: Call) -> Reply:
    """Where the token stands; asking costs nothing."""
    return call.limits.overview(call.token)
