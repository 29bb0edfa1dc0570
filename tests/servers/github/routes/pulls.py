"""Pull requests."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply
from tests.servers.github.pages import page
from tests.servers.github.routing import route
from tests.servers.github.state.pull import Pull
from tests.servers.github.views.commits import commit
from tests.servers.github.views.pulls import (
    commits_of,
    diff_entry,
    files_of,
    full_pull,
    simple_pull,
)

READ = Needs("pull_requests=read", public=True)
MOST_FILES = 3000
MOST_COMMITS = 250


@route("GET", "R/pulls", READ)
def list_pulls(call: Call) -> Reply:
    """Pull requests, newest first, by state, head (`owner:branch`) and base."""
    state = call.query.get("state", "open")
    head, base = call.query.get("head"), call.query.get("base")

    def fits(pull: Pull) -> bool:
        owner = (pull.head_repo or pull.repo).owner.login
        return (
            state in {"all", pull.state}
            and head in {None, "", f"{owner}:{pull.head_ref}"}
            and base in {None, "", pull.base_ref}
        )

    found = sorted(filter(fits, list(call.repo.pulls.values())), key=lambda pull: -pull.number)
    if call.query.get("direction") == "asc":
        found.reverse()
    return page(call, found, lambda pull: simple_pull(pull, call.links))


@route("GET", "R/pulls/{pull_number}", READ)
def get_pull(call: Call) -> Reply:
    """One pull request."""
    return Reply(200, full_pull(call.pull, call.links))


@route("GET", "R/pulls/{pull_number}/files", READ)
def list_files(call: Call) -> Reply:
    """The changed files, at most 3,000 of them."""
    pull = call.pull
    return page(
        call,
        files_of(pull)[:MOST_FILES],
        lambda file: diff_entry(file, pull.repo, pull.head_sha, call.links),
    )


@route("GET", "R/pulls/{pull_number}/commits", READ)
def list_commits(call: Call) -> Reply:
    """The commits, oldest first, at most 250 of them."""
    pull = call.pull
    return page(
        call, commits_of(pull)[:MOST_COMMITS], lambda each: commit(each, pull.repo, call.links)
    )
