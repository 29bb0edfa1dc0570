"""Everything the views show, in one value: what ran, how it compares, and what follows."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.decision.decision import Decision, decide
from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import Comparison
from gateval.domain.results.doubts.claims import without_mere_claims
from gateval.domain.results.doubts.models import without_common_refusals
from gateval.domain.results.results import Results
from gateval.domain.ruling import NO_RULINGS, Ruling, Rulings


class Report(NamedTuple):
    """Results with the comparison and the decision computed from them."""

    results: Results
    comparison: Comparison
    decision: Decision


def make_report(results: Results, rulings: Rulings = NO_RULINGS) -> Report:
    """Compare and decide. The same results and labels always give the same report.

    Who accepted a lower bar is kept in the plan: it is part of what was asked of the change.
    """
    results = without_common_refusals(without_mere_claims(results))
    comparison = compare(results)
    if rulings.bar is not None:
        plan = results.plan.model_copy(update={"bar_accepted": accepted_by(rulings.bar)})
        results = results.model_copy(update={"plan": plan})
    return Report(results, comparison, decide(results, comparison, results.plan.policy, rulings))


def accepted_by(ruling: Ruling) -> str:
    """Return who accepted a lower bar, and how."""
    return f"{ruling.use.by.login} ({ruling.use.by.role}) with the label {ruling.label}"
