"""Reasons why numbers that were measured do not say what they seem to say. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.manifests.policy.words import UncalibratedPolicy
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.doubts.judges import judge_doubt
from gateval.domain.results.doubts.models import lost_models
from gateval.domain.results.doubts.stand_ins import stand_ins
from gateval.domain.results.grouping import Grouped
from gateval.domain.results.results import Results
from gateval.domain.ruling import GateLabel
from gateval.domain.trials.trial import Cause, Side
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode, reason_of

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
    for found in stand_ins(results.plan, planned, trials):
        noun = "trial" if found.answered == 1 else "trials"
        text = (
            f"{planned.shown_name}: on {found.side}, {', '.join(found.models)} answered in "
            f"{found.trials} of {found.answered} {noun} in place of {found.primary}, so this says "
            "little of the Agent as it is meant to run. Run the gate again once that model "
            "answers; a model that the Agent asks on purpose belongs into `spec.uses`."
        )
        yield reason_of(GateVerdict.INCONCLUSIVE, ReasonCode.STAND_IN, text, planned.name)


def model_reasons(results: Results) -> Iterator[DecisionReason]:
    """Yield which Agents asked models on base and on head no longer do."""
    for found in lost_models(results):
        before = f"in {found.asked} of {found.base} runs" if found.asked else "in earlier runs"
        text = (
            f"{found.agent}: base asked models {before}, and head in none of {found.head}, so no "
            "model gave head's answers. If it lost its models, give them back. If that is meant, "
            f"accept it with the label `{GateLabel.ACCEPT_BAR}` (locally `--accept-bar-change`), "
            "or say `modelCalls: optional` in its manifest on the target branch"
        )
        yield reason_of(GateVerdict.INCONCLUSIVE, ReasonCode.NO_MODEL_CALLS, text, found.eval)


def _uncalibrated(results: Results, planned: PlannedEval, trials: Grouped) -> str:
    """Say that the judge decides nothing, and what to do; empty if its word counts."""
    doubt = judge_doubt(planned, results.calibrations, results.plan.policy.judge)
    if not doubt and _uncounted(planned, trials):
        doubt = f"the word of {planned.judge.model} was not counted"
    if not doubt:
        return ""
    asks = [f"`calibration: {planned.judge.calibration}`"] if planned.judge.calibration else []
    if planned.judge.min_agreement is not None:
        asks.append(f"`minAgreement: {planned.judge.min_agreement:g}`")
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
    return any(not one.counts for group in mine for trial in group for one in trial.assessments)
