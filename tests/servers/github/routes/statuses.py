"""Commit statuses, and the commit itself."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply, invalid
from tests.servers.github.pages import page
from tests.servers.github.routing import route
from tests.servers.github.state.checks import Status
from tests.servers.github.views.checks import simple_status, status
from tests.servers.github.views.commits import commit
from tests.servers.github.views.repository import minimal_repository

READ = Needs("statuses=read", public=True)
MOST = 1000


@route("POST", "R/statuses/{sha}", Needs("statuses=write", role="write"))
def create_status(call: Call) -> Reply:
    """A status on a commit; anybody who may push may set any context."""
    sha, body, repo = call.commit_id(call.params["sha"]), call.body, call.repo
    context, description = body.get("context", "default"), body.get("description")
    if description and len(description) > 140:
        message = "description is too long (maximum is 140 characters)"
        raise invalid({"resource": "Status", "code": "custom", "message": message})
    if len([each for each in _of(call, sha) if each.context == context]) >= MOST:
        message = "This SHA and context has reached the maximum number of statuses."
        raise invalid({"resource": "Status", "code": "custom", "message": message})
    made = Status(
        call.world.new_id(),
        sha,
        context,
        body["state"],
        description,
        body.get("target_url"),
        call.actor,
        call.world.clock.tick(),
    )
    repo.statuses.append(made)
    return Reply(201, status(made, repo, call.links))


@route("GET", "R/commits/{ref}/status", READ)
def combined_status(call: Call) -> Reply:
    """The newest status of each context, and what they come to."""
    sha, repo = call.commit_id(call.params["ref"]), call.repo
    newest = {each.context.lower(): each for each in reversed(_of(call, sha))}
    states = {each.state for each in newest.values()}
    state = "pending" if not states or "pending" in states else "success"
    body = {
        "state": "failure" if states & {"error", "failure"} else state,
        "statuses": [simple_status(each, repo, call.links) for each in newest.values()],
        "sha": sha,
        "total_count": len(newest),
        "repository": minimal_repository(repo, call.links),
        "commit_url": f"{call.links.repo(repo)}/commits/{sha}",
        "url": f"{call.links.repo(repo)}/commits/{sha}/status",
    }
    return Reply(200, body)


@route("GET", "R/commits/{ref}/statuses", READ)
def list_statuses(call: Call) -> Reply:
    """Every status, newest first."""
    repo, found = call.repo, _of(call, call.commit_id(call.params["ref"]))
    return page(call, found, lambda each: status(each, repo, call.links))


@route("GET", "R/commits/{ref}", Needs("contents=read", public=True))
def get_commit(call: Call) -> Reply:
    """A commit by id, branch or ref. Stands after the routes that go on behind a ref."""
    found = call.repo.look(call.commit_id(call.params["ref"]))
    assert found is not None
    return Reply(200, commit(found, call.repo, call.links))


def _of(call: Call, sha: str) -> list[Status]:
    return [each for each in reversed(call.repo.statuses) if each.sha == sha]
