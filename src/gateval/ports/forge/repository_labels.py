"""The labels that a repository has, to be put on its pull requests."""

from __future__ import annotations

from typing import Protocol


class RepositoryLabels(Protocol):
    """The labels of one repository. Every method raises `ForgeError`."""

    def has_label(self, name: str) -> bool:
        """Whether there is a label of this name, in whatever case."""

    def make_label(self, name: str, *, color: str, description: str) -> None:
        """Make a label; `color` is six hexadecimal digits."""
