"""The verbs of `ports.repository_labels.RepositoryLabels` over GitHub's REST API."""

from __future__ import annotations

from urllib.parse import quote

from gateval.adapters.github.access import GitHubAccess
from gateval.adapters.github.transport import ApiRequest, GitHubTransport
from gateval.adapters.github.waiting import RetryLimits


class GitHubLabels:
    """Fulfils `ports.repository_labels.RepositoryLabels` on GitHub, GHES or ghe.com."""

    def __init__(self, access: GitHubAccess, limits: RetryLimits | None = None) -> None:
        self._api = GitHubTransport(access, limits or RetryLimits())

    def has_label(self, name: str) -> bool:
        """Whether there is a label of this name; GitHub ignores case."""
        path, what = f"/labels/{quote(name, safe='')}", f"say whether there is a label {name}"
        asked = ApiRequest("GET", path, what, "pull-requests: read", missing_ok=True)
        return self._api.ask(asked) is not None

    def make_label(self, name: str, *, color: str, description: str) -> None:
        """Make a label."""
        body = {"name": name, "color": color, "description": description}
        what = f"make the label {name}"
        self._api.ask(ApiRequest("POST", "/labels", what, "issues: write", body))
