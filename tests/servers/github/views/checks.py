"""Check runs, suites, annotations, statuses."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.servers.github.state.checks import CheckRun, CheckSuite, Status
from tests.servers.github.state.repository import Repository
from tests.servers.github.views.links import Links, node_id
from tests.servers.github.views.people import app, simple_user
from tests.servers.github.views.pulls import minimal_pull
from tests.servers.github.views.repository import minimal_repository


def check_run(run: CheckRun, repo: Repository, links: Links) -> dict[str, Any]:
    """A check run."""
    url = f"{links.repo(repo)}/check-runs/{run.id}"
    page = f"{links.page(repo)}/runs/{run.id}"
    return {
        "id": run.id,
        "node_id": node_id("CR", run.id),
        "name": run.name,
        "head_sha": run.head_sha,
        "external_id": run.external_id,
        "url": url,
        "html_url": page,
        "details_url": run.details_url or page,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "check_suite": {"id": run.suite.id},
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": len(run.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "app": app(run.app, links),
        "pull_requests": _pulls(run.head_sha, repo, links),
    }


def check_suite(suite: CheckSuite, repo: Repository, links: Links) -> dict[str, Any]:
    """All runs of an app on a commit, and what they come to."""
    runs = [run for run in repo.check_runs.values() if run.suite == suite]
    done = bool(runs) and all(run.status == "completed" for run in runs)
    conclusions = {run.conclusion for run in runs}
    worst = next(
        (each for each in ("failure", "timed_out", "cancelled") if each in conclusions), None
    )
    commit = repo.look(suite.head_sha)
    assert commit is not None
    who = {"name": commit.author, "email": commit.email}
    url = f"{links.repo(repo)}/check-suites/{suite.id}"
    branch = next((name for name, sha in repo.branches.items() if sha == suite.head_sha), None)
    return {
        "id": suite.id,
        "node_id": node_id("CS", suite.id),
        "head_branch": branch,
        "head_sha": suite.head_sha,
        "status": "completed" if done else "in_progress" if runs else "queued",
        "conclusion": (worst or "success") if done else None,
        "url": url,
        "before": None,
        "after": suite.head_sha,
        "pull_requests": _pulls(suite.head_sha, repo, links),
        "app": app(suite.app, links),
        "repository": minimal_repository(repo, links),
        "created_at": suite.created_at,
        "updated_at": suite.created_at,
        "head_commit": {
            "id": commit.sha,
            "tree_id": commit.tree,
            "message": commit.message,
            "timestamp": commit.date,
            "author": who,
            "committer": who,
        },
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{url}/check-runs",
    }


def annotation(
    shown: dict[str, Any], run: CheckRun, repo: Repository, links: Links
) -> dict[str, Any]:
    """A note on lines of a file."""
    optional = ("start_column", "end_column", "title", "raw_details")
    path = quote(shown["path"])
    return {
        **{key: shown.get(key) for key in optional},
        **{key: value for key, value in shown.items() if key not in optional},
        "blob_href": f"{links.page(repo)}/blob/{run.head_sha}/{path}",
    }


def simple_status(shown: Status, repo: Repository, links: Links) -> dict[str, Any]:
    """A status, without its author."""
    return {
        "id": shown.id,
        "node_id": node_id("SC", shown.id),
        "url": f"{links.repo(repo)}/statuses/{shown.sha}",
        "avatar_url": f"{links.html}/avatars/{shown.creator.id}",
        "state": shown.state,
        "description": shown.description,
        "target_url": shown.target_url,
        "context": shown.context,
        "created_at": shown.created_at,
        "updated_at": shown.created_at,
    }


def status(shown: Status, repo: Repository, links: Links) -> dict[str, Any]:
    """A status."""
    return {**simple_status(shown, repo, links), "creator": simple_user(shown.creator, links)}


def _pulls(sha: str, repo: Repository, links: Links) -> list[dict[str, Any]]:
    """Open pull requests with this head; GitHub leaves those of forks out."""
    found = [pull for pull in repo.pulls.values() if pull.head_sha == sha and pull.state == "open"]
    return [minimal_pull(pull, links) for pull in found if not pull.from_fork]
