"""Every reason that speaks for or against a pass, from the comparison and the policy. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gateval.domain.decision.measured_reasons import (
    broad_reasons,
    evidence_reasons,
    failing_as_before,
    fixture_reasons,
    has_to_pass_alone,
    model_reasons,
    passes_alone,
    passes_before_and_now,
    refused_words,
    score_reasons,
)
from gateval.domain.manifests.gate_config import (
    DeadBaselinePolicy,
    InconclusivePolicy,
    Policy,
    RegressionPolicy,
    RiseEffect,
)
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.planning.change import why_locked
from gateval.domain.results.averages import Grouped, group_trials
from gateval.domain.results.comparison import (
    Comparison,
    EvalComparison,
    FixtureChange,
    FixtureComparison,
    Measure,
    Rise,
)
from gateval.domain.results.results import Results
from gateval.domain.results.scoring import Meets
from gateval.domain.statistics.preference import Preferences
from gateval.domain.text import show_ratio, show_score
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode, reason_of

_CODES = {Measure.COST: ReasonCode.COST, Measure.LATENCY: ReasonCode.LATENCY}
SPENDING_CODES = (*_CODES.values(), ReasonCode.BUDGET, ReasonCode.ALLOWANCE)

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
        verdict, text = GateVerdict.PASS, ""
        key = f"policy.{rise.measure}.maxRatio"
        if rise.over(limit):
            verdict = GateVerdict.FAIL if blocks else verdict
            text = f"{_risen(rise)}, over the {limit:g} of {key}"
        elif rise.unknown:
            verdict = GateVerdict.INCONCLUSIVE if blocks else verdict
            text = f"its {rise.measure} cannot be held against base: {rise.unknown}"
        elif rise.ratio and rise.ratio.low is None and rise.ratio.mean > limit:
            text = f"{_risen(rise)}, which one fixture alone does not prove ({key})"
        if text:
            yield reason_of(verdict, _CODES[rise.measure], f"{rise.eval}: {text}", rise.eval)


def _risen(rise: Rise) -> str:
    assert rise.ratio is not None  # noqa: S101 - asked before
    low, high = rise.ratio.low, rise.ratio.high
    between = "" if low is None or high is None else f" ({show_ratio(low)} to {show_ratio(high)})"
    return f"{_WHAT[rise.measure]} {show_ratio(rise.ratio.mean)} times what it did on base{between}"


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


def unanswered_reasons(
    plan: Plan, planned: PlannedEval, compared: EvalComparison, trials: Grouped
) -> Iterator[DecisionReason]:
    """Yield why an Eval that no side answers was not measured, with the cause.

    It is no pass and no failure, but where the Eval asks head for a score and there is no base. A
    change that first brings the gate config is told and not blocked.
    """
    names = [one.name for one in planned.fixtures]
    text = _silence(planned, compared, trials) if compared.unanswered else ""
    if not text or all(map(planned.in_quarantine, names)):
        return
    told = plan.adds_config if compared.base is not None else plan.adds_gate
    verdict = GateVerdict.INCONCLUSIVE
    if told:
        verdict = GateVerdict.PASS
        text += "; this change first brings the gate config, so it is told and not blocked"
    elif compared.base is None and (compared.head.threshold or 0) > 0:
        verdict = GateVerdict.FAIL
    yield reason_of(verdict, ReasonCode.UNANSWERED, text, compared.eval)


def dead_reasons(
    planned: PlannedEval, compared: EvalComparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield that an Eval with answers cannot see a regression, as nothing passes on either side."""
    if not compared.dead:
        return
    blocks = policy.dead_baseline is DeadBaselinePolicy.BLOCK
    verdict = GateVerdict.INCONCLUSIVE if blocks else GateVerdict.PASS
    text = (
        f"{planned.shown_name}: nothing passes, and nothing passes on base either; this "
        f"{planned.kind} cannot see a regression"
    )
    yield reason_of(verdict, ReasonCode.DEAD_BASELINE, text, compared.eval)


def _silence(planned: PlannedEval, compared: EvalComparison, trials: Grouped) -> str:
    """Say which Agent did not answer and why, in one sentence without its full stop.

    Empty where head's trials were lost: then these say why.
    """
    causes = {side: why_silent(planned, side, trials) for side in planned.sides}
    head = causes[Side.HEAD]
    if not head:
        return ""
    verb = "did not start" if never_began(head) else "gave no answer"
    if compared.base is None:
        return f"{planned.agent} {verb}: {head}"
    other = causes[Side.BASE]
    beside = f"; on base: {other}" if other not in {head, ""} else ""
    return f"{planned.agent} {verb}, on base neither: {head}{beside}"


def why_silent(planned: PlannedEval, side: Side, trials: Grouped) -> str:
    """Return why most trials of a side have no answer, as the end of a sentence."""
    found = Counter(
        _in_short(trial.reason)
        for name, owner in planned.owners().items()
        for trial in trials.get((owner, name, side), ())
        if not trial.answered and trial.outcome is not Outcome.PASS
    )
    return found.most_common(1)[0][0] if found else ""


_MISSING = re.compile(r"[Tt]he (?:module|package|command) \S+ is not installed")
_START = re.compile(
    r"is not installed|set-up|start|ready|could not be run|cannot be found|was not found"
)
"""How reasons say that a candidate never came so far as to be asked."""


def never_began(why: str) -> bool:
    """Whether a reason says that a candidate never came so far as to be asked."""
    return _START.search(why) is not None


def _in_short(reason: str) -> str:
    """Return what a reason says: what is missing, else its first sentence."""
    found = _MISSING.search(reason)
    first = found[0] if found else re.split(r"(?<=\.)\s", reason, maxsplit=1)[0]
    return (first[:1].lower() + first[1:]).removesuffix(".")


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
    yield from _plan_reasons(results.plan, results.info.over_budget)


def _plan_reasons(plan: Plan, over_budget: str) -> Iterator[DecisionReason]:
    """Yield what the plan knew before any trial ran, and why the run asked no model any more.

    What cannot be read may ask more than was measured, and a part does not pass for the whole.
    """
    for lost in plan.lost:
        yield _accepted(plan, reason_of(GateVerdict.FAIL, ReasonCode.LOWERED_BAR, str(lost)))
    for doubt in plan.doubts:
        head = doubt.where == "head"
        code = ReasonCode.SUITE_UNREADABLE if head else ReasonCode.BAR_UNREADABLE
        reason = reason_of(GateVerdict.INCOMPLETE, code, str(doubt))
        yield reason if head else _accepted(plan, reason)
    kept, total = plan.coverage
    left = f"{kept:,} of {total:,} fixtures that the change calls for were looked at"
    short = bool(plan.allowance and plan.allowance.ended(over_budget))
    stray = "changed and belongs to no Agent that an Eval measures (policy.mustBelong)"
    for code, text in (
        *((ReasonCode.UNCLAIMED_FILE, f"{path} {stray}") for path in plan.unclaimed),
        *((ReasonCode.LACKING_CONTENT, str(lacking)) for lacking in plan.lacking),
        (ReasonCode.LEFT_OUT, left if kept < total else ""),
        (ReasonCode.ALLOWANCE if short else ReasonCode.BUDGET, over_budget),
        (ReasonCode.RULES_UNREADABLE, plan.rules_unread),
        (ReasonCode.BUDGET, plan.budget_spent),
        (ReasonCode.FINDINGS_LOST, plan.findings_lost),
        (ReasonCode.SEALED, why_locked(plan.locked)),
    ):
        if text:
            yield reason_of(GateVerdict.INCOMPLETE, code, text)
    if plan.fresh:
        yield reason_of(GateVerdict.PASS, ReasonCode.FRESH, plan.fresh)


def _released(planned: PlannedEval, reason: DecisionReason) -> DecisionReason:
    """A reason about a fixture in quarantine informs and does not block."""
    apart = planned.in_quarantine(reason.fixture)
    if apart is None or reason.verdict is GateVerdict.PASS:
        return reason
    text = f"{reason.text}; in quarantine until {apart.until} ({apart.owner})"
    return reason.replace(verdict=GateVerdict.PASS, text=text)


def _reasons_of(
    planned: PlannedEval, compared: EvalComparison, trials: Grouped, policy: Policy
) -> Iterator[DecisionReason]:
    yield from score_reasons(compared, policy)
    yield from broad_reasons(compared, policy)
    yield from _preference_reasons(planned, compared, policy)
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
        yield _accepted(plan, reason.replace(**changed))


def _accepted(plan: Plan, reason: DecisionReason) -> DecisionReason:
    if not plan.bar_accepted:
        return reason
    text = f"{reason.text}{ACCEPTED}{plan.bar_accepted}"
    return reason.replace(verdict=GateVerdict.PASS, text=text)


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


def _preference_reasons(
    planned: PlannedEval, compared: EvalComparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield that the judge prefers base's answers, that it may, or that nobody knows."""
    found = compared.preference
    if found is None or policy.regressions is RegressionPolicy.OFF:
        return
    of = f"{planned.shown_name}'s judge"
    if found.change is FixtureChange.INCONCLUSIVE:
        cause = found.cause or Cause.GATE
        if cause is Cause.UNCALIBRATED:
            return  # which is a reason of its own
        lenient = cause is Cause.JUDGE and policy.inconclusive is InconclusivePolicy.WARN
        verdict = GateVerdict.PASS if lenient else GateVerdict.INCONCLUSIVE
        text = f"{of} compared {found.said.pairs} of {found.planned} answers with base's"
        text += f": {found.why.rstrip('.')}" if found.why else ""
        yield reason_of(verdict, ReasonCode.NO_PREFERENCE, text, compared.eval)
    elif found.change is FixtureChange.REGRESSED:
        blocks = policy.regressions is RegressionPolicy.BLOCK
        verdict = GateVerdict.FAIL if blocks else GateVerdict.PASS
        text = f"{of} prefers base's answers: {show_preferences(found.said)}"
        yield reason_of(verdict, ReasonCode.REGRESSION, text, compared.eval)
    elif found.change is not FixtureChange.UNCHANGED:
        text = f"{of} seems to prefer base's answers: {show_preferences(found.said)}; not confirmed"
        yield reason_of(GateVerdict.PASS, ReasonCode.SUSPECT, text, compared.eval)


def show_preferences(said: Preferences) -> str:
    """Return e.g. `of 40 pairs head won 9, lost 27, tied 4 (win rate 0.28)`."""
    counts = f"head won {said.won}, lost {said.lost}, tied {said.tied}"
    noun = "pair" if said.pairs == 1 else "pairs"
    return f"of {said.pairs} {noun} {counts} (win rate {said.rate:.2f})"


MEASURED_CODES = {
    Cause.CANDIDATE: ReasonCode.CANDIDATE_ERROR,
    Cause.PROVIDER: ReasonCode.PROVIDER_ERROR,
    Cause.JUDGE: ReasonCode.JUDGE_ERROR,
    Cause.UNCALIBRATED: ReasonCode.UNCALIBRATED_JUDGE,
    Cause.CHECK: ReasonCode.CHECK_ERROR,
    Cause.GATE: ReasonCode.GATE_ERROR,
}
"""What a trial of head is a reason for that was not measured."""


def _unmeasured(trial: Trial, *, lenient: bool) -> DecisionReason:
    cause = trial.cause or Cause.GATE
    on_head = trial.key.side is Side.HEAD
    passes = lenient and cause is Cause.JUDGE
    verdict = GateVerdict.PASS if passes else GateVerdict.INCONCLUSIVE
    code = MEASURED_CODES[cause] if on_head else ReasonCode.BASELINE_ERROR
    name, where = trial.key.fixture, "" if on_head else " on base"
    text = f"{name} was not measured{where} ({cause}): {trial.reason}"
    return reason_of(verdict, code, text, trial.key.eval, name)
