"""The check runs of a repository on a forge."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.forge.check_run import CheckReport, CheckRun
from gateval.ports.forge.viewer import Viewer


class CheckRuns(Viewer, Protocol):
    """The check runs of one repository. They are named by their number."""

    def check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """All check runs of this name on a commit, of whatever App, newest first."""

    def create_check_run(self, sha: str, report: CheckReport) -> CheckRun:
        """Make a check run on a commit."""

    def update_check_run(self, check_run: int, report: CheckReport) -> CheckRun:
        """Replace what a check run says; annotations are added. A completed one stays completed.

        Raises `ForgeError` for a check run of another App.
        """
