"""The sets of experiments in the terminal's summary."""

from __future__ import annotations

from gateval.domain.decision.report import Report
from gateval.render.report.scores.experiments import DOWN, UP, experiment_sets
from gateval.render.terminal.page import Page


def experiments(page: Page, report: Report) -> None:
    """Add each experiment with its scorers' averages, and the difference to before."""
    for found in experiment_sets(report):
        page.heading(f"Experiment: {found.name} ({found.against})")
        for line in found.lines:
            style = {UP: "green", DOWN: "red"}.get(line.change[:1], "")
            page.line(str(line), indent=2, style=style)
