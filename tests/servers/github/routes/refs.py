"""Refs and branches, and a commit by any name (last, since a ref may hold slashes)."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply, not_found
from tests.servers.github.routing import route
from tests.servers.github.views.commits import git_ref

READ = Needs("contents=read", public=True)


@route("GET", "R/git/ref/{ref}", READ)
def get_ref(call: Call) -> Reply:
    """One ref by its full name without `refs/`."""
    name = f"refs/{call.params['ref']}"
    sha = call.repo.refs().get(name)
    if sha is None:
        raise not_found()
    return Reply(200, git_ref(name, sha, call.repo, call.links))


@route("GET", "R/git/matching-refs/{ref}", READ)
def list_refs(call: Call) -> Reply:
    """All refs that begin so."""
    prefix, refs = f"refs/{call.params['ref']}", call.repo.refs()
    found = sorted(name for name in refs if name.startswith(prefix))
    return Reply(200, [git_ref(name, refs[name], call.repo, call.links) for name in found])
