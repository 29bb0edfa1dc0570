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

    def required_checks(self, branch: str) -> frozenset[str]:
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


def _ruled(rules: list[Mapping[str, Any]]) -> Iterator[str]:
    for rule in rules:
        if rule["type"] == _REQUIRED:
            yield from (str(check["context"]) for check in rule["parameters"][_REQUIRED])


def _protected(branch: Mapping[str, Any]) -> Iterator[str]:
    required = branch.get("protection", {}).get(_REQUIRED) or {}
    yield from (str(name) for name in required.get("contexts", ()))
