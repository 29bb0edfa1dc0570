"""May this token do this? Worded as GitHub words its refusals.

https://docs.github.com/rest/authentication/permissions-required-for-github-apps
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.servers.github.http import ApiError, Call, not_found


@dataclass(frozen=True)
class Needs:
    """What a route asks of a token.

    `permissions` is for apps, in the notation of X-Accepted-GitHub-Permissions; `role` for people.
    `public` marks what anybody may read in a public repository.
    """

    permissions: str = "metadata=read"
    role: str = "read"
    public: bool = False
    app_only: bool = False


def check(call: Call, needs: Needs) -> None:
    """Raise the refusal that GitHub would send; return if the caller may."""
    if "owner" not in call.params:
        return
    repo = call.repo
    if needs.public and not repo.private:
        return
    token = call.token
    if token is None:
        raise ApiError(401, "Requires authentication")
    accepted = {"X_Accepted_GitHub_Permissions": needs.permissions}
    if token.app is not None:
        bound = token.repository == repo.full_name.lower()
        if not bound or not token.grants(needs.permissions):
            raise ApiError(403, "Resource not accessible by integration", **accepted)
        return
    if needs.app_only:
        raise ApiError(403, "You must authenticate via a GitHub App.")
    role = repo.role_of(token.user)
    if role.reaches(needs.role):
        return
    raise (
        ApiError(403, "Must have admin rights to Repository.")
        if role.reaches("write")
        else not_found()
    )
