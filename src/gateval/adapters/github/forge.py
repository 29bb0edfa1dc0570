"""The verbs of `ports.forge.Forge` over GitHub's REST API."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from gateval.adapters.github import shapes
from gateval.adapters.github.access import WRITES, GitHubAccess, Needs
from gateval.adapters.github.artifacts import GitHubArtifacts
from gateval.adapters.github.shapes import understood
from gateval.adapters.github.transport import ApiRequest, GitHubTransport
from gateval.adapters.github.waiting import RetryLimits
from gateval.domain.forge.check_run import CheckReport, CheckRun
from gateval.domain.forge.pull_request import Comment, PullRequest
from gateval.domain.labels.facts import LabelEvent, Push

PUSH_WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between questions about a push that the list of pushes does not show yet."""


class GitHubForge:
    """Fulfils `ports.forge.Forge` for one repository on GitHub, GHES or ghe.com.

    `runs` reads the runs of its workflows.
    """

    def __init__(
        self,
        access: GitHubAccess,
        limits: RetryLimits | None = None,
        *,
        needs: Needs = WRITES,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api = GitHubTransport(access, limits or RetryLimits(), sleep=sleep, now=now)
        self._needs = needs
        self._sleep = sleep
        self._viewer = ""
        self._written: dict[int, CheckRun] = {}
        self.runs = GitHubArtifacts(self._api)

    def pull_request(self, number: int) -> PullRequest:
        """The pull request as it is now."""
        what = f"show pull request {number}"
        content = self._api.ask(ApiRequest("GET", f"/pulls/{number}", what, self._needs.pulls))
        with understood(what):
            return shapes.pull_request(content)

    def viewer(self) -> str:
        """The login under which this token writes.

        Costs no request once a check run or a comment was written: the answer names us. Tokens of
        Apps may not ask `GET /user`, but everyone may ask GraphQL.
        """
        if not self._viewer:
            what = "say whose token this is"
            body = {"query": "query { viewer { login } }"}
            content = self._api.ask(ApiRequest("POST", "/graphql", what, "metadata: read", body))
            with understood(what):
                self._viewer = str(content["data"]["viewer"]["login"])
        return self._viewer

    def comments(self, pull_request: int) -> tuple[Comment, ...]:
        """All comments of a pull request, oldest first."""
        what = f"list the comments on pull request {pull_request}"
        path = f"/issues/{pull_request}/comments"
        with understood(what):
            return tuple(
                shapes.comment(one)
                for page in self._api.pages(ApiRequest("GET", path, what, self._needs.pulls))
                for one in page
            )

    def create_comment(self, pull_request: int, body: str) -> Comment:
        """Write a new comment."""
        path = f"/issues/{pull_request}/comments"
        what = f"take a comment on pull request {pull_request}"
        made = self._comment("POST", path, what, body)
        self._viewer = self._viewer or made.author
        return made

    def update_comment(self, comment: int, body: str) -> Comment:
        """Replace the body of a comment."""
        return self._comment("PATCH", f"/issues/comments/{comment}", "change our comment", body)

    def delete_comment(self, comment: int) -> None:
        """Delete a comment; nothing happens when it is gone."""
        path = f"/issues/comments/{comment}"
        self._api.ask(
            ApiRequest("DELETE", path, "delete our comment", self._needs.pulls, missing_ok=True)
        )

    def label_events(self, pull_request: int) -> tuple[LabelEvent, ...]:
        """Every time a label was put on a pull request or taken off, oldest first."""
        what = f"list the events of pull request {pull_request}"
        path = f"/issues/{pull_request}/events"
        with understood(what):
            found = [
                event
                for page in self._api.pages(ApiRequest("GET", path, what, self._needs.pulls))
                for one in page
                if (event := shapes.label_event(one)) is not None
            ]
        return tuple(sorted(found, key=lambda event: event.number))

    def role(self, login: str) -> str:
        """The person's role in the repository; empty for somebody unknown."""
        what = f"say which role {login} has"
        path = f"/collaborators/{quote(login, safe='')}/permission"
        asked = ApiRequest("GET", path, what, "metadata: read", missing_ok=True)
        content = self._api.ask(asked)
        return str(content.get("role_name") or "") if isinstance(content, dict) else ""

    def newest_push(self, repository: str, branch: str, *, upto: str) -> Push:
        """The newest push to a branch by the activity of its repository; empty if it tells of none.

        While that does not show the commit `upto`, it is asked again after each of `PUSH_WAITS`.
        """
        what = f"list the pushes to {branch}"
        query = {"ref": f"refs/heads/{branch}", "per_page": "1"}
        asked = ApiRequest("GET", "/activity", what, "contents: read", query=query)
        for wait in (*PUSH_WAITS, None):
            content = self._api.ask(asked._replace(repository=repository))
            with understood(what):
                found = shapes.push(content[0]) if content else Push()
            if found.after == upto or wait is None:
                break
            self._sleep(wait)
        return found

    def remove_label(self, pull_request: int, label: str) -> None:
        """Take a label off; nothing happens when it is gone."""
        path = f"/issues/{pull_request}/labels/{quote(label, safe='')}"
        what = f"take the label {label} off pull request {pull_request}"
        self._api.ask(ApiRequest("DELETE", path, what, self._needs.pulls, missing_ok=True))

    def check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """All check runs of this name on a commit, of whatever App, newest first."""
        what = f"list the check runs of {sha[:7]}"
        query = {"check_name": name, "filter": "all"}
        request = ApiRequest(
            "GET", f"/commits/{sha}/check-runs", what, self._needs.checks, query=query
        )
        with understood(what):
            found = [
                shapes.check_run(one)
                for page in self._api.pages(request)
                for one in page["check_runs"]
            ]
        return tuple(sorted(found, key=lambda run: -run.number))

    def last_commit(self, path: str, tip: str) -> str:
        """The last commit up to a tip that wrote a file; empty if none did."""
        query = {"path": path, "sha": tip, "per_page": "1"}
        what = f"find the commit that wrote {path} last"
        content = self._api.ask(ApiRequest("GET", "/commits", what, "contents: read", query=query))
        with understood(what):
            return str(content[0]["sha"]) if content else ""

    def written_check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """Those that were made or changed through this object, newest first."""
        found = [one for one in self._written.values() if (one.head_sha, one.name) == (sha, name)]
        return tuple(sorted(found, key=lambda run: -run.number))

    def create_check_run(self, sha: str, report: CheckReport) -> CheckRun:
        """Make a check run on a commit."""
        body = {**shapes.check_body(report), "head_sha": sha}
        return self._check_run("POST", "/check-runs", f"take a check run on {sha[:7]}", body)

    def update_check_run(self, check_run: int, report: CheckReport) -> CheckRun:
        """Replace what a check run says; annotations are added."""
        path = f"/check-runs/{check_run}"
        return self._check_run("PATCH", path, "change our check run", shapes.check_body(report))

    def _comment(self, verb: str, path: str, what: str, body: str) -> Comment:
        content = self._api.ask(ApiRequest(verb, path, what, self._needs.pulls, {"body": body}))
        with understood(what):
            return shapes.comment(content)

    def _check_run(self, verb: str, path: str, what: str, body: dict[str, Any]) -> CheckRun:
        content = self._api.ask(ApiRequest(verb, path, what, self._needs.checks, body))
        with understood(what):
            run = shapes.check_run(content)
        self._written[run.number] = run
        self._viewer = self._viewer or (f"{run.app}[bot]" if run.app else "")
        return run
