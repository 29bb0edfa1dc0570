"""The labels on pull requests."""

from __future__ import annotations

from typing import Protocol

from gateval.domain.labels.facts import LabelEvent, Push


class Labels(Protocol):
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
