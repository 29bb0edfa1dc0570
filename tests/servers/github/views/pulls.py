"""Pull requests and the files they change."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

from tests.servers.github.state.commits import ChangedFile, Commit, ancestors, merged_files
from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository
from tests.servers.github.views.issues import association, label
from tests.servers.github.views.links import Links, node_id
from tests.servers.github.views.people import simple_user
from tests.servers.github.views.repository import repository


def commits_of(pull: Pull) -> list[Commit]:
    """Return what the head has and the base branch has not, oldest first."""
    base = ancestors(pull.repo.look, pull.base_sha)
    own = ancestors(pull.repo.look, pull.head_sha)
    return [commit for sha, commit in reversed(own.items()) if sha not in base]


def files_of(pull: Pull) -> list[ChangedFile]:
    """Return the changed files, in the order of their names."""
    files = pull.files
    if files is None:
        files = changed_files(pull.repo, pull.base_sha, pull.head_sha)
    return sorted(files, key=lambda file: file.filename)


def changed_files(repo: Repository, base: str, head: str) -> list[ChangedFile]:
    """Return what changed between the merge-base of two commits and the second."""
    start = repo.merge_base(base, head)
    if repo.git is not None and start is not None:
        return repo.git.changed_files(start.sha, head)
    known = ancestors(repo.look, base)
    own = ancestors(repo.look, head)
    return merged_files(commit for sha, commit in reversed(own.items()) if sha not in known)


def simple_pull(pull: Pull, links: Links) -> dict[str, Any]:
    """A pull request in a list."""
    url, page = links.repo(pull.repo), f"{links.page(pull.repo)}/pull/{pull.number}"
    own, issue = f"{url}/pulls/{pull.number}", f"{url}/issues/{pull.number}"
    head_url = links.repo(pull.head_repo or pull.repo)
    addresses = {
        "self": own,
        "html": page,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{own}/comments",
        "review_comment": f"{url}/pulls/comments{{/number}}",
        "commits": f"{own}/commits",
        "statuses": f"{head_url}/statuses/{pull.head_sha}",
    }
    return {
        "id": pull.id,
        "node_id": node_id("PR", pull.id),
        "url": own,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": issue,
        **{
            f"{name}_url": addresses[name]
            for name in ("comments", "review_comments", "review_comment", "commits", "statuses")
        },
        "_links": {name: {"href": address} for name, address in addresses.items()},
        "number": pull.number,
        "state": pull.state,
        "locked": False,
        "title": pull.title,
        "user": simple_user(pull.author, links),
        "body": pull.body,
        "labels": [label(each, pull.repo, links) for each in pull.labels],
        "milestone": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": pull.updated_at if pull.state == "closed" else None,
        "merged_at": pull.updated_at if pull.merged_by else None,
        "merge_commit_sha": pull.merge_commit_sha,
        "head": _end(pull.head_repo, pull.head_ref, pull.head_sha, pull, links),
        "base": _end(pull.repo, pull.base_ref, pull.base_sha, pull, links),
        "author_association": association(pull.author, pull.repo),
        "auto_merge": None,
        "active_lock_reason": None,
        "draft": pull.draft,
    }


def full_pull(pull: Pull, links: Links) -> dict[str, Any]:
    """A pull request asked for by number."""
    files = files_of(pull)
    return {
        **simple_pull(pull, links),
        "merged": pull.merged_by is not None,
        "mergeable": pull.merge_commit_sha is not None,
        "rebaseable": None,
        "mergeable_state": "clean" if pull.merge_commit_sha else "dirty",
        "merged_by": simple_user(pull.merged_by, links) if pull.merged_by else None,
        "comments": len(pull.comments),
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": len(commits_of(pull)),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def minimal_pull(pull: Pull, links: Links) -> dict[str, Any]:
    """A pull request as a check run names it."""

    def end(repo: Repository | None, ref: str, sha: str) -> dict[str, Any]:
        named = repo or pull.repo
        return {
            "ref": ref,
            "sha": sha,
            "repo": {"id": named.id, "url": links.repo(named), "name": named.name},
        }

    return {
        "id": pull.id,
        "number": pull.number,
        "url": f"{links.repo(pull.repo)}/pulls/{pull.number}",
        "head": end(pull.head_repo, pull.head_ref, pull.head_sha),
        "base": end(pull.repo, pull.base_ref, pull.base_sha),
    }


def diff_entry(file: ChangedFile, repo: Repository, sha: str, links: Links) -> dict[str, Any]:
    """A changed file."""
    name = quote(file.filename)
    entry: dict[str, Any] = {
        "sha": hashlib.sha1(file.filename.encode(), usedforsecurity=False).hexdigest(),
        "filename": file.filename,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": f"{links.page(repo)}/blob/{sha}/{name}",
        "raw_url": f"{links.page(repo)}/raw/{sha}/{name}",
        "contents_url": f"{links.repo(repo)}/contents/{name}?ref={sha}",
    }
    if file.patch is not None:
        entry["patch"] = file.patch
    if file.previous_filename is not None:
        entry["previous_filename"] = file.previous_filename
    return entry


def _end(repo: Repository | None, ref: str, sha: str, pull: Pull, links: Links) -> dict[str, Any]:
    owner = repo.owner if repo else pull.author
    return {
        "label": f"{owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": simple_user(owner, links),
        "repo": repository(repo, links) if repo else None,
    }
