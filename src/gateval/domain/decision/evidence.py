"""Reasons why numbers that were measured do not say what they seem to say. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped
from gateval.domain.results.stand_ins import stand_ins
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode

EVIDENCE_CODES = (ReasonCode.UNCALIBRATED_JUDGE, ReasonCode.STAND_IN)


def evidence_reasons(plan: Plan, planned: PlannedEval, trials: Grouped) -> Iterator[DecisionReason]:
    """Yield why an Eval is inconclusive though its trials were measured."""
    if asked := _calibration(planned):
        yield _inconclusive(planned, ReasonCode.UNCALIBRATED_JUDGE, asked)
    for found in stand_ins(plan, planned, trials):
        noun = "trial" if found.answered == 1 else "trials"
        yield _inconclusive(
            planned,
            ReasonCode.STAND_IN,
            f"{planned.shown_name}: on {found.side}, {', '.join(found.models)} answered in "
            f"{found.trials} of {found.answered} {noun} in place of {found.primary}, so this says "
            "little of the Agent as it is meant to run. Run the gate again once that model "
            "answers; a model that the Agent asks on purpose belongs into `spec.uses`.",
        )


def _calibration(planned: PlannedEval) -> str:
    """Say that the judge would have to be calibrated; empty if nobody asks for it, or no judge."""
    judge = planned.judge
    asked = [f"`calibration: {judge.calibration}`"] if judge.calibration else []
    if judge.min_agreement is not None:
        asked.append(f"`minAgreement: {judge.min_agreement:g}`")
    judged = any(one.needs_judge for fixture in planned.fixtures for one in fixture.assertions)
    if not (asked and judged):
        return ""
    way_out = (
        "The target branch has to take that out of spec.judge, or the lower bar has to be accepted"
        if planned.bar
        else "Take that out of spec.judge to let the judge decide as it is; the JudgeCalibration "
        "itself may stay"
    )
    return (
        f"{planned.shown_name} asks for a judge that was measured against people "
        f"({' and '.join(asked)}), and calibrations are not replayed yet, so nobody knows what its "
        f"scores are worth. {way_out} ({planned.place.file}:{planned.place.line})."
    )


def _inconclusive(planned: PlannedEval, code: ReasonCode, text: str) -> DecisionReason:
    return DecisionReason(verdict=GateVerdict.INCONCLUSIVE, code=code, text=text, eval=planned.name)
