"""Tokens, and what each may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.servers.github.state.people import App, User

_LEVELS = {"none": 0, "read": 1, "write": 2, "admin": 3}


@dataclass(frozen=True)
class Token:
    """An installation token (`app` set, bound to one repository) or a person's."""

    value: str
    user: User
    app: App | None
    permissions: Mapping[str, str]
    repository: str | None

    def __post_init__(self) -> None:
        for name, level in self.permissions.items():
            if name not in PERMISSIONS or level not in _LEVELS:
                raise ValueError(f"a token cannot have {name}: {level}")

    def grants(self, needs: str) -> bool:
        """Say whether it covers `needs`, written as GitHub writes X-Accepted-GitHub-Permissions.

        Sets are separated by `;`, any one of them will do; the parts of a set by `,`.
        """
        return any(
            all(self._has(part.strip()) for part in alternative.split(","))
            for alternative in needs.split(";")
        )

    def _has(self, need: str) -> bool:
        name, _, level = need.partition("=")
        given = "read" if name == "metadata" else self.permissions.get(name, "none")
        return _LEVELS[given] >= _LEVELS[level]


PERMISSIONS = frozenset(
    {
        "actions",
        "administration",
        "checks",
        "contents",
        "issues",
        "metadata",
        "pull_requests",
        "statuses",
    }
)
