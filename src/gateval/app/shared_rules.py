"""How this machine reads the rules that a gate config extends: with which token, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateval.domain.setup.authorities import CA_VARIABLE

if TYPE_CHECKING:
    from gateval.domain.manifests.policy.rules_source import RulesSource

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
"""Variables that hold a token on somebody's own machine."""

_ON_A_MACHINE = "Set GITHUB_TOKEN to one that may read that repository."


@dataclass(frozen=True)
class ForgeRules:
    """Fulfils `ports.sources.SharedRules`; GitHub's adapter is loaded when it is needed.

    `where` is the next step for somebody whose token is missing.
    """

    environ: Mapping[str, str] = field(repr=False)
    token: str = field(repr=False)
    where: str

    def read(self, source: RulesSource) -> bytes:
        """Return the file at that commit. Raises `ForgeError`."""
        from gateval.adapters.github.access import PUBLIC_API
        from gateval.adapters.github.shared_rules import GitHubRules

        url = self.environ.get("GITHUB_API_URL") or PUBLIC_API
        trusted = self.environ.get(CA_VARIABLE, "")
        return GitHubRules(self.token, url, where=self.where, ca_file=trusted).read(source)


def rules_here(environ: Mapping[str, str]) -> ForgeRules:
    """Return how the command line reads them."""
    token = next((environ[name] for name in TOKENS if environ.get(name)), "")
    return ForgeRules(environ, token.strip(), _ON_A_MACHINE)
