"""The outputs of the action's step, as texts by their names in `action.yml`."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.domain.decision.report import Report
from gateval.domain.results.comparison import FixtureChange

UNVERIFIED = "unverified"
"""The output `verdict` of a claim: never what it claims, which a later step could believe."""


def report_outputs(report: Report, *, claimed: bool) -> Mapping[str, str]:
    """Return what is known from the report: verdict, score, regressions."""
    scores = [compared.head.low for compared in report.comparison.evals]
    regressed = [
        fixture
        for compared in report.comparison.evals
        for fixture in compared.fixtures
        if fixture.change is FixtureChange.REGRESSED
    ]
    return {
        "verdict": UNVERIFIED if claimed else report.decision.verdict.value,
        "score": f"{min(scores):.4f}" if scores else "",
        "regressions": str(len(regressed)),
    }
