"""The reasons that come from what was measured, and from doubts about it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.label_decision import GateLabel
from gateval.domain.manifests.evaluation import TOLERANCE
from gateval.domain.manifests.fixture import show_axis
from gateval.domain.manifests.gate_config import (
    Policy,
    RegressionPolicy,
    ThresholdPolicy,
    UncalibratedPolicy,
)
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import Grouped
from gateval.domain.results.comparison import (
    EvalComparison,
    FixtureChange,
    FixtureComparison,
    Repeated,
)
from gateval.domain.results.doubts import judge_doubt
from gateval.domain.results.results import Results
from gateval.domain.results.scoring import EVERY_CASE, Meets
from gateval.domain.statistics.design import LookResult
from gateval.domain.text import show_percent, show_score
from gateval.domain.trials.trial import Cause, Side
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode, reason_of

_WORSE = {FixtureChange.SUSPECT, FixtureChange.NOT_CONFIRMED}

OUTDATED = "the stored baseline is outdated; the next run on the default branch measures it anew"

_NAMED = 5
"""Fixtures that are named in a reason about several."""


def score_reasons(compared: EvalComparison, policy: Policy) -> Iterator[DecisionReason]:
    """Yield the reason that a written threshold is missed.

    Where base misses it too and nothing got worse, it says so; by the policy `worse` that passes.
    """
    head, base = compared.head, compared.base
    if head.meets is not Meets.NO or head.threshold is None:
        return
    score = show_score(head.score, head.threshold)
    missed = f"below its threshold {head.asks}"
    if head.asks == EVERY_CASE:
        missed = "and not all of its cases pass, as it asks"
    elif not head.written and head.threshold >= 1:
        missed = "and not all of its fixtures pass"
    elif not head.written:
        missed = f"below {head.asks}, from which it passes"
    text = f"{compared.eval} scores {score}, {missed}"
    as_before = (
        base is not None
        and base.meets is Meets.NO
        and base.measured
        and head.measured
        and not compared.regressed
    )
    if base is not None and as_before:
        text += f"; base scores {show_score(base.score)}, so this is not caused by this change"
    no_worse = (
        as_before
        and (compared.delta or 0) >= -TOLERANCE
        and (head.ends or (0.0, 0.0))[0] >= policy.threshold_floor - TOLERANCE
    )
    passes = no_worse and policy.threshold is ThresholdPolicy.WORSE
    verdict = GateVerdict.PASS if passes else GateVerdict.FAIL
    yield reason_of(verdict, ReasonCode.BELOW_THRESHOLD, text, compared.eval)


def broad_reasons(compared: EvalComparison, policy: Policy) -> Iterator[DecisionReason]:
    """Yield the reasons that an Eval's fixtures got worse together, the cases of one file, or an
    axis of their scores.
    """
    for one in compared.together:
        if one.axis:
            if one.step is LookResult.REGRESSED:
                text = f"{show_axis(one.axis)} of {compared.eval} fell: {one.base:.2f} before, "
                yield from _regression(f"{text}{one.head:.2f} now", compared.eval, "", policy)
        elif one.step is LookResult.REGRESSED:
            graded = compared.head.model.graded
            before, now = show_percent(one.base), show_percent(one.head)
            what = f"{compared.eval} got worse as a whole"
            if one.family:
                what = f"The cases of {one.family} in {compared.eval} got worse together"
            verb = "was the mean score" if graded else "passed"
            text = f"{what}: {before} {verb} before, {now} now"
            yield from _regression(text, compared.eval, "", policy)
        elif one.outdated and policy.regressions is not RegressionPolicy.OFF:
            before, now = show_percent(one.base), show_percent(one.head)
            what = f"The cases of {one.family} in {compared.eval} are" if one.family else ""
            text = f"{what or f'{compared.eval} is'} below the stored baseline ({before} passed "
            text += f"before, {now} now), and so is base today: {OUTDATED}"
            yield reason_of(GateVerdict.PASS, ReasonCode.SUSPECT, text, compared.eval)


def fixture_reasons(
    planned: PlannedEval, compared: EvalComparison, fixture: FixtureComparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield what speaks against one fixture: silence, a regression, a failure of a new one."""
    name, base = fixture.fixture, fixture.base_all
    if fixture.no_answer:
        text = f"{name}: head does not answer; base does{refused_words(fixture)}"
        yield reason_of(GateVerdict.FAIL, ReasonCode.NO_ANSWER, text, compared.eval, name)
    elif fixture.change is FixtureChange.REGRESSED and base is not None:
        text = f"{name} regressed: {passes_before_and_now(fixture)}"
        yield from _regression(text, compared.eval, name, policy)
    elif fixture.change in _WORSE and policy.regressions is not RegressionPolicy.OFF:
        outdated = f"base does no better today, so {OUTDATED}"
        why = outdated if fixture.outdated else "not confirmed"
        text = f"{name} looks worse: {passes_before_and_now(fixture)}; {why}"
        yield reason_of(GateVerdict.PASS, ReasonCode.SUSPECT, text, compared.eval, name)
    elif (
        has_to_pass_alone(planned, fixture)
        and not (fixture.missing or fixture.head_all.unclear)  # a lost trial is no failure
        and not passes_alone(fixture)
    ):
        text = f"{name} is new or changed and does not pass: {show_passes(fixture.head_all)} now"
        yield reason_of(GateVerdict.FAIL, ReasonCode.NEW_FIXTURE, text, compared.eval, name)


def refused_words(fixture: FixtureComparison) -> str:
    """Why no model answered head, to be put behind a reason."""
    return f". {fixture.refused.rstrip('.')}" if fixture.refused else ""


def failing_as_before(planned: PlannedEval, compared: EvalComparison) -> Iterator[DecisionReason]:
    """Yield, for an Eval without a threshold, which fixtures fail and did so before."""
    if planned.threshold is not None or compared.unanswered:
        return
    names = [fixture.fixture for fixture in compared.fixtures if fails_as_before(planned, fixture)]
    if not names:
        return
    shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    one = len(names) == 1
    text = f"{compared.eval}: {len(names)} {'fixture fails' if one else 'fixtures fail'} "
    text += f"before and now: {shown}"
    yield reason_of(GateVerdict.PASS, ReasonCode.FAILS_AS_BEFORE, text, compared.eval)


def fails_as_before(planned: PlannedEval, fixture: FixtureComparison) -> bool:
    """Whether a fixture fails on head, and did so before."""
    if fixture.fixture in planned.added or fixture.change is FixtureChange.REGRESSED:
        return False
    base = fixture.base_all
    failed_before = base is None or base.passes < base.trials
    return fixture.head.failed > 0 and failed_before


def passes_before_and_now(fixture: FixtureComparison) -> str:
    """Return how often it passed on both sides, e.g. `passed 15 of 15 before, 4 of 15 now`.

    In the weighted model it is what it scored: `scored 0.93 (15 runs, 15 passed) before, 0.71 now
    (15 runs, 2 passed)`. What an earlier run found is told as that.
    """
    before, head = fixture.base_all or Repeated(), fixture.head_all
    now = "then" if fixture.found_at else "now"
    if head.mean is not None and head.trials:
        told = f"{show_passes(before)} before, {head.mean:.2f} {now} ({_runs(head)})"
    else:
        after = f"{head.passes} of {head.trials} {now}" if head.trials else "not measured now"
        note = f" (no answer in {head.silent} of {head.trials})" if head.silent else ""
        told = f"{show_passes(before)} before, {after}{note}"
    if not fixture.found_at:
        return told
    on, at = fixture.found_on[:7], fixture.found_at
    found = f"found at {f'{on} ({at})' if on else at}, and a new run does not take it back"
    fell = head.mean is not None or head.passes * before.trials < before.passes * head.trials
    return f"{told}; {found}" if fell else found  # of scores an earlier version kept nothing


def show_passes(repeated: Repeated) -> str:
    """Return e.g. `passed 2 of 3`."""
    if repeated.mean is not None and repeated.trials:
        return f"scored {repeated.mean:.2f} ({_runs(repeated)})"
    return f"passed {repeated.passes} of {repeated.trials}" if repeated.trials else "not measured"


def _runs(repeated: Repeated) -> str:
    many = "1 run" if repeated.trials == 1 else f"{repeated.trials} runs"
    if not repeated.free:
        return f"{many}, {repeated.passes} passed"
    return f"{many}, no answer in {repeated.silent}" if repeated.silent else many


def has_to_pass_alone(planned: PlannedEval, fixture: FixtureComparison) -> bool:
    """Whether neither a threshold nor a comparison says whether a fixture of the change passes."""
    return planned.threshold is None and fixture.fixture in planned.added


def passes_alone(fixture: FixtureComparison) -> bool:
    """Whether a new fixture passed its first trial, or most of them: two of three."""
    return fixture.first_passed or 2 * fixture.head_all.passes > fixture.head_all.trials


def _regression(
    text: str, evaluation: str, fixture: str, policy: Policy
) -> Iterator[DecisionReason]:
    if policy.regressions is RegressionPolicy.OFF:
        return
    blocks = policy.regressions is RegressionPolicy.BLOCK
    verdict = GateVerdict.FAIL if blocks else GateVerdict.PASS
    yield reason_of(verdict, ReasonCode.REGRESSION, text, evaluation, fixture)


EVIDENCE_CODES = (
    ReasonCode.UNCALIBRATED_JUDGE,
    ReasonCode.STAND_IN,
    ReasonCode.NO_MODEL_CALLS,
)


def evidence_reasons(
    results: Results, planned: PlannedEval, trials: Grouped
) -> Iterator[DecisionReason]:
    """Yield why an Eval is inconclusive though its trials were measured."""
    if said := _uncalibrated(results, planned, trials):
        warns = results.plan.policy.judge.uncalibrated is UncalibratedPolicy.WARN
        if warns and not _any_measured(planned, trials):
            warns, said = False, f"{said} There is no other assertion that decides here."
        verdict = GateVerdict.PASS if warns else GateVerdict.INCONCLUSIVE
        yield reason_of(verdict, ReasonCode.UNCALIBRATED_JUDGE, said, planned.name)
    yield from _stand_ins(results.plan, planned, trials)


MOST = 0.2
"""Share of a side's answered trials in which a stand-in may have answered."""


def _stand_ins(plan: Plan, planned: PlannedEval, trials: Grouped) -> Iterator[DecisionReason]:
    """Yield a reason for each side that says more of a stand-in than of the Agent's first model.

    A stand-in is a model of `spec.models` after the first. Others that an Agent asks beside them
    (`spec.uses`) stand in for nobody.
    """
    for side in planned.sides:
        agent = plan.agent(planned.agent, side)
        if agent is None or len(agent.models) < 2:
            continue
        primary, others = agent.models[0], {*agent.models[1:]} - {agent.models[0]}
        asked = [
            trial.trace.models
            for name, owner in planned.owners().items()
            for trial in trials.get((owner, name, side), ())
            if trial.trace and trial.trace.models
        ]
        stood_in = [models for models in asked if not others.isdisjoint(models)]
        if len(stood_in) <= MOST * len(asked):
            continue
        names = sorted({name for models in stood_in for name in models if name in others})
        noun = "trial" if len(asked) == 1 else "trials"
        text = (
            f"{planned.shown_name}: on {side}, {', '.join(names)} answered in "
            f"{len(stood_in)} of {len(asked)} {noun} in place of {primary}, so this says "
            "little of the Agent as it is meant to run. Run the gate again once that model "
            "answers; a model that the Agent asks on purpose belongs into `spec.uses`."
        )
        yield reason_of(GateVerdict.INCONCLUSIVE, ReasonCode.STAND_IN, text, planned.name)


def model_reasons(results: Results) -> Iterator[DecisionReason]:
    """Yield which Agents asked models on base and on head no longer do in the whole run."""
    evals: dict[str, list[PlannedEval]] = {}
    for planned in results.plan.evals:
        if planned.needs_model:
            evals.setdefault(planned.agent, []).append(planned)
    for agent, several in evals.items():
        names = [one.name for one in several]
        mine = [one for one in results.trials if one.key.eval in names and one.output is not None]
        base = [one.calls for one in mine if one.key.side is Side.BASE]
        head = [one.calls for one in mine if one.key.side is Side.HEAD]
        known = [one for one in head if one is not None]
        if not head or len(known) < len(head):
            continue  # nobody answered, or nobody saw what was asked
        asked = [one for one in base if one is not None and one.made]
        talked = any(one.talks for one in asked)
        asks = any(one.talks if talked else one.made for one in known)
        if asks or not (asked or any(one.base_seen for one in several)):
            continue
        before = f"in {len(asked)} of {len(base)} runs" if asked else "in earlier runs"
        text = (
            f"{agent}: base asked models {before}, and head in none of {len(head)}, so no "
            "model gave head's answers. If it lost its models, give them back. If that is meant, "
            f"accept it with the label `{GateLabel.ACCEPT_BAR}` (locally `--accept-bar-change`), "
            "or say `modelCalls: optional` in its manifest on the target branch"
        )
        yield reason_of(GateVerdict.INCONCLUSIVE, ReasonCode.NO_MODEL_CALLS, text, names[0])


def _uncalibrated(results: Results, planned: PlannedEval, trials: Grouped) -> str:
    """Say that the judge decides nothing, and what to do; empty if its word counts."""
    doubt = judge_doubt(planned, results.calibrations, results.plan.policy.judge)
    if not doubt and _uncounted(planned, trials):
        doubt = f"the word of {planned.judge.named} was not counted"
    if not doubt:
        return ""
    asks = [f"`calibration: {planned.judge.calibration}`"] if planned.judge.calibration else []
    if planned.judge.min_agreement is not None:
        asks.append(f"`minAgreement: {planned.judge.min_agreement:g}`")
    if planned.judge.max_injected is not None:
        asks.append(f"`maxInjected: {planned.judge.max_injected:g}`")
    return (
        f"{planned.shown_name} wants a judge that agrees with people ({' and '.join(asks)}), and "
        f"{doubt}. So the judge passed and failed nothing here; other assertions count. {_NEXT} "
        f"({planned.place.file}:{planned.place.line})."
    )


_NEXT = (
    "`gateval calibrate` shows where judge and people disagree: make the rubric clearer, take "
    "another model, or add examples"
)


def _any_measured(planned: PlannedEval, trials: Grouped) -> bool:
    """Whether a trial of head says anything without the judge."""
    return any(
        trial.cause is not Cause.UNCALIBRATED
        for fixture in planned.fixtures
        for trial in trials.get((planned.measured_by(fixture.name), fixture.name, Side.HEAD), ())
    )


def _uncounted(planned: PlannedEval, trials: Grouped) -> bool:
    """Whether an assessment of the judge was left out."""
    if not planned.wants_calibration:
        return False
    mine = (
        trials.get((planned.measured_by(fixture.name), fixture.name, side), ())
        for fixture in planned.fixtures
        for side in planned.sides
    )
    return any(
        one.cause is Cause.UNCALIBRATED
        for group in mine
        for trial in group
        for one in trial.assessments
    )
