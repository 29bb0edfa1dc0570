"""Why the word of an Eval's judge does not count: it was not measured against people as asked."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.calibration import (
    LEAST_AGREEMENT,
    Binding,
    CalibrationReplay,
    binding_of,
    why_not,
)
from gateval.domain.manifests.evaluation import script_name
from gateval.domain.manifests.gate_config import JudgePolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.trials.trial import Side


def judge_doubt(
    planned: PlannedEval, replays: Iterable[CalibrationReplay], policy: JudgePolicy
) -> str:
    """Return why the word of this Eval's judge does not count, as a sentence; empty if it does."""
    if not planned.wants_calibration:
        return ""
    model, calibration = planned.judge.model or "its judge", planned.calibration
    if calibration is None:
        if planned.judge.calibration is None:
            return f"{model} has `minAgreement`, but no `calibration` to measure it by"
        return f"there is no JudgeCalibration {planned.judge.calibration} to measure {model} by"
    replay = replay_of(planned, replays)
    if replay is None:
        return f"{calibration.name} was not replayed with {model}"
    asked = planned.judge.min_agreement
    least = LEAST_AGREEMENT if asked is None else asked
    why = why_not(replay.agreement, least, policy.agreement)
    return f"{model} is not calibrated by {calibration.name}: {why}" if why else ""


def replay_of(
    planned: PlannedEval, replays: Iterable[CalibrationReplay]
) -> CalibrationReplay | None:
    """Return the replay of this Eval's calibration by its judge, None if there is none."""
    if planned.calibration is None:
        return None
    for one in replays:
        said = one.binding
        asked = binding_of(
            planned.calibration, planned.judge, prompt=said.prompt, script=said.script
        )
        if said == asked:
            return one
    return None


def binding_now(plan: Plan, planned: PlannedEval, prompt: str) -> Binding | None:
    """Return what a replay of this Eval's calibration by its judge is bound to, None without one.

    `prompt` is the digest of Gateval's words to judges.
    """
    if planned.calibration is None or planned.judge.model is None:
        return None
    name = script_name(planned.judge.model)
    head = (one.models for one in plan.scripts if one.side is Side.HEAD)
    script = next((m.digest for models in head for m in models if name and m.name == name), "")
    return binding_of(planned.calibration, planned.judge, prompt=prompt, script=script)
