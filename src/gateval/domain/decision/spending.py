"""The reasons that come from a budget that was used up. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.decision.measured_reasons import passes_before_and_now
from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.manifests.policy.words import RegressionPolicy
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import EvalComparison, FixtureChange
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode

_LEFT = "and the budget of the run (policy.budget) leaves nothing to look again"


def budget_reasons(
    planned: PlannedEval, compared: EvalComparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield what looked worse and could not be looked at again: nobody knows, so it is no pass.

    Where regressions decide nothing, neither does this.
    """
    if policy.regressions is not RegressionPolicy.BLOCK:
        return
    own = {fixture.name for fixture in planned.own_fixtures}
    for fixture in compared.fixtures:
        if fixture.cut and fixture.fixture in own and not fixture.no_answer:
            text = f"{fixture.fixture} looks worse: {passes_before_and_now(fixture)}, {_LEFT}"
            yield _reason(compared.eval, text, fixture.fixture)
    settled = any(one.change is FixtureChange.REGRESSED for one in compared.fixtures)
    if compared.cut and not settled:
        yield _reason(compared.eval, f"{compared.eval} looks worse as a whole, {_LEFT}", "")


def _reason(evaluation: str, text: str, fixture: str) -> DecisionReason:
    return DecisionReason(
        verdict=GateVerdict.INCONCLUSIVE,
        code=ReasonCode.BUDGET,
        text=text,
        eval=evaluation,
        fixture=fixture,
    )
