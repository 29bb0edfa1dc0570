"""Comments in the conversation of a pull request."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import ApiError, Call, Reply, invalid, not_found
from tests.servers.github.pages import page
from tests.servers.github.routing import route
from tests.servers.github.state.issues import MAX_BODY, Comment
from tests.servers.github.state.pull import Pull
from tests.servers.github.views.issues import comment

READ = Needs("issues=read; pull_requests=read", public=True)
WRITE = Needs("issues=write; pull_requests=write")


@route("GET", "R/issues/{issue_number}/comments", READ)
def list_comments(call: Call) -> Reply:
    """The comments, oldest first, whatever the client would like."""
    pull, since = call.pull, call.query.get("since", "")
    found = [each for each in pull.comments if each.updated_at >= since]
    return page(call, found, lambda each: comment(each, pull, call.links))


@route("POST", "R/issues/{issue_number}/comments", WRITE)
def create_comment(call: Call) -> Reply:
    """A new comment, by whoever holds the token."""
    pull = call.pull
    made = pull.comment(_body(call), by=call.actor, app=call.app)
    return Reply(201, comment(made, pull, call.links))


@route("GET", "R/issues/comments/{comment_id}", READ)
def get_comment(call: Call) -> Reply:
    """One comment."""
    pull, found = _find(call)
    return Reply(200, comment(found, pull, call.links))


@route("PATCH", "R/issues/comments/{comment_id}", WRITE)
def update_comment(call: Call) -> Reply:
    """Reword a comment. Its author stays the author, whoever edits."""
    pull, found = _find(call)
    _may_change(call, found)
    pull.edit(found, _body(call))
    return Reply(200, comment(found, pull, call.links))


@route("DELETE", "R/issues/comments/{comment_id}", WRITE)
def delete_comment(call: Call) -> Reply:
    """Remove a comment."""
    pull, found = _find(call)
    _may_change(call, found)
    pull.comments.remove(found)
    return Reply(204)


def _find(call: Call) -> tuple[Pull, Comment]:
    for pull in call.repo.pulls.values():
        for each in pull.comments:
            if str(each.id) == call.params["comment_id"]:
                return pull, each
    raise not_found()


def _may_change(call: Call, found: Comment) -> None:
    """An app with write permission may change any comment; a person needs a role, or be its author."""
    mine = found.user == call.actor
    if call.app is None and not mine and not call.repo.role_of(call.actor).reaches("write"):
        raise ApiError(403, "Must have admin rights to Repository.")


def _body(call: Call) -> str:
    body = call.body.get("body") if isinstance(call.body, dict) else None
    if not isinstance(body, str) or not body.strip():
        raise invalid({"resource": "IssueComment", "code": "missing_field", "field": "body"})
    if len(body) > MAX_BODY:
        raise invalid(
            {
                "resource": "IssueComment",
                "code": "unprocessable",
                "field": "data",
                "message": f"Body is too long (maximum is {MAX_BODY} characters)",
            }
        )
    return body
