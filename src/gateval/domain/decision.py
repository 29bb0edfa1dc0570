"""The gate's decision: a pure function of the comparison and the policy.

Precedence: fail > incomplete (planned trials missing) > inconclusive (a trial is `error` or
`skip`) > pass. An `error` is never a pass, and no policy lets a candidate's error pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from gateval.domain.base import Value
from gateval.domain.comparison import Change, Comparison, EvalComparison, FixtureComparison
from gateval.domain.manifests.gate_config import InconclusivePolicy, Policy, RegressionPolicy
from gateval.domain.results import Grouped, Results, group_trials
from gateval.domain.scoring import FixtureScore, Meets
from gateval.domain.trial import Cause, Outcome, Side, Trial
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS


class GateVerdict(StrEnum):
    """What the gate says."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    INCONCLUSIVE = "inconclusive"


PRECEDENCE = (
    GateVerdict.FAIL,
    GateVerdict.INCOMPLETE,
    GateVerdict.INCONCLUSIVE,
    GateVerdict.PASS,
)

EXIT_CODES = {
    GateVerdict.PASS: EXIT_PASS,
    GateVerdict.FAIL: EXIT_FAILED,
    GateVerdict.INCOMPLETE: EXIT_NOT_EVALUATED,
    GateVerdict.INCONCLUSIVE: EXIT_NOT_EVALUATED,
}


class ReasonCode(StrEnum):
    """What a reason of the decision is about, worst first."""

    NO_ANSWER = "no-answer"
    REGRESSION = "regression"
    BELOW_THRESHOLD = "below-threshold"
    MISSING_TRIALS = "missing-trials"
    CANDIDATE_ERROR = "candidate-error"
    PROVIDER_ERROR = "provider-error"
    JUDGE_ERROR = "judge-error"
    GATE_ERROR = "gate-error"
    BASELINE_ERROR = "baseline-error"
    SUSPECT = "suspect"
    NOTHING_TO_EVALUATE = "nothing-to-evaluate"


class DecisionReason(Value):
    """One reason: the verdict it asks for, and why. `pass` marks a warning that blocks nothing."""

    verdict: GateVerdict
    code: ReasonCode
    text: str
    eval: str = ""
    fixture: str = ""


class Decision(Value):
    """The decision with its ordered reasons, worst first."""

    version: Literal["decision.v1"] = "decision.v1"
    verdict: GateVerdict
    exit_code: int
    head: str
    reasons: tuple[DecisionReason, ...] = ()


def decide(results: Results, comparison: Comparison, policy: Policy) -> Decision:
    """Fold every reason into one verdict by precedence."""
    reasons = tuple(_all_reasons(results, comparison, policy))
    codes = list(ReasonCode)
    ordered = tuple(
        sorted(reasons, key=lambda r: (PRECEDENCE.index(r.verdict), codes.index(r.code)))
    )
    verdict = ordered[0].verdict if ordered else GateVerdict.PASS
    return Decision(
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
        head=results.plan.head.commit or results.plan.head.tree,
        reasons=ordered,
    )


def _all_reasons(
    results: Results, comparison: Comparison, policy: Policy
) -> Iterator[DecisionReason]:
    if results.plan.nothing:
        yield DecisionReason(
            verdict=GateVerdict.PASS,
            code=ReasonCode.NOTHING_TO_EVALUATE,
            text=results.plan.nothing,
        )
    trials = group_trials(results.trials)
    for compared in comparison.evals:
        yield from _eval_reasons(compared)
        for fixture in compared.fixtures:
            yield from _fixture_reasons(compared.eval, fixture, policy)
            yield from _unmeasured_reasons(compared, fixture, trials, policy)


def _eval_reasons(compared: EvalComparison) -> Iterator[DecisionReason]:
    if compared.head.meets is Meets.NO:
        score = show_score(compared.head.low, compared.head.high)
        yield DecisionReason(
            verdict=GateVerdict.FAIL,
            code=ReasonCode.BELOW_THRESHOLD,
            text=f"{compared.eval} scores {score}, below its threshold "
            f"{compared.head.threshold:.2f}",
            eval=compared.eval,
        )


def _fixture_reasons(
    name: str, fixture: FixtureComparison, policy: Policy
) -> Iterator[DecisionReason]:
    if fixture.base is None or fixture.change not in {Change.REGRESSED, Change.SUSPECT}:
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
    elif fixture.change is Change.REGRESSED and policy.regressions is not RegressionPolicy.OFF:
        blocks = policy.regressions is RegressionPolicy.BLOCK
        yield DecisionReason(
            verdict=GateVerdict.FAIL if blocks else GateVerdict.PASS,
            code=ReasonCode.REGRESSION,
            text=f"{fixture.fixture} regressed: base passed {show_passes(base)}, "
            f"head {show_passes(head)}",
            eval=name,
            fixture=fixture.fixture,
        )
    elif fixture.change is Change.SUSPECT and policy.regressions is not RegressionPolicy.OFF:
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


def show_score(low: float, high: float) -> str:
    """Return a score to two digits, or `0.40-0.60` when it is an interval."""
    return f"{low:.2f}" if abs(high - low) < 1e-9 else f"{low:.2f}\N{EN DASH}{high:.2f}"
