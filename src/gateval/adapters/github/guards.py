"""The verbs of `ports.branch_guards.BranchGuards` over GitHub's REST API. Nothing here writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from gateval.adapters.github.access import GitHubAccess
from gateval.adapters.github.shapes import understood
from gateval.adapters.github.transport import ApiRequest, GitHubTransport
from gateval.adapters.github.waiting import RetryLimits
from gateval.domain.setup.diagnosis import RequiredCheck
from gateval.domain.setup.played import PlayedPull

_REQUIRED = "required_status_checks"


class GitHubGuards:
    """Fulfils `ports.branch_guards.BranchGuards` for one repository on GitHub, GHES or ghe.com."""

    def __init__(
        self,
        access: GitHubAccess,
        limits: RetryLimits | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = GitHubTransport(access, limits or RetryLimits(), sleep=sleep)

    def default_branch(self) -> str:
        """The name of the default branch."""
        what = "describe the repository"
        content = self._api.ask(ApiRequest("GET", "", what, "metadata: read"))
        with understood(what):
            return str(content["default_branch"])

    def required_checks(self, branch: str) -> frozenset[RequiredCheck]:
        """The checks that rulesets and classic protection require; both count.

        Classic protection itself is for administrators; its checks also stand in the branch.
        """
        what = f"list the rules of {branch}"
        path = quote(branch, safe="")
        one = self._api.ask(ApiRequest("GET", f"/branches/{path}", what, "contents: read"))
        rules = self._api.pages(
            ApiRequest("GET", f"/rules/branches/{path}", what, "metadata: read")
        )
        with understood(what):
            found = {rule for page in rules for rule in _ruled(page)}
            return frozenset(found | set(_protected(one)))

    def rules(self, branch: str) -> frozenset[str]:
        """The types of the rules that active rulesets set for a branch; it need not exist."""
        what = f"list the rules of {branch}"
        path = f"/rules/branches/{quote(branch, safe='')}"
        with understood(what):
            pages = self._api.pages(ApiRequest("GET", path, what, "metadata: read"))
            return frozenset(str(rule["type"]) for page in pages for rule in page)

    def played_pull(self, number: int) -> PlayedPull:
        """A pull request with its changed files and the newest checks on its head."""
        what = f"show pull request {number}"
        pulls = "pull-requests: read"
        content = self._api.ask(ApiRequest("GET", f"/pulls/{number}", what, pulls))
        files = self._api.pages(ApiRequest("GET", f"/pulls/{number}/files", what, pulls))
        with understood(what):
            head, base = content["head"], content["base"]
            paths = [str(one["filename"]) for page in files for one in page]
            theirs = head["repo"]["full_name"] if head.get("repo") else None
            return PlayedPull(
                number=number,
                open=content["state"] == "open",
                draft=bool(content.get("draft")),
                author=str((content.get("user") or {}).get("login") or "ghost"),
                head=str(head["sha"]),
                branch=str(head["ref"]),
                base=str(base["ref"]),
                fork=theirs != base["repo"]["full_name"],
                labels=tuple(str(one["name"]) for one in content["labels"]),
                files=tuple(paths),
                conflicts=None if content.get("mergeable") is None else not content["mergeable"],
                checks=self._checks(str(head["sha"])),
            )

    def _checks(self, sha: str) -> tuple[tuple[str, str], ...]:
        """The conclusions of the newest check run of each name on a commit."""
        what = "list check runs"
        asked = ApiRequest("GET", f"/commits/{sha}/check-runs", what, "checks: read")
        with understood(what):
            runs = [one for page in self._api.pages(asked) for one in page["check_runs"]]
            runs.sort(key=lambda one: int(one["id"]))
            return tuple({str(one["name"]): str(one["conclusion"] or "") for one in runs}.items())

    def read_pull_requests(self) -> None:
        """Read one page of pull requests, to see whether this token may."""
        query = {"per_page": "1"}
        what = "list pull requests"
        self._api.ask(ApiRequest("GET", "/pulls", what, "pull-requests: read", query=query))

    def read_check_runs(self, ref: str) -> None:
        """Read one page of a commit's check runs, to see whether this token may."""
        path = f"/commits/{quote(ref, safe='')}/check-runs"
        query = {"per_page": "1"}
        self._api.ask(ApiRequest("GET", path, "list check runs", "checks: read", query=query))


def _ruled(rules: list[Mapping[str, Any]]) -> Iterator[RequiredCheck]:
    for rule in rules:
        if rule["type"] == _REQUIRED:
            for check in rule["parameters"][_REQUIRED]:
                yield RequiredCheck(str(check["context"]), _app(check.get("integration_id")))


def _protected(branch: Mapping[str, Any]) -> Iterator[RequiredCheck]:
    """The checks of classic protection; old servers only name them."""
    required = branch.get("protection", {}).get(_REQUIRED) or {}
    told = {
        str(check["context"]): _app(check.get("app_id")) for check in required.get("checks", ())
    }
    for name in (*told, *(str(one) for one in required.get("contexts", ()) if one not in told)):
        yield RequiredCheck(name, told.get(name))


def _app(given: Any) -> int | None:
    """Return who has to write a check; GitHub says -1 for anybody, too."""
    return given if isinstance(given, int) and given > 0 else None
