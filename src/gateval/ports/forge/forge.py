"""All that we read and write on a forge while a gate runs."""

from __future__ import annotations

from typing import Protocol

from gateval.ports.forge.check_runs import CheckRuns
from gateval.ports.forge.comments import Comments
from gateval.ports.forge.labels import Labels
from gateval.ports.forge.pull_requests import PullRequests
from gateval.ports.forge.workflow_runs import WorkflowRuns


class Forge(PullRequests, Comments, Labels, CheckRuns, Protocol):
    """A repository on GitHub, read and written through its API.

    Waits and retries happen inside: rate limits and outages are errors only after all retries.
    """

    @property
    def runs(self) -> WorkflowRuns:
        """The runs of its workflows, and what they uploaded."""
