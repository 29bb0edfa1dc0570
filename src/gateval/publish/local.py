"""The files of a run, written beside each other into its results folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

RESULTS_FILE = "results.v1.json"

FILES = {
    "results": RESULTS_FILE,
    "comment": "comment.md",
    "junit": "junit.xml",
    "summary": "summary.txt",
    "decision": "decision.v1.json",
}
"""The file of each view, in the order of writing: the decision last, as the seal."""


class Folder(Protocol):
    """Where files go. `write` replaces a file at once or not at all."""

    def write(self, name: str, content: bytes) -> Path:
        """Write one file and return its path."""


def publish_local(views: Mapping[str, str], folder: Folder) -> None:
    """Write the text of every view, by its name in `FILES`, into the folder."""
    for view, name in FILES.items():
        folder.write(name, views[view].encode())
