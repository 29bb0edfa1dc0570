"""Everything the views show, in one value: what ran, how it compares, and what follows."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.comparison import Comparison, compare
from gateval.domain.decision import Decision, decide
from gateval.domain.results import Results


class Report(NamedTuple):
    """Results with the comparison and the decision computed from them."""

    results: Results
    comparison: Comparison
    decision: Decision


def make_report(results: Results) -> Report:
    """Compare and decide. The same results always give the same report."""
    comparison = compare(results)
    return Report(results, comparison, decide(results, comparison, results.plan.policy))
