"""Who acts on GitHub: people, bots, apps; and what roles in a repository allow."""

from __future__ import annotations

from dataclasses import dataclass

LEGACY = {
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
    "none": "none",
}
"""Role → the coarse `permission` that the API still reports beside `role_name`."""

_ORDER = ["none", "read", "triage", "write", "maintain", "admin"]


@dataclass(frozen=True)
class User:
    """An account; `type` is User, Bot or Organization."""

    login: str
    id: int
    type: str = "User"


@dataclass(frozen=True)
class App:
    """A GitHub App. What it does through the API is done by its bot."""

    id: int
    slug: str
    name: str
    owner: User
    bot: User


@dataclass(frozen=True)
class Role:
    """A role in a repository; a custom one has its own name and stands on one of GitHub's five."""

    name: str
    base: str

    @classmethod
    def named(cls, name: str, base: str | None = None) -> Role:
        """Return GitHub's role `name`, or the custom role `name` on top of `base`."""
        built_in = base or name
        if built_in not in LEGACY:
            raise ValueError(f"{built_in!r} is no role of GitHub's; a custom role needs a base")
        return cls(name, built_in)

    def reaches(self, base: str) -> bool:
        """Say whether this role may do what `base` may."""
        return _ORDER.index(self.base) >= _ORDER.index(base)


NO_ROLE = Role("none", "none")
READER = Role("read", "read")
GITHUB_ACTIONS = App(
    15368,
    "github-actions",
    "GitHub Actions",
    User("github", 9919, "Organization"),
    User("github-actions[bot]", 41898282, "Bot"),
)
"""The app whose installation token a workflow gets as GITHUB_TOKEN."""
