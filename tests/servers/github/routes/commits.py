"""Commits, what lies between two of them, and the pull requests they belong to."""

from __future__ import annotations

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply, not_found
from tests.servers.github.pages import page
from tests.servers.github.routing import route
from tests.servers.github.state.commits import Commit, ancestors
from tests.servers.github.state.repository import Repository
from tests.servers.github.views.commits import commit, git_commit
from tests.servers.github.views.pulls import changed_files, commits_of, diff_entry, simple_pull

READ = Needs("contents=read", public=True)
MOST_FILES = 300


@route("GET", "R/commits/{commit_sha}/pulls", Needs("pull_requests=read", public=True))
def list_pulls_of_commit(call: Call) -> Reply:
    """The pull requests that bring this commit."""
    sha = call.commit_id(call.params["commit_sha"])
    pulls = [
        pull
        for pull in call.repo.pulls.values()
        if sha in {pull.head_sha, *(each.sha for each in commits_of(pull))}
    ]
    return page(call, pulls, lambda pull: simple_pull(pull, call.links))


@route("GET", "R/commits", READ)
def list_commits(call: Call) -> Reply:
    """Commits up to one, newest first; with `path`, those that change that file."""
    query, repo = call.request.query, call.repo
    start = repo.resolve(query.get("sha", repo.default_branch))
    if start is None or repo.git is None:
        raise not_found()
    path = query.get("path", "")
    said = repo.git.git("rev-list", start, "--", *([path] if path else []))
    found = [one for sha in said.split() if (one := repo.look(sha)) is not None]
    return page(call, found, lambda one: commit(one, repo, call.links))


@route("GET", "R/git/commits/{commit_sha}", READ)
def get_git_commit(call: Call) -> Reply:
    """A commit of the git database, by its full id."""
    found = call.repo.look(call.params["commit_sha"])
    if found is None:
        raise not_found()
    return Reply(200, git_commit(found, call.repo, call.links))


@route("GET", "R/compare/{basehead}", READ)
def compare(call: Call) -> Reply:
    """Two revisions (`base...head`): where they part and what the second has more."""
    one, _, other = call.params["basehead"].partition("...")
    repo = call.repo
    base, head = repo.resolve(one), repo.resolve(other)
    if base is None or head is None:
        raise not_found()
    start = repo.merge_base(base, head)
    if start is None:
        raise not_found()
    return Reply(200, _comparison(call, repo, base, head, start))


def _comparison(
    call: Call, repo: Repository, base: str, head: str, start: Commit
) -> dict[str, object]:
    left, right = ancestors(repo.look, base), ancestors(repo.look, head)
    ahead = [each for sha, each in reversed(right.items()) if sha not in left]
    behind = [sha for sha in left if sha not in right]
    status = (
        "diverged"
        if ahead and behind
        else "ahead"
        if ahead
        else "behind"
        if behind
        else "identical"
    )
    page_url = f"{call.links.page(repo)}/compare/{base}...{head}"
    files = changed_files(repo, base, head)[:MOST_FILES]
    return {
        "url": f"{call.links.repo(repo)}/compare/{base}...{head}",
        "html_url": page_url,
        "permalink_url": page_url,
        "diff_url": f"{page_url}.diff",
        "patch_url": f"{page_url}.patch",
        "base_commit": commit(left[base], repo, call.links),
        "merge_base_commit": commit(start, repo, call.links),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": [commit(each, repo, call.links) for each in ahead[:250]],
        "files": [diff_entry(file, repo, head, call.links) for file in files],
    }
