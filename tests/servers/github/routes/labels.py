"""Labels: of a repository, and on a pull request."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import ApiError, Call, Reply, invalid, not_found
from tests.servers.github.pages import page
from tests.servers.github.routing import route
from tests.servers.github.views.issues import label

READ = Needs("issues=read; pull_requests=read", public=True)
WRITE = Needs("issues=write; pull_requests=write", role="triage")


@route("GET", "R/labels/{name}", READ)
def get_label(call: Call) -> Reply:
    """A label by name, in any case."""
    found = call.repo.labels.get(call.params["name"].lower())
    if found is None:
        raise not_found()
    return Reply(200, label(found, call.repo, call.links))


@route("POST", "R/labels", Needs("issues=write; pull_requests=write", role="write"))
def create_label(call: Call) -> Reply:
    """A new label."""
    name = call.body["name"]
    if name.lower() in call.repo.labels:
        raise invalid({"resource": "Label", "code": "already_exists", "field": "name"})
    more = {key: call.body[key] for key in ("color", "description") if key in call.body}
    return Reply(201, label(call.repo.label(name, **more), call.repo, call.links))


@route("GET", "R/issues/{issue_number}/labels", READ)
def list_labels(call: Call) -> Reply:
    """The labels on a pull request."""
    repo = call.repo
    return page(call, list(call.pull.labels), lambda each: label(each, repo, call.links))


@route("POST", "R/issues/{issue_number}/labels", WRITE)
def add_labels(call: Call) -> Reply:
    """Put labels on; those there already stay. One that does not exist yet is made."""
    wanted = call.body.get("labels", []) if isinstance(call.body, dict) else call.body or []
    for each in wanted:
        name = each["name"] if isinstance(each, dict) else each
        call.pull.label(name, by=call.actor, app=call.app)
    return _labels(call)


@route("DELETE", "R/issues/{issue_number}/labels/{name}", WRITE)
def remove_label(call: Call) -> Reply:
    """Take a label off."""
    if call.pull.unlabel(call.params["name"], by=call.actor, app=call.app) is None:
        raise ApiError(404, "Label does not exist")
    return _labels(call)


def _labels(call: Call) -> Reply:
    return Reply(200, [label(each, call.repo, call.links) for each in call.pull.labels])
