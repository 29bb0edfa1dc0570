"""The labelled example that a person's objection to a verdict gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from gateval.domain.base import JsonObject, Value
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.manifests.fixtures.messages import text_of
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.promotion.proposal import Promoter
from gateval.domain.trials.judge_verdict import Verdict
from gateval.domain.trials.trial import Assessment, Trial


class Objection(StrEnum):
    """What was wrong where judge and person disagree: the rubric, the judge, or the trace."""

    RUBRIC = "rubricWrong"
    JUDGE = "judgeWrong"
    TRACE = "traceWrong"


class Judged(Value):
    """A judge's verdict in a trial: where the trial is recorded, and the rubric asked.

    `preset` names one that comes with the gate, in whose place `rubric` is empty until it is known.
    """

    trace: str
    trial: Trial
    verdict: Verdict
    rubric: str
    preset: str = ""


def judged_in(trial: Trial, planned: PlannedEval, run: str) -> Iterator[Judged]:
    """Yield the verdicts in a trial, those inside `all`, `any` and `not` too."""
    key = trial.key
    trace = f"{run}/{planned.own_name}/{key.fixture}#{key.repetition}"
    specs = planned.fixture(key.fixture).assertions
    for one in _within(trial.assessments):
        if one.verdict is not None:
            spec = specs[one.index].part(one.at)
            rubric, preset = _option(spec, "rubric"), _option(spec, "preset")
            yield Judged(
                trace=trace, trial=trial, verdict=one.verdict, rubric=rubric, preset=preset
            )


def example_of(
    judged: Judged,
    planned: PlannedEval,
    *,
    score: float,
    why: Objection,
    note: str,
    origin: Promoter,
) -> JsonObject:
    """Return the example as people write it in `spec.examples`."""
    fixture = planned.fixture(judged.trial.key.fixture)
    given = fixture.input.payload or {"messages": [m.as_json() for m in fixture.input.messages]}
    said = {"promotedAt": origin.at, "promotedBy": origin.by}
    origin_said: JsonObject = {key: text for key, text in said.items() if text}
    example: JsonObject = {
        "traceRef": judged.trace,
        "input": {**given}
        if not fixture.turns
        else {"turns": [text_of(turn) for turn in fixture.turns]},
        "candidateOutput": judged.trial.output or "",
        "humanScore": score,
        "humanLabel": note,
        "disagreementReason": why.value,
    }
    if judged.preset and (given_of := fixture.reference):
        grounds = {"expected": given_of.wanted, "reference": given_of.context}
        example |= {key: value for key, value in grounds.items() if value is not None}
    return {**example, "origin": origin_said} if origin_said else example


def new_calibration(name: str, judged: Judged, example: JsonObject) -> JsonObject:
    """Return a JudgeCalibration that begins with this example."""
    return {
        "apiVersion": "gateval/v1",
        "kind": "JudgeCalibration",
        "metadata": {"name": name},
        "spec": {
            "rubric": judged.rubric,
            "judgeModels": [judged.verdict.model],
            "examples": [example],
        },
    }


def _option(spec: AssertionSpec, name: str) -> str:
    return str(spec.options.get(name, ""))


def _within(assessments: Iterable[Assessment]) -> Iterator[Assessment]:
    for one in assessments:
        yield one
        yield from _within(one.parts)
