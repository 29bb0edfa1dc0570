"""The addresses that GitHub puts into its answers."""

from __future__ import annotations

from dataclasses import dataclass

from tests.servers.github.state.repository import Repository


@dataclass(frozen=True)
class Links:
    """`api` is what GITHUB_API_URL says, `html` what GITHUB_SERVER_URL says."""

    api: str
    html: str

    def repo(self, repo: Repository) -> str:
        """The repository in the API."""
        return f"{self.api}/repos/{repo.full_name}"

    def page(self, repo: Repository) -> str:
        """The repository in the browser."""
        return f"{self.html}/{repo.full_name}"


def node_id(kind: str, number: int | str) -> str:
    """Return the opaque name that GraphQL would use."""
    return f"{kind}_{number}"
