"""The reasons that come from money and time: what rose, and a budget that was used up. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.decision.measured_reasons import passes_before_and_now
from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.manifests.policy.words import RegressionPolicy, RiseEffect
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import Comparison, EvalComparison, FixtureChange
from gateval.domain.results.rises import Measure, Rise
from gateval.domain.text.figures import show_ratio
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode, reason_of

_CODES = {Measure.COST: ReasonCode.COST, Measure.LATENCY: ReasonCode.LATENCY}
SPENDING_CODES = (*_CODES.values(), ReasonCode.BUDGET)

_WHAT = {Measure.COST: "an answer costs", Measure.LATENCY: "an answer takes"}


def rise_reasons(comparison: Comparison, policy: Policy) -> Iterator[DecisionReason]:
    """Yield a reason for each cost and time that is over its limit.

    It counts as over when its whole interval is. What has a limit that blocks and cannot be
    compared keeps the gate from passing.
    """
    for rise in comparison.rises:
        rule = policy.cost if rise.measure is Measure.COST else policy.latency
        limit, blocks = rule.max_ratio, rule.over is RiseEffect.BLOCK
        if limit is None:
            continue
        if rise.over(limit):
            verdict = GateVerdict.FAIL if blocks else GateVerdict.PASS
            yield _reason(rise, verdict, f"{_risen(rise)}, over the {limit:g} of {_key(rise)}")
        elif rise.unknown:
            verdict = GateVerdict.INCONCLUSIVE if blocks else GateVerdict.PASS
            text = f"its {rise.measure} cannot be held against base: {rise.unknown}"
            yield _reason(rise, verdict, text)
        elif rise.ratio and rise.ratio.low is None and rise.ratio.mean > limit:
            text = f"{_risen(rise)}, which one fixture alone does not prove ({_key(rise)})"
            yield _reason(rise, GateVerdict.PASS, text)


def _risen(rise: Rise) -> str:
    assert rise.ratio is not None  # noqa: S101 - asked before
    low, high = rise.ratio.low, rise.ratio.high
    between = "" if low is None or high is None else f" ({show_ratio(low)} to {show_ratio(high)})"
    return f"{_WHAT[rise.measure]} {show_ratio(rise.ratio.mean)} times what it did on base{between}"


def _key(rise: Rise) -> str:
    return f"policy.{rise.measure}.maxRatio"


def _reason(rise: Rise, verdict: GateVerdict, text: str) -> DecisionReason:
    return reason_of(verdict, _CODES[rise.measure], f"{rise.eval}: {text}", rise.eval)


_LEFT = "and the budget of the run (policy.budget) leaves nothing to look again"


def budget_reasons(
    planned: PlannedEval, compared: EvalComparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield what looked worse and could not be looked at again: the run is incomplete.

    Where regressions decide nothing, neither does this.
    """
    if policy.regressions is not RegressionPolicy.BLOCK:
        return
    verdict = GateVerdict.INCOMPLETE
    own = {fixture.name for fixture in planned.own_fixtures}
    for fixture in compared.fixtures:
        if fixture.cut and fixture.fixture in own and not fixture.no_answer:
            text = f"{fixture.fixture} looks worse: {passes_before_and_now(fixture)}, {_LEFT}"
            yield reason_of(verdict, ReasonCode.BUDGET, text, compared.eval, fixture.fixture)
    settled = any(one.change is FixtureChange.REGRESSED for one in compared.fixtures)
    if compared.cut and not settled:
        text = f"{compared.eval} looks worse as a whole, {_LEFT}"
        yield reason_of(verdict, ReasonCode.BUDGET, text, compared.eval)
