"""Gate configs of other repositories, which ours extends."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.manifests.policy.rules_source import RulesSource


class SharedRules(Protocol):
    """Reads a file of another repository at one commit."""

    def read(self, source: RulesSource) -> bytes:
        """Return the file. Raises `GatevalError` when it cannot be had, whatever the reason."""
        ...
