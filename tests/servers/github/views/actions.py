"""Workflow runs and artifacts as GitHub shows them."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.servers.github.state.actions import Artifact, WorkflowRun
from tests.servers.github.state.repository import Repository
from tests.servers.github.views.links import Links, node_id
from tests.servers.github.views.repository import minimal_repository

_TIME = "2026-11-20T09:00:00Z"
_ADDRESSES = ("jobs", "logs", "cancel", "rerun", "artifacts")


def workflow_run(run: WorkflowRun, repo: Repository, links: Links) -> dict[str, Any]:
    """A run of a workflow."""
    url = f"{links.repo(repo)}/actions/runs/{run.id}"
    known = repo.world.repositories.get(run.head_repository.lower(), repo)
    return {
        "id": run.id,
        "node_id": node_id("WFR", run.id),
        "head_branch": run.branch,
        "head_sha": run.sha,
        "path": run.path,
        "run_number": 1,
        "run_attempt": 1,
        "display_title": "Run",
        "event": run.event,
        "status": "completed",
        "conclusion": "success",
        "workflow_id": 1,
        "url": url,
        "html_url": f"{links.page(repo)}/actions/runs/{run.id}",
        "created_at": _TIME,
        "updated_at": _TIME,
        "pull_requests": [],
        "head_commit": None,
        "repository": minimal_repository(repo, links),
        "head_repository": minimal_repository(known, links),
        **{f"{name}_url": f"{url}/{name}" for name in _ADDRESSES},
        "check_suite_url": f"{links.repo(repo)}/check-suites/1",
        "workflow_url": f"{links.repo(repo)}/actions/workflows/1",
    }


def artifact(one: Artifact, run: WorkflowRun, repo: Repository, links: Links) -> dict[str, Any]:
    """An artifact of a run."""
    url = f"{links.repo(repo)}/actions/artifacts/{one.id}"
    return {
        "id": one.id,
        "node_id": node_id("ART", one.id),
        "name": one.name,
        "size_in_bytes": len(one.content),
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": one.expired,
        "created_at": _TIME,
        "updated_at": _TIME,
        "expires_at": _TIME,
        "digest": f"sha256:{hashlib.sha256(one.content).hexdigest()}",
        "workflow_run": {"id": run.id, "head_branch": run.branch, "head_sha": run.sha},
    }
