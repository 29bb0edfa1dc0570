"""Every view of a report, by the name that `gateval report --format` gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateval.adapters.screen import Screen
from gateval.domain.decision.report import Report, make_report
from gateval.domain.plan.plan import Plan, Revision
from gateval.domain.results.results import Results
from gateval.render.comment.comment import render_comment
from gateval.render.files.junit import render_junit
from gateval.render.files.stage import dump
from gateval.render.terminal.summary import render_summary

VIEWS: Mapping[str, Callable[[Report], str]] = {
    "summary": render_summary,
    "comment": render_comment,
    "junit": render_junit,
    "decision": lambda report: dump(report.decision),
    "results": lambda report: dump(report.results, indent=None),
}


def all_views(report: Report) -> dict[str, str]:
    """Return the text of every view."""
    return {name: view(report) for name, view in VIEWS.items()}


def summary_for(report: Report, screen: Screen) -> str:
    """Return the summary laid out for a screen."""
    return render_summary(report, width=screen.width, color=screen.color)


def warm_up() -> None:
    """Do the slow part of a first view beforehand: import libraries, compile templates."""
    all_views(make_report(Results(plan=_EMPTY)))


_EMPTY = Plan(head=Revision(name="", commit=None, tree="0" * 40), nothing="Nothing to evaluate.")
