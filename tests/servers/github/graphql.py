"""The one question to GraphQL that has no answer in REST: under whose name does this token write?

GraphQL lies outside of the REST description, and outside of its prefix on GitHub Enterprise.
"""

from __future__ import annotations

import re

from tests.servers.github.http import ApiError, Reply, Request
from tests.servers.github.state.tokens import Token

PATHS = {"/graphql", "/api/graphql"}

_VIEWER = re.compile(r"query\s*\{\s*viewer\s*\{\s*login\s*\}\s*\}")


def answer_graphql(request: Request, token: Token | None) -> Reply:
    """Answer `query { viewer { login } }`; raise AssertionError for anything else."""
    if token is None:
        return ApiError(401, "Bad credentials").reply
    body = request.json()
    assert request.method == "POST", request.method
    assert isinstance(body, dict), body
    assert _VIEWER.fullmatch(body.get("query", "")), f"GraphQL here knows only the viewer: {body}"
    return Reply(200, {"data": {"viewer": {"login": token.user.login}}})
