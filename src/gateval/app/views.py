"""Every view of a report, by the name that `gateval report --format` gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateval.domain.report import Report
from gateval.render.comment import render_comment
from gateval.render.junit import render_junit
from gateval.render.stage import dump
from gateval.render.terminal import render_summary

VIEWS: Mapping[str, Callable[[Report], str]] = {
    "summary": render_summary,
    "comment": render_comment,
    "junit": render_junit,
    "decision": lambda report: dump(report.decision),
    "results": lambda report: dump(report.results),
}


def all_views(report: Report) -> dict[str, str]:
    """Return the text of every view."""
    return {name: view(report) for name, view in VIEWS.items()}
