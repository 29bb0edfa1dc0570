"""A pull request as an issue: itself, its events, its timeline."""

from __future__ import annotations

from typing import Any

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply, not_found
from tests.servers.github.pages import page
from tests.servers.github.routing import route
from tests.servers.github.state.issues import Comment, IssueEvent
from tests.servers.github.views.issues import issue, issue_event, timeline_comment

READ = Needs("issues=read; pull_requests=read", public=True)


@route("GET", "R/issues/{issue_number}", READ)
def get_issue(call: Call) -> Reply:
    """The pull request as an issue."""
    return Reply(200, issue(call.pull, call.links))


@route("GET", "R/issues/{issue_number}/events", READ)
def list_events(call: Call) -> Reply:
    """What happened, oldest first."""
    pull = call.pull
    return page(call, list(pull.events), lambda each: issue_event(each, pull.repo, call.links))


@route("GET", "R/issues/events/{event_id}", READ)
def get_event(call: Call) -> Reply:
    """One event, with its issue. PyGithub asks for it when a test reads an event's raw data."""
    for pull in call.repo.pulls.values():
        for each in pull.events:
            if str(each.id) == call.params["event_id"]:
                body = issue_event(each, call.repo, call.links)
                return Reply(200, {**body, "issue": issue(pull, call.links)})
    raise not_found()


@route("GET", "R/issues/{issue_number}/timeline", READ)
def list_timeline(call: Call) -> Reply:
    """Events and comments together, oldest first."""
    pull = call.pull
    both: list[IssueEvent | Comment] = [*pull.events, *pull.comments]

    def view(each: IssueEvent | Comment) -> dict[str, Any]:
        if isinstance(each, Comment):
            return timeline_comment(each, pull, call.links)
        return issue_event(each, pull.repo, call.links)

    return page(call, sorted(both, key=lambda each: (each.created_at, each.id)), view)
