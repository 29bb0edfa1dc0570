"""Replays a JudgeCalibration: the judge scores what people scored, the way it scores trials.

Each example goes through `Judge.judge`, with the same prompt, delimiters, limits and checks; the
judge sees the rubric, the input and the answer, never what a person said of it.
"""

from __future__ import annotations

import asyncio

from gateval.domain.base import digest
from gateval.domain.calibration import CUT, CalibrationReplay, JudgedExample, binding_of
from gateval.domain.manifests.evaluation import Calibration, CalibrationExample, JudgeSpec
from gateval.domain.manifests.fixture import input_of
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Answer, Cause, numbered_steps
from gateval.judging.checklist import ANSWER
from gateval.judging.judge import Judge, JudgeError
from gateval.judging.prompt import PROMPT, shorten, with_grounds

AT_ONCE = 8
"""Examples that are judged side by side."""

TRIES = 3
"""How often an example is judged whose verdict got lost."""

_WORDS = 500
"""Characters kept of what a judge says of an example."""

_Judged = tuple[JudgedExample, list[Usage]]


async def replay(
    calibration: Calibration, spec: JudgeSpec, judge: Judge, *, script: str = ""
) -> CalibrationReplay:
    """Have the judge that `spec` names score every example; return what it said.

    `script` is the digest of a scripted judge. An example without a verdict is in the replay, with
    the reason why; nothing is raised for it.
    """
    places = asyncio.Semaphore(AT_ONCE)

    async def judged(number: int, example: CalibrationExample) -> _Judged:
        async with places:
            return await _judged(number, example, calibration.rubric, spec, judge)

    found = await asyncio.gather(
        *(judged(number, one) for number, one in enumerate(calibration.examples, 1))
    )
    return CalibrationReplay(
        calibration=calibration.name,
        binding=binding_of(calibration, spec, prompt=prompt_digest(), script=script),
        examples=tuple(example for example, _ in found),
        usage=add_usage([usage for _, spent in found for usage in spent]),
    )


def prompt_digest() -> str:
    """Return the SHA-256 of what Gateval itself says to judges."""
    return digest([*PROMPT, ANSWER])


async def _judged(
    number: int, example: CalibrationExample, rubric: str, spec: JudgeSpec, judge: Judge
) -> _Judged:
    """Judge one example; one whose verdict got lost, again."""
    asked = input_of(example.input)
    answer = Answer(output=example.candidate_output, seconds=0)
    told = JudgedExample(
        number=number,
        human=example.human_score,
        label=example.human_label or "",
        trace_ref=example.trace_ref or "",
    )
    spent: list[Usage] = []
    for _ in range(TRIES):
        try:
            found = await judge.judge(
                rubric=with_grounds(rubric, example.given),
                spec=spec,
                fixture_input=asked,
                transcript=numbered_steps(asked, answer),
                evidence_below=CUT,
            )
        except JudgeError as error:
            spent += [error.usage] if error.usage else []
            told = told.model_copy(update={"error": shorten(error.message, _WORDS)})
            if error.cause is Cause.GATE:
                break
            continue
        verdict = found.verdict
        said = {"score": verdict.score, "summary": shorten(verdict.summary, _WORDS), "error": ""}
        return told.model_copy(update=said), [*spent, found.usage]
    return told, spent
