"""Shows judges answers once more when all trials are there: head's beside base's, and those of
fixtures that flipped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from gateval.assertions.base import JudgeDoubt, error_of
from gateval.assertions.preference import PreferenceAssertion
from gateval.domain.manifests.fixture import PREFERENCE
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import group_trials
from gateval.domain.results.preferences import RepetitionPair, pairs_of
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Assessment, Cause, Trial, TrialKey

if TYPE_CHECKING:
    from gateval.judging.judge import Judge


async def judge_pairs(
    planned: PlannedEval,
    trials: Mapping[TrialKey, Trial],
    judge: Callable[[TrialKey], Judge],
    doubt: JudgeDoubt,
) -> AsyncIterator[Trial]:
    """Yield head's trials of an Eval with what a judge prefers, as soon as that is known.

    Pairs of which that is known already are not judged again. `doubt` says why the judge's word
    does not count; then it is not asked. `judge` gives the one that is asked of a trial.
    """
    pairs = [pair for pair in pairs_of(planned, group_trials(trials.values())) if pair.to_judge]
    why = await doubt() if pairs else ""
    from gateval.judging.calibrating import AT_ONCE

    places = asyncio.Semaphore(AT_ONCE)

    async def judged(pair: RepetitionPair) -> Trial:
        async with places:
            return await _judged(pair, judge, why)

    for done in asyncio.as_completed([judged(pair) for pair in pairs]):
        yield await done


async def _judged(pair: RepetitionPair, judge: Callable[[TrialKey], Judge], doubt: str) -> Trial:
    base, head = pair.base, pair.head
    if base is None or head is None:
        raise ValueError("Only a pair of two trials can be judged.")
    if doubt:
        why = "The judge is not calibrated as its Eval asks, so it was not asked"
        return _with(pair, head, error_of(PREFERENCE, Cause.UNCALIBRATED, f"{why}: {doubt}"))
    asked = PreferenceAssertion.model_validate(pair.fixture.assertions[pair.at].options)
    found, usage = await asked.compared(
        base, head, pair.fixture.input, judge(head.key), pair.planned.judge
    )
    spent = [one for one in (head.judge_usage, usage) if one.total is not None]
    return _with(pair, head.replace(judge_usage=add_usage(spent)), found)


def _with(pair: RepetitionPair, head: Trial, found: Assessment) -> Trial:
    said = found.replace(index=pair.at)
    every = tuple(said if one.index == pair.at else one for one in head.assessments)
    return head.replace(assessments=every)


SHOWN = 3
"""Outputs of each side that are shown again."""


def flipped(base: Iterable[Trial], head: Iterable[Trial], *, passed_before: bool) -> list[Trial]:
    """Return the outputs that disagree: those that passed before and those that fail now. Of stored
    trials there is no output, only that one `passed_before`.
    """
    passed = [trial for trial in base if trial.passed and _is_whole(trial)][:SHOWN]
    failed = [trial for trial in head if trial.passed is False and _is_whole(trial)][:SHOWN]
    return [*passed, *failed] if failed and (passed or passed_before) else []


def _is_whole(trial: Trial) -> bool:
    """Whether all that the judge saw is still there."""
    cut = any(step.truncated for step in trial.trace.steps) if trial.trace else True
    return trial.output is not None and not trial.output_truncated and not cut
