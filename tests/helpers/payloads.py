"""Event payloads of GitHub, reduced to what stands in every real one."""

from __future__ import annotations

import json
from typing import Any

HEAD = "1" * 40
BASE = "2" * 40
REPOSITORY = "acme/shop"


def repository(full_name: str = REPOSITORY) -> dict[str, Any]:
    """A repository, as every payload holds one."""
    return {"id": 1, "full_name": full_name, "default_branch": "main", "fork": False}


def pull_request(
    action: str = "opened",
    *,
    number: int = 7,
    head: str = HEAD,
    base: str = BASE,
    head_repository: str | None = REPOSITORY,
    **extra: Any,
) -> dict[str, Any]:
    """The event `pull_request`. `extra` goes into the pull request."""
    return {
        "action": action,
        "number": number,
        "pull_request": {
            "number": number,
            "draft": False,
            "title": "Change the prompt",
            "user": {"login": "ada"},
            "labels": [],
            "head": {
                "ref": "change",
                "sha": head,
                "repo": None if head_repository is None else repository(head_repository),
            },
            "base": {"ref": "main", "sha": base, "repo": repository()},
            **extra,
        },
        "repository": repository(),
        "sender": {"login": "ada", "type": "User"},
    }


def merge_group(
    *, head: str = HEAD, base: str = BASE, number: int = 7, action: str = "checks_requested"
) -> dict[str, Any]:
    """The event `merge_group`."""
    return {
        "action": action,
        "merge_group": {
            "head_sha": head,
            "head_ref": f"refs/heads/gh-readonly-queue/main/pr-{number}-{base}",
            "base_sha": base,
            "base_ref": "refs/heads/main",
            "head_commit": {"id": head, "message": f"Merge pull request #{number}"},
        },
        "repository": repository(),
        "sender": {"login": "github-merge-queue[bot]", "type": "Bot"},
    }


def dispatch() -> dict[str, Any]:
    """The event `workflow_dispatch`."""
    return {
        "inputs": {"pull-request": "7"},
        "ref": "refs/heads/main",
        "workflow": ".github/workflows/gate.yml",
        "repository": repository(),
        "sender": {"login": "ada", "type": "User"},
    }


def push(*, before: str = BASE, after: str = HEAD, ref: str = "refs/heads/main") -> dict[str, Any]:
    """The event `push`."""
    return {
        "ref": ref,
        "before": before,
        "after": after,
        "created": set(before) == {"0"},
        "deleted": set(after) == {"0"},
        "repository": repository(),
        "sender": {"login": "ada", "type": "User"},
    }


def workflow_run(
    *,
    head: str = HEAD,
    head_repository: str | None = "mallory/shop",
    event: str = "pull_request",
    run: int = 41,
) -> dict[str, Any]:
    """The event `workflow_run`; `pull_requests` is empty, as it is for forks."""
    return {
        "action": "completed",
        "workflow_run": {
            "id": run,
            "event": event,
            "head_sha": head,
            "head_branch": "change",
            "head_repository": None if head_repository is None else repository(head_repository),
            "conclusion": "failure",
            "pull_requests": [],
        },
        "repository": repository(),
        "sender": {"login": "mallory", "type": "User"},
    }


def encode(payload: dict[str, Any]) -> bytes:
    """The payload as the event file holds it."""
    return json.dumps(payload).encode()
