"""Every reason that speaks for or against a pass, from the comparison and the policy. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.manifests.gate_config import InconclusivePolicy, Policy, RegressionPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import (
    Comparison,
    EvalComparison,
    FixtureChange,
    FixtureComparison,
)
from gateval.domain.results.results import Grouped, Results, group_trials
from gateval.domain.results.scoring import FixtureScore, Meets
from gateval.domain.text.figures import show_score, show_threshold
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode


def all_reasons(
    results: Results, comparison: Comparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield every reason, each with the verdict it asks for, in no particular order."""
    if results.plan.nothing:
        yield DecisionReason(
            verdict=GateVerdict.PASS,
            code=ReasonCode.NOTHING_TO_EVALUATE,
            text=results.plan.nothing,
        )
    trials = group_trials(results.trials)
    for compared in comparison.evals:
        planned = results.plan.eval(compared.eval)
        found = _reasons_of(planned, compared, trials, policy)
        yield from found if planned.bar is None else _bar_reasons(results.plan, compared, found)
    yield from _lost_reasons(results.plan)
    yield from _doubt_reasons(results.plan)


def _reasons_of(
    planned: PlannedEval, compared: EvalComparison, trials: Grouped, policy: Policy
) -> Iterator[DecisionReason]:
    yield from _eval_reasons(compared)
    own = {fixture.name for fixture in planned.own_fixtures}
    for fixture in compared.fixtures:
        if fixture.fixture in own:
            yield from _fixture_reasons(compared.eval, fixture, policy)
            yield from _unmeasured_reasons(compared, fixture, trials, policy)


def _bar_reasons(
    plan: Plan, compared: EvalComparison, found: Iterator[DecisionReason]
) -> Iterator[DecisionReason]:
    """The reasons of a base tip's Eval: they bind until somebody who may accepts the lower bar."""
    reasons = [
        reason.model_copy(update={"code": ReasonCode.LOWERED_BAR})
        if reason.code is ReasonCode.BELOW_THRESHOLD
        else reason
        for reason in found
    ]
    if compared.head.meets is Meets.UNKNOWN and not any(
        reason.verdict is not GateVerdict.PASS for reason in reasons
    ):
        score = show_score(compared.head.low, compared.head.high)
        text = f"{compared.eval} is not fully measured ({score})"
        reasons.append(_reason(GateVerdict.INCONCLUSIVE, ReasonCode.BAR_UNMEASURED, text, compared))
    for reason in reasons:
        yield _accepted(plan, reason)


def _lost_reasons(plan: Plan) -> Iterator[DecisionReason]:
    for lost in plan.lost:
        reason = DecisionReason(
            verdict=GateVerdict.FAIL, code=ReasonCode.LOWERED_BAR, text=str(lost)
        )
        yield _accepted(plan, reason)


def _doubt_reasons(plan: Plan) -> Iterator[DecisionReason]:
    """What cannot be read may ask more than was measured, so this is no pass."""
    for doubt in plan.doubts:
        reason = DecisionReason(
            verdict=GateVerdict.INCOMPLETE, code=ReasonCode.BAR_UNREADABLE, text=str(doubt)
        )
        yield _accepted(plan, reason)


def _accepted(plan: Plan, reason: DecisionReason) -> DecisionReason:
    if not plan.bar_accepted:
        return reason
    text = f"{reason.text}; accepted by {plan.bar_accepted}"
    return reason.model_copy(update={"verdict": GateVerdict.PASS, "text": text})


def _reason(
    verdict: GateVerdict, code: ReasonCode, text: str, compared: EvalComparison
) -> DecisionReason:
    return DecisionReason(verdict=verdict, code=code, text=text, eval=compared.eval)


def _eval_reasons(compared: EvalComparison) -> Iterator[DecisionReason]:
    if compared.head.meets is Meets.NO:
        score = show_score(compared.head.low, compared.head.high)
        yield DecisionReason(
            verdict=GateVerdict.FAIL,
            code=ReasonCode.BELOW_THRESHOLD,
            text=f"{compared.eval} scores {score}, below its threshold "
            f"{show_threshold(compared.head.threshold)}",
            eval=compared.eval,
        )


def _fixture_reasons(
    name: str, fixture: FixtureComparison, policy: Policy
) -> Iterator[DecisionReason]:
    if fixture.base is None or fixture.change not in {
        FixtureChange.REGRESSED,
        FixtureChange.SUSPECT,
    }:
        return
    head, base = fixture.head, fixture.base
    if fixture.no_answer:
        yield DecisionReason(
            verdict=GateVerdict.FAIL,
            code=ReasonCode.NO_ANSWER,
            text=f"{fixture.fixture}: head does not answer; base does",
            eval=name,
            fixture=fixture.fixture,
        )
    elif (
        fixture.change is FixtureChange.REGRESSED and policy.regressions is not RegressionPolicy.OFF
    ):
        blocks = policy.regressions is RegressionPolicy.BLOCK
        yield DecisionReason(
            verdict=GateVerdict.FAIL if blocks else GateVerdict.PASS,
            code=ReasonCode.REGRESSION,
            text=f"{fixture.fixture} regressed: base passed {show_passes(base)}, "
            f"head {show_passes(head)}",
            eval=name,
            fixture=fixture.fixture,
        )
    elif fixture.change is FixtureChange.SUSPECT and policy.regressions is not RegressionPolicy.OFF:
        yield DecisionReason(
            verdict=GateVerdict.PASS,
            code=ReasonCode.SUSPECT,
            text=f"{fixture.fixture} looks worse: base passed {show_passes(base)}, "
            f"head {show_passes(head)}",
            eval=name,
            fixture=fixture.fixture,
        )


def _unmeasured_reasons(
    compared: EvalComparison, fixture: FixtureComparison, trials: Grouped, policy: Policy
) -> Iterator[DecisionReason]:
    """Everything that keeps this fixture from being fully measured, head first."""
    missing = fixture.head.missing
    if fixture.baseline_gap and fixture.base is not None:
        missing += fixture.base.missing
    if missing:
        noun = "trial" if missing == 1 else "trials"
        yield DecisionReason(
            verdict=GateVerdict.INCOMPLETE,
            code=ReasonCode.MISSING_TRIALS,
            text=f"{fixture.fixture}: {missing} planned {noun} did not run",
            eval=compared.eval,
            fixture=fixture.fixture,
        )
    if fixture.no_answer:
        return
    sides = (Side.HEAD, Side.BASE) if fixture.baseline_gap else (Side.HEAD,)
    lenient = may_pass_judge_errors(compared, fixture, policy)
    for side in sides:
        for trial in trials.get((compared.eval, fixture.fixture, side), ()):
            if trial.outcome in {Outcome.ERROR, Outcome.SKIP}:
                yield _unmeasured(trial, lenient=lenient)


def may_pass_judge_errors(
    compared: EvalComparison, fixture: FixtureComparison, policy: Policy
) -> bool:
    """Whether judge errors of this fixture only warn.

    Never when the verdict hangs on them: if the missing judgements, taken as failed, would put the
    Eval below its threshold or show a deterministic break, they keep the gate from passing.
    """
    return (
        policy.inconclusive is InconclusivePolicy.WARN
        and compared.head.meets is Meets.YES
        and not fixture.may_hide_break
    )


_CODES = {
    Cause.CANDIDATE: ReasonCode.CANDIDATE_ERROR,
    Cause.PROVIDER: ReasonCode.PROVIDER_ERROR,
    Cause.JUDGE: ReasonCode.JUDGE_ERROR,
    Cause.GATE: ReasonCode.GATE_ERROR,
}


def _unmeasured(trial: Trial, *, lenient: bool) -> DecisionReason:
    cause = trial.cause or Cause.GATE
    on_head = trial.key.side is Side.HEAD
    passes = lenient and cause is Cause.JUDGE
    return DecisionReason(
        verdict=GateVerdict.PASS if passes else GateVerdict.INCONCLUSIVE,
        code=_CODES[cause] if on_head else ReasonCode.BASELINE_ERROR,
        text=f"{trial.key.fixture} was not measured{'' if on_head else ' on base'} "
        f"({cause}): {trial.reason}",
        eval=trial.key.eval,
        fixture=trial.key.fixture,
    )


def show_passes(score: FixtureScore) -> str:
    """Return passes over planned repetitions, e.g. `2/3`."""
    return f"{score.passed}/{score.planned}"
