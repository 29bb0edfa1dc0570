"""What guards a branch: classic protection, rulesets, environments, as far as `doctor` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RequiredCheck:
    """A check that must pass; `app_id` None accepts it from anybody."""

    context: str
    app_id: int | None = None


@dataclass(frozen=True)
class Protection:
    """Classic branch protection."""

    checks: tuple[RequiredCheck, ...] = ()
    strict: bool = False
    enforce_admins: bool = False
    reviews: int = 0
    allow_force_pushes: bool = False
    allow_deletions: bool = False


@dataclass(frozen=True)
class Rule:
    """One rule of a ruleset, with its parameters as the API gives them."""

    type: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ruleset:
    """Rules for the branches named; an inactive one binds nobody."""

    id: int
    name: str
    branches: tuple[str, ...]
    rules: tuple[Rule, ...]
    active: bool = True


@dataclass(frozen=True)
class Environment:
    """A deployment environment; `reviewers` must approve a job before it gets the secrets."""

    id: int
    name: str
    created_at: str
    reviewers: tuple[str, ...] = ()
    protected_branches: bool = False
