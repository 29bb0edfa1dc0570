"""What a person asks GitHub from a terminal: as whom, and which labels a repository has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gateval.domain.forge.trigger import REPOSITORY_NAME
from gateval.domain.label_decision import GateLabel
from gateval.domain.setup.diagnosis import Health, HealthCheck

if TYPE_CHECKING:
    from gateval.adapters.github.forge import GitHubGuards
    from gateval.adapters.github.transport import GitHubAccess

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN", "INPUT_TOKEN")
NOT_SEEN = "what the token may do, and whether the check is required, cannot be seen"
NAME_IT = "Write it as OWNER/NAME: gateval doctor --repository OWNER/NAME."


def access_to(
    environ: Mapping[str, str], name: str | None, origin: tuple[str, str] | None
) -> GitHubAccess | HealthCheck:
    """Return where and as whom to ask, or what keeps us from asking."""
    from gateval.adapters.github.transport import access_in

    chosen = name or environ.get("GITHUB_REPOSITORY") or (origin[1] if origin else "")
    if not chosen:
        return HealthCheck(Health.UNKNOWN, "GitHub", f"No repository: {NOT_SEEN}.", NAME_IT)
    if not re.fullmatch(REPOSITORY_NAME, chosen):
        seen = f'"{chosen}" is no repository on GitHub.'
        return HealthCheck(Health.PROBLEM, "GitHub", seen, NAME_IT)
    token = next((environ[one] for one in TOKENS if environ.get(one)), "")
    if not token:
        todo = "Set GITHUB_TOKEN or GH_TOKEN, e.g. GH_TOKEN=$(gh auth token) gateval doctor."
        return HealthCheck(Health.UNKNOWN, "GitHub", f"No token: {NOT_SEEN}.", todo)
    try:
        return access_in(environ, chosen, token)
    except ValueError as error:
        return HealthCheck(Health.PROBLEM, "GitHub", f"{chosen} cannot be asked about: {error}.")


def guards_of(access: GitHubAccess) -> GitHubGuards:
    """Return what is asked, for a person who waits so long and no longer."""
    from gateval.adapters.github.forge import GitHubGuards
    from gateval.adapters.github.transport import RetryLimits

    return GitHubGuards(access, RetryLimits(total_seconds=20, attempts=2, limit_wait=10))


def labels_missing(labels: GitHubGuards) -> tuple[GateLabel, ...]:
    """Return the gate's labels that the repository lacks. Raises `ForgeError`."""
    return tuple(label for label in GateLabel if not labels.has_label(label))
