"""The files of a run, written beside each other into its results folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from gateval.domain.report import Report
from gateval.render.comment import render_comment
from gateval.render.junit import render_junit
from gateval.render.stage import dump
from gateval.render.terminal import render_summary

RESULTS_FILE = "results.v1.json"

VIEWS: Mapping[str, Callable[[Report], str]] = {
    "results": lambda report: dump(report.results),
    "comment": render_comment,
    "junit": render_junit,
    "summary": render_summary,
    "decision": lambda report: dump(report.decision),
}
"""Every view of a report, by the name that `gateval report --format` gives it."""

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


def publish_local(report: Report, folder: Folder) -> None:
    """Write every view of the report into the folder."""
    for view, name in FILES.items():
        folder.write(name, VIEWS[view](report).encode())
