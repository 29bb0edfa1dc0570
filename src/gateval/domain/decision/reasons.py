"""Every reason that speaks for or against a pass, from the comparison and the policy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gateval.domain.decision.evidence import evidence_reasons, model_reasons
from gateval.domain.decision.measured_reasons import (
    broad_reasons,
    failing_as_before,
    fixture_reasons,
    has_to_pass_alone,
    passes_alone,
    refused_words,
    score_reasons,
)
from gateval.domain.decision.spending import budget_reasons, rise_reasons
from gateval.domain.decision.unseen import dead_reasons, unanswered_reasons
from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.manifests.policy.words import InconclusivePolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.planning.files.locked import why_locked
from gateval.domain.results.comparison import Comparison, EvalComparison, FixtureComparison
from gateval.domain.results.grouping import Grouped, group_trials
from gateval.domain.results.results import Results
from gateval.domain.results.scoring import Meets
from gateval.domain.text.figures import show_score
from gateval.domain.trials.trial import Cause, Side, Trial
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode, reason_of

ACCEPTED = "; accepted by "
"""What stands in a reason before who accepted a lower bar."""


def all_reasons(
    results: Results, comparison: Comparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield every reason, each with the verdict it asks for, in no particular order."""
    if results.plan.nothing:
        yield reason_of(GateVerdict.PASS, ReasonCode.NOTHING_TO_EVALUATE, results.plan.nothing)
    trials = group_trials(results.trials)
    for compared in comparison.evals:
        planned = results.plan.eval(compared.eval)
        found = [_released(planned, one) for one in _reasons_of(planned, compared, trials, policy)]
        found += evidence_reasons(results, planned, trials)
        found += unanswered_reasons(results.plan, planned, compared, trials)
        found += _unknown_score(compared, found, planned.bar is not None)
        yield from (
            found if planned.bar is None else _bar_reasons(results.plan, found, planned.threshold)
        )
    for reason in model_reasons(results):
        yield _accepted(results.plan, reason)
    yield from rise_reasons(comparison, policy)
    yield from _lost_reasons(results.plan)
    yield from _doubt_reasons(results.plan)
    yield from _unclaimed_reasons(results.plan)
    for lacking in results.plan.lacking:
        text = str(lacking)
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.LACKING_CONTENT, text)
    yield from _left_out_reasons(results.plan)
    if over := results.info.over_budget:
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.BUDGET, over)
    yield from _plan_reasons(results.plan)


def _plan_reasons(plan: Plan) -> Iterator[DecisionReason]:
    """Yield what the plan knew before any trial ran."""
    if plan.rules_unread:
        unread = plan.rules_unread
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.RULES_UNREADABLE, unread)
    if spent := plan.budget_spent:
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.BUDGET, spent)
    if plan.fresh:
        yield reason_of(GateVerdict.PASS, ReasonCode.FRESH, plan.fresh)
    if plan.findings_lost:
        lost = plan.findings_lost
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.FINDINGS_LOST, lost)
    if plan.locked:
        locked = why_locked(plan.locked)
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.SEALED, locked)


def _released(planned: PlannedEval, reason: DecisionReason) -> DecisionReason:
    """A reason about a fixture in quarantine informs and does not block."""
    apart = planned.in_quarantine(reason.fixture)
    if apart is None or reason.verdict is GateVerdict.PASS:
        return reason
    text = f"{reason.text}; in quarantine until {apart.until} ({apart.owner})"
    return reason.model_copy(update={"verdict": GateVerdict.PASS, "text": text})


def _reasons_of(
    planned: PlannedEval, compared: EvalComparison, trials: Grouped, policy: Policy
) -> Iterator[DecisionReason]:
    yield from score_reasons(compared, policy)
    yield from broad_reasons(compared, policy)
    yield from dead_reasons(planned, compared, policy)
    own = {fixture.name for fixture in planned.own_fixtures}
    for fixture in compared.fixtures:
        if fixture.fixture in own:
            yield from fixture_reasons(planned, compared, fixture, policy)
            yield from _unmeasured_reasons(planned, compared, fixture, trials, policy)
    yield from failing_as_before(planned, compared)
    yield from budget_reasons(planned, compared, policy)


def _unknown_score(
    compared: EvalComparison,
    found: Sequence[DecisionReason],
    of_bar: bool,  # noqa: FBT001
) -> list[DecisionReason]:
    """A score that may or may not meet its threshold is no pass, if nothing else says so."""
    known = compared.head.meets is not Meets.UNKNOWN or bool(compared.head.left_out)
    if known or any(reason.verdict is not GateVerdict.PASS for reason in found):
        return []
    codes = {reason.code for reason in found}
    if codes & {ReasonCode.UNCALIBRATED_JUDGE, ReasonCode.UNANSWERED}:
        return []
    if not of_bar and ReasonCode.JUDGE_ERROR in codes:
        return []
    head = compared.head
    score = f" ({show_score(head.score, head.threshold)})" if head.ends else ""
    text = f"{compared.eval} is not {'fully ' if score else ''}measured{score}"
    code = ReasonCode.BAR_UNMEASURED if of_bar else ReasonCode.GATE_ERROR
    return [reason_of(GateVerdict.INCONCLUSIVE, code, text, compared.eval)]


def _bar_reasons(
    plan: Plan, found: Iterable[DecisionReason], threshold: float | None
) -> Iterator[DecisionReason]:
    """The reasons of a base tip's Eval: they bind until somebody who may accepts the lower bar.

    Where it has no threshold, that nothing regresses is what it asks.
    """
    for reason in found:
        misses = reason.code is ReasonCode.BELOW_THRESHOLD
        misses |= threshold is None and reason.code is ReasonCode.REGRESSION
        changed = {"code": ReasonCode.LOWERED_BAR} if misses else {}
        yield _accepted(plan, reason.model_copy(update=changed))


def _lost_reasons(plan: Plan) -> Iterator[DecisionReason]:
    for lost in plan.lost:
        yield _accepted(plan, reason_of(GateVerdict.FAIL, ReasonCode.LOWERED_BAR, str(lost)))


def _doubt_reasons(plan: Plan) -> Iterator[DecisionReason]:
    """What cannot be read may ask more than was measured, so this is no pass."""
    for doubt in plan.doubts:
        if doubt.where == "head":
            yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.SUITE_UNREADABLE, str(doubt))
        else:
            reason = reason_of(GateVerdict.INCOMPLETE, ReasonCode.BAR_UNREADABLE, str(doubt))
            yield _accepted(plan, reason)


def _unclaimed_reasons(plan: Plan) -> Iterator[DecisionReason]:
    """Yield a reason for files that the policy wants measured and nothing measures."""
    for path in plan.unclaimed:
        text = f"{path} changed and belongs to no Agent that an Eval measures (policy.mustBelong)"
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.UNCLAIMED_FILE, text)


def _left_out_reasons(plan: Plan) -> Iterator[DecisionReason]:
    """Yield the reason that keeps a check of a part from passing for the whole."""
    kept, total = plan.coverage
    if kept < total:
        text = f"{kept:,} of {total:,} fixtures that the change calls for were looked at"
        yield reason_of(GateVerdict.INCOMPLETE, ReasonCode.LEFT_OUT, text)


def _accepted(plan: Plan, reason: DecisionReason) -> DecisionReason:
    if not plan.bar_accepted:
        return reason
    text = f"{reason.text}{ACCEPTED}{plan.bar_accepted}"
    return reason.model_copy(update={"verdict": GateVerdict.PASS, "text": text})


def _unmeasured_reasons(
    planned: PlannedEval,
    compared: EvalComparison,
    fixture: FixtureComparison,
    trials: Grouped,
    policy: Policy,
) -> Iterator[DecisionReason]:
    """Everything that keeps this fixture from being fully measured, head first."""
    name = fixture.fixture
    missing = fixture.missing + (fixture.missing_base if fixture.baseline_gap else 0)
    if missing:
        text = f"{name}: {missing} planned {'trial' if missing == 1 else 'trials'} did not run"
        code = ReasonCode.MISSING_TRIALS
        yield reason_of(GateVerdict.INCOMPLETE, code, text, compared.eval, name)
    if fixture.no_answer:
        return
    head, base = fixture.head_all, fixture.base_all
    lenient = may_pass_judge_errors(planned, compared, fixture, policy)
    on_base = base is not None and base.unclear and fixture.baseline_gap
    for side, unclear in ((Side.HEAD, head.unclear), (Side.BASE, on_base)):
        mine = trials.get((compared.eval, name, side), ()) if unclear else ()
        lost = (one for one in mine if one.passed is None and one.cause is not Cause.UNCALIBRATED)
        yield from (_unmeasured(one, lenient=lenient) for one in lost)
    if fixture.silent and not compared.unanswered:
        nor = "; nor did base" if base and base.silent == base.trials > 0 else ""
        text = f"{name}: head gave no answer in any repetition{nor}{refused_words(fixture)}"
        code = ReasonCode.CANDIDATE_ERROR
        yield reason_of(GateVerdict.INCONCLUSIVE, code, text, compared.eval, name)


def may_pass_judge_errors(
    planned: PlannedEval, compared: EvalComparison, fixture: FixtureComparison, policy: Policy
) -> bool:
    """Whether judge errors of this fixture only warn.

    Never when nothing else was measured, or the verdict hangs on them: if the missing judgements,
    taken as failed, would put the Eval below its threshold or show a deterministic break, they keep
    the gate from passing. So they do where a new fixture has to pass by itself.
    """
    return (
        policy.inconclusive is InconclusivePolicy.WARN
        and compared.head.ends is not None
        and compared.head.meets is Meets.YES
        and not fixture.may_hide_break
        and (passes_alone(fixture) or not has_to_pass_alone(planned, fixture))
    )


_CODES = {
    Cause.CANDIDATE: ReasonCode.CANDIDATE_ERROR,
    Cause.PROVIDER: ReasonCode.PROVIDER_ERROR,
    Cause.JUDGE: ReasonCode.JUDGE_ERROR,
    Cause.UNCALIBRATED: ReasonCode.UNCALIBRATED_JUDGE,
    Cause.CHECK: ReasonCode.CHECK_ERROR,
    Cause.GATE: ReasonCode.GATE_ERROR,
}


def _unmeasured(trial: Trial, *, lenient: bool) -> DecisionReason:
    cause = trial.cause or Cause.GATE
    on_head = trial.key.side is Side.HEAD
    passes = lenient and cause is Cause.JUDGE
    verdict = GateVerdict.PASS if passes else GateVerdict.INCONCLUSIVE
    code = _CODES[cause] if on_head else ReasonCode.BASELINE_ERROR
    name, where = trial.key.fixture, "" if on_head else " on base"
    text = f"{name} was not measured{where} ({cause}): {trial.reason}"
    return reason_of(verdict, code, text, trial.key.eval, name)
