"""What a workflow finds in its event file: payloads that GitHub once sent, told of our world.

Each is a recorded payload over which the views of the API are laid, so that event and API agree,
and is then held against the published schema of its event.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.servers.github.state.issues import Comment
from tests.servers.github.state.merge_queue import MergeGroup
from tests.servers.github.state.people import User
from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository
from tests.servers.github.views.issues import comment as comment_view
from tests.servers.github.views.issues import issue
from tests.servers.github.views.issues import label as label_view
from tests.servers.github.views.links import Links
from tests.servers.github.views.people import simple_user
from tests.servers.github.views.pulls import changed_files, full_pull
from tests.servers.github.views.repository import repository

_DATA = Path(__file__).parents[2] / "data" / "github"


@dataclass(frozen=True)
class Event:
    """A webhook event as a workflow run gets it.

    `ref` and `sha` are what the runner says in GITHUB_REF and GITHUB_SHA; `head_ref` and
    `base_ref` are empty unless there is a pull request.
    """

    name: str
    payload: dict[str, Any]
    repo: Repository
    actor: User
    ref: str
    sha: str
    head_ref: str = ""
    base_ref: str = ""


def pull_request(
    pull: Pull,
    action: str,
    *,
    by: User,
    links: Links,
    label: str | None = None,
    before: str | None = None,
    target: bool = False,
) -> Event:
    """An event of a pull request; `label` for (un)labeled, `before` for synchronize.

    With `target` it is pull_request_target, which runs on the default branch.
    """
    ours: dict[str, Any] = {"number": pull.number, "pull_request": full_pull(pull, links)}
    if label is not None:
        ours["label"] = label_view(pull.repo.label(label), pull.repo, links)
    if action == "synchronize":
        ours |= {"before": before or pull.base_sha, "after": pull.head_sha}
    payload = _payload("pull_request", action, ours, pull.repo, by, links)
    ends = {"head_ref": pull.head_ref, "base_ref": pull.base_ref}
    if target:
        return Event("pull_request_target", payload, pull.repo, by, *_default(pull.repo), **ends)
    ref, sha = f"refs/pull/{pull.number}/merge", pull.merge_commit_sha
    if sha is None:
        raise ValueError("GitHub starts no pull_request run while the branches conflict")
    return Event("pull_request", payload, pull.repo, by, ref, sha, **ends)


def merge_group(group: MergeGroup, *, by: User, links: Links) -> Event:
    """The merge queue asks for checks. The payload names no pull request."""
    repo = group.repo
    head = repo.look(group.head_sha)
    assert head is not None
    who = {"name": head.author, "email": head.email}
    ours = {
        "merge_group": {
            "head_sha": group.head_sha,
            "head_ref": group.head_ref,
            "base_sha": group.base_sha,
            "base_ref": group.base_ref,
            "head_commit": {
                "id": head.sha,
                "tree_id": head.tree,
                "message": head.message,
                "timestamp": head.date,
                "author": who,
                "committer": who,
            },
        }
    }
    payload = _payload("merge_group", "checks_requested", ours, repo, by, links)
    return Event("merge_group", payload, repo, by, group.head_ref, group.head_sha)


def push(repo: Repository, branch: str, *, by: User, links: Links) -> Event:
    """The newest push to a branch."""
    ref = f"refs/heads/{branch}"
    told = next(each for each in reversed(repo.activity) if each.ref == ref)
    tip = repo.look(told.after)
    assert tip is not None
    who = {"name": tip.author, "email": tip.email, "username": by.login}
    commit: dict[str, Any] = {
        "id": tip.sha,
        "tree_id": tip.tree,
        "message": tip.message,
        "timestamp": tip.date,
        "url": f"{links.page(repo)}/commit/{tip.sha}",
        "author": who,
        "committer": who,
        "distinct": True,
        **{kind: [] for kind in ("added", "removed", "modified")},
    }
    for file in changed_files(repo, told.before, told.after):
        commit[file.status if file.status in commit else "modified"].append(file.filename)
    ours = {
        "ref": ref,
        "before": told.before,
        "after": told.after,
        "created": told.type == "branch_creation",
        "forced": told.type == "force_push",
        "compare": f"{links.page(repo)}/compare/{told.before}...{told.after}",
        "head_commit": commit,
        "commits": [commit],
        "pusher": _named(by),
        "repository": {"owner": _named(repo.owner)},
    }
    payload = _payload("push", None, ours, repo, by, links)
    return Event("push", payload, repo, by, ref, told.after)


def workflow_dispatch(
    repo: Repository,
    *,
    by: User,
    links: Links,
    inputs: Mapping[str, str] | None = None,
    branch: str | None = None,
    workflow: str = ".github/workflows/gateval.yml",
) -> Event:
    """Somebody starts a workflow by hand. Every input is text."""
    name = branch or repo.default_branch
    ref = f"refs/heads/{name}"
    ours = {"inputs": dict(inputs or {}), "ref": ref, "workflow": workflow}
    payload = _payload("workflow_dispatch", None, ours, repo, by, links)
    return Event("workflow_dispatch", payload, repo, by, ref, repo.branches[name])


def issue_comment(pull: Pull, comment: Comment, *, links: Links) -> Event:
    """Somebody comments on a pull request; the run is one of the default branch."""
    ours = {"issue": issue(pull, links), "comment": comment_view(comment, pull, links)}
    for each in ours.values():
        each["reactions"] = {"url": f"{each['url']}/reactions"}
    payload = _payload("issue_comment", "created", ours, pull.repo, comment.user, links)
    return Event("issue_comment", payload, pull.repo, comment.user, *_default(pull.repo))


def is_recorded(event: str, action: str) -> bool:
    """Whether there is a recording of this event with this action."""
    return f"{event}${action}" in _read("webhook-payloads.json")["payloads"]


def _named(user: User) -> dict[str, str]:
    return {"name": user.login, "email": f"{user.login}@example.com"}


def _default(repo: Repository) -> tuple[str, str]:
    return f"refs/heads/{repo.default_branch}", repo.branches[repo.default_branch]


def _payload(
    event: str,
    action: str | None,
    ours: Mapping[str, Any],
    repo: Repository,
    by: User,
    links: Links,
) -> dict[str, Any]:
    told = {"repository": repository(repo, links), "sender": simple_user(by, links)}
    payload: dict[str, Any] = _over(_over(_recorded(event, action), told), ours)
    for key in ("installation", "organization"):
        payload.pop(key, None)
    wrong = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
        for error in _schema(event, action).iter_errors(payload)
    ]
    assert not wrong, f"GitHub would not send this {event}: {wrong}"
    return payload


def _over(recorded: Any, ours: Any) -> Any:
    """Lay our values over the recorded ones, key by key."""
    if not isinstance(recorded, dict) or not isinstance(ours, dict):
        return ours
    return {**recorded, **{key: _over(recorded.get(key), value) for key, value in ours.items()}}


def _recorded(event: str, action: str | None) -> dict[str, Any]:
    payloads = _read("webhook-payloads.json")["payloads"]
    recorded: dict[str, Any] = payloads[f"{event}${action or 'event'}"]
    return recorded


@cache
def _schema(event: str, action: str | None) -> jsonschema_rs.Draft7Validator:
    reference = f"#/definitions/{event}${action or 'event'}"
    return jsonschema_rs.Draft7Validator({**_read("webhook-schemas.json"), "$ref": reference})


@cache
def _read(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((_DATA / name).read_text(encoding="utf-8"))
    return parsed
