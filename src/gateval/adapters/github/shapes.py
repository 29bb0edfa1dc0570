"""GitHub's JSON to our values and back. Pure.

An answer of another shape raises KeyError, TypeError or ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from gateval.domain.forge.check_run import Annotation, AnnotationLevel, CheckReport, CheckRun
from gateval.domain.forge.trigger import Artifact, Branch, Comment, PullRequest, WorkflowRun
from gateval.domain.labels import Account, LabelEvent, Push
from gateval.domain.text import Label
from gateval.errors import ForgeUnavailable

_GHOST = "ghost"
"""The login that GitHub shows for people who deleted their account."""


def pull_request(content: Any) -> PullRequest:
    """Read a pull request."""
    return PullRequest(
        number=content["number"],
        open=content["state"] == "open",
        draft=bool(content.get("draft")),
        author=_login(content["user"]),
        head=_branch(content["head"]),
        base=_branch(content["base"]),
        labels=tuple(label["name"] for label in content["labels"]),
        url=content["html_url"],
    )


def comment(content: Any) -> Comment:
    """Read a comment."""
    return Comment(
        number=content["id"],
        author=_login(content["user"]),
        body=content.get("body") or "",
        url=content["html_url"],
        created_at=_instant(content["created_at"]),
        edited=content["updated_at"] != content["created_at"],
    )


def workflow_run(content: Any) -> WorkflowRun:
    """Read a run of a workflow."""
    head = content.get("head_repository")
    return WorkflowRun(
        number=content["id"],
        event=content["event"],
        branch=content.get("head_branch") or "",
        head=content["head_sha"],
        path=str(content["path"]).partition("@")[0],
        repository=content["repository"]["full_name"],
        head_repository=head["full_name"] if head else "",
    )


def artifact(content: Any) -> Artifact:
    """Read an artifact of a run."""
    return Artifact(
        number=content["id"],
        name=content["name"],
        size=content["size_in_bytes"],
        expired=bool(content["expired"]),
        digest=str(content.get("digest") or "").removeprefix("sha256:"),
    )


def label_event(content: Any) -> LabelEvent | None:
    """Read an event of an issue; None when it is not about a label.

    An actor behind an App is no person, whatever account it acted for.
    """
    if content["event"] not in {"labeled", "unlabeled"}:
        return None
    who = content.get("actor")
    by_app = content.get("performed_via_github_app") is not None
    return LabelEvent(
        number=content["id"],
        label=content["label"]["name"],
        added=content["event"] == "labeled",
        by=Account(
            login=_login(who),
            id=who["id"] if who else None,
            human=bool(who) and who["type"] == "User" and not by_app,
        ),
        at=_instant(content["created_at"]),
    )


def push(content: Any) -> Push:
    """Read one entry of a repository's activity."""
    return Push(after=content["after"], at=_instant(content["timestamp"]))


def check_run(content: Any) -> CheckRun:
    """Read a check run."""
    output = content.get("output") or {}
    return CheckRun(
        number=content["id"],
        name=content["name"],
        head_sha=content["head_sha"],
        external_id=content.get("external_id") or "",
        app=(content.get("app") or {}).get("slug") or "",
        completed=content["status"] == "completed",
        conclusion=content.get("conclusion") or "",
        url=content.get("html_url") or "",
        summary=output.get("summary") or "",
        text=output.get("text") or "",
        annotations=output.get("annotations_count") or 0,
    )


def annotation(content: Any) -> Annotation:
    """Read an annotation of a check run of ours, as nobody else can have written it."""
    return Annotation(
        path=Label(content["path"]),
        line=content["start_line"],
        level=AnnotationLevel(content["annotation_level"]),
        title=Label(content["title"] or ""),
        message=Label(content["message"] or ""),
    )


def check_body(report: CheckReport) -> dict[str, Any]:
    """Write the body of a request that creates or updates a check run."""
    body: dict[str, Any] = {
        "name": report.name,
        "external_id": report.external_id,
        "status": str(report.status),
        "started_at": report.started_at,
        "output": {
            "title": report.title,
            "summary": report.summary,
            "annotations": [
                {
                    "path": one.path,
                    "start_line": one.line,
                    "end_line": one.line,
                    "annotation_level": str(one.level),
                    "title": one.title,
                    "message": one.message,
                }
                for one in report.annotations
            ],
        },
    }
    if report.text:
        body["output"]["text"] = report.text
    if report.details_url:
        body["details_url"] = report.details_url
    if report.conclusion is not None:
        body["conclusion"] = str(report.conclusion)
    return body


def _branch(content: Any) -> Branch:
    repository = content.get("repo")
    return Branch(
        ref=content["ref"],
        sha=content["sha"],
        repository=repository["full_name"] if repository else None,
    )


def _instant(text: str) -> str:
    """Return a time as UTC to the second, however precise and of whatever zone GitHub gave it."""
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _login(user: Any) -> str:
    return str(user["login"]) if user else _GHOST


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Turn an answer of another shape than documented into our error."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForgeUnavailable(
            f"GitHub answered something unexpected when asked to {what}."
        ) from error
