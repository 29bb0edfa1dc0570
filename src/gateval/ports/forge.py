"""A repository on a forge, part by part: who needs one part asks for no other.

The values are loaded by who makes or reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gateval.domain.forge.check_run import Annotation, CheckReport, CheckRun
    from gateval.domain.forge.trigger import Artifact, Comment, PullRequest, WorkflowRun
    from gateval.domain.labels import LabelEvent, Push
    from gateval.domain.text import Safe


class Viewer(Protocol):
    """Who we are on the forge."""

    def viewer(self) -> str:
        """The login under which we write, e.g. `github-actions[bot]`. Asked for once."""


class PullRequests(Protocol):
    """The pull requests of one repository. Every method of a forge raises `ForgeError`."""

    def pull_request(self, number: int) -> PullRequest:
        """The pull request as it is now. Raises `NotOnForge` when there is none."""


class Comments(Viewer, Protocol):
    """The comments on the pull requests of one repository. Comments are named by their number."""

    def comments(self, pull_request: int) -> tuple[Comment, ...]:
        """All comments of a pull request, oldest first."""

    def create_comment(self, pull_request: int, body: Safe) -> Comment:
        """Write a new comment."""

    def update_comment(self, comment: int, body: Safe) -> Comment:
        """Replace the body of a comment."""

    def delete_comment(self, comment: int) -> None:
        """Delete a comment; nothing happens when it is gone."""


class LabelSource(Protocol):
    """The labels on pull requests, and what tells whose they are and for which head."""

    def label_events(self, pull_request: int) -> tuple[LabelEvent, ...]:
        """Every time a label was put on a pull request or taken off, oldest first."""

    def role(self, login: str) -> str:
        """The person's role in the repository, custom ones included; empty for none."""

    def newest_push(self, repository: str, branch: str, *, upto: str) -> Push:
        """The newest push to a branch of `owner/name` that the forge tells of; empty for none.

        Pushes may be told late: one to the commit `upto` is waited for, some seconds.
        """

    def remove_label(self, pull_request: int, label: str) -> None:
        """Take a label off; nothing happens when it is gone."""


class CheckRuns(Viewer, Protocol):
    """The check runs of one repository. They are named by their number."""

    def check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """All check runs of this name on a commit, of whatever App, newest first."""

    def written_check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """Those among them that were made or changed through this object, as they were then.

        Costs no request, so it is what is left where the list cannot be had.
        """

    def annotations(self, check_run: int) -> tuple[Annotation, ...]:
        """The annotations of a check run, in the order in which they were made."""

    def create_check_run(self, sha: str, report: CheckReport) -> CheckRun:
        """Make a check run on a commit."""

    def update_check_run(self, check_run: int, report: CheckReport) -> CheckRun:
        """Replace what a check run says; annotations are added. A completed one stays completed.

        Raises `ForgeError` for a check run of another App.
        """


class WorkflowRuns(Protocol):
    """The runs of one repository's workflows. Only reads; every method raises `ForgeError`."""

    def workflow_run(self, number: int) -> WorkflowRun:
        """A run by its id. Raises `NotOnForge` when there is none."""

    def artifacts(self, run: int, name: str) -> tuple[Artifact, ...]:
        """What a run uploaded under this name, of all its attempts that are left."""

    def artifact_file(self, artifact: Artifact, name: str, *, limit: int) -> bytes | None:
        """The file of this name in an artifact; None if there is none of at most `limit` bytes."""


class Forge(PullRequests, Comments, LabelSource, CheckRuns, WorkflowRuns, Protocol):
    """A repository on GitHub, read and written through its API.

    Waits and retries happen inside: rate limits and outages are errors only after all retries.
    """

    def last_commit(self, path: str, tip: str) -> str:
        """The last commit up to a tip that wrote a file; empty if none did."""
