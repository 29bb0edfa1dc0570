"""Everything the views show, in one value: what ran, how it compares, and what follows."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.decision.decision import Decision, decide
from gateval.domain.decision.reasons import all_reasons
from gateval.domain.decision.sealed import Keyed, published, recorded_reasons, sealed_reasons
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import Comparison
from gateval.domain.results.doubts.claims import without_mere_claims
from gateval.domain.results.doubts.models import without_common_refusals
from gateval.domain.results.results import Results
from gateval.domain.results.sealing import result_parts
from gateval.domain.ruling import NO_RULINGS, Ruling, Rulings
from gateval.domain.verdicts import DecisionReason


class Report(NamedTuple):
    """Results with the comparison and the decision computed from them."""

    results: Results
    comparison: Comparison
    decision: Decision


def make_report(results: Results, rulings: Rulings = NO_RULINGS) -> Report:
    """Compare and decide. The same results and labels always give the same report.

    Who accepted a lower bar is kept in the plan: it is part of what was asked of the change. What
    is sealed is decided apart from the rest, and what was decided of it before stays.
    """
    if rulings.bar is not None:
        results = _accepting(results, accepted_by(rulings.bar))
    results, comparison, reasons = _decided(results)
    return Report(results, comparison, decide(results, reasons, rulings))


def publishable(report: Report, keyed: Keyed = lambda _: "", *, rates: bool = True) -> Results:
    """Return the results of a report as everybody may see them, with what is sealed decided.

    `keyed` gives digests with the gate's key. Without `rates`, verdicts alone are told.
    """
    if not kept_apart(report.results.plan):
        return report.results
    *_, reasons = _decided(_accepting(report.results, ""))
    *_, accepted = _decided(_accepting(report.results, "somebody"))
    return published(report.results, reasons, accepted, keyed, rates=rates)


def _decided(results: Results) -> tuple[Results, Comparison, list[DecisionReason]]:
    """Return the results as they count, how they compare, and every reason, part by part."""
    (first, beside), *others = result_parts(results)
    first = without_common_refusals(without_mere_claims(first))
    comparison = compare(first, beside)
    reasons = [*all_reasons(first, comparison, first.plan.policy), *recorded_reasons(results)]
    if not others:
        return first, comparison, reasons
    ((shut, beside),) = others
    shut = without_common_refusals(without_mere_claims(shut))
    held = compare(shut, beside)
    names = {one.name for one in shut.plan.evals}
    reasons += sealed_reasons(shut, held, names)
    by_name = {one.eval: one for one in (*comparison.evals, *held.evals)}
    trials = sorted((*first.trials, *shut.trials), key=lambda one: one.key.order)
    both = {
        "evals": tuple(by_name[one.name] for one in results.plan.evals),
        "rises": (*comparison.rises, *held.rises),
    }
    whole = results.model_copy(update={"trials": tuple(trials)})
    return whole, comparison.model_copy(update=both), reasons


def _accepting(results: Results, who: str) -> Results:
    plan = results.plan.model_copy(update={"bar_accepted": who})
    return results.model_copy(update={"plan": plan})


def accepted_by(ruling: Ruling) -> str:
    """Return who accepted a lower bar, and how."""
    return f"{ruling.use.by.login} ({ruling.use.by.role}) with the label {ruling.label}"
