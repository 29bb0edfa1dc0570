"""Where finished trials go."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.trials.trial import Trial


class TrialLog(Protocol):
    """Where each finished trial goes at once, so that a crash loses only what was under way."""

    def append(self, trial: Trial) -> None:
        """Store one trial; on return it is with the operating system."""
