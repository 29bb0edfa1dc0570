"""What guards the branches of a repository on a forge."""

from __future__ import annotations

from typing import Protocol


class BranchGuards(Protocol):
    """What guards the branches of one repository, for who asks before a run. Only reads.

    Every method raises `ForgeError`; `MissingPermission` names what the token lacks.
    """

    def default_branch(self) -> str:
        """The name of the default branch."""

    def required_checks(self, branch: str) -> frozenset[str]:
        """The names of the checks that have to pass before anything is merged into a branch."""

    def rules(self, branch: str) -> frozenset[str]:
        """The types of the rules that rulesets set for a branch, such as `non_fast_forward`."""

    def read_pull_requests(self) -> None:
        """See whether pull requests may be read."""

    def read_check_runs(self, ref: str) -> None:
        """See whether the check runs of a commit, a branch's tip for instance, may be read."""
