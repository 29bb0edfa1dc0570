"""Shows a judge the same outputs again where a fixture flipped: its noise is not the agent's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gateval.assertions.assess import assess
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import group_trials
from gateval.domain.results.looks.course import has_real_judge
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Answer, Assessed, Side, Trial, TrialKey

if TYPE_CHECKING:
    from gateval.engine.run import RunContext

SHOWN = 3
"""Outputs of each side that are shown again."""


async def judge_again(
    evals: Iterable[PlannedEval], trials: dict[TrialKey, Trial], context: RunContext
) -> None:
    """Judge outputs of these Evals' flipped fixtures again; store the trials with what was said."""
    grouped = group_trials(trials.values())
    every = tuple(evals)
    stored = {(e.name, one.fixture): one.marks for e in every for one in e.stored}
    jobs = [
        _again(planned, fixture, trial, context)
        for planned in every
        for fixture in planned.own_fixtures
        if has_real_judge(planned, fixture)
        for trial in _flipped(
            grouped.get((planned.name, fixture.name, Side.BASE), ()),
            grouped.get((planned.name, fixture.name, Side.HEAD), ()),
            passed_before="p" in stored.get((planned.name, fixture.name), ""),
        )
    ]
    for trial in await asyncio.gather(*jobs):
        trials[trial.key] = trial
        context.log.append(trial)


def _flipped(base: Iterable[Trial], head: Iterable[Trial], *, passed_before: bool) -> list[Trial]:
    """The outputs that disagree: those that passed before and those that fail now.

    Of stored trials there is no output, only that one `passed_before`.
    """
    passed = [trial for trial in base if trial.passed and _is_whole(trial)][:SHOWN]
    failed = [trial for trial in head if trial.passed is False and _is_whole(trial)][:SHOWN]
    return [*passed, *failed] if failed and (passed or passed_before) else []


def _is_whole(trial: Trial) -> bool:
    """Whether all that the judge saw is still there."""
    cut = any(step.truncated for step in trial.trace.steps) if trial.trace else True
    return trial.output is not None and not trial.output_truncated and not cut


async def _again(
    planned: PlannedEval, fixture: Fixture, trial: Trial, context: RunContext
) -> Trial:
    numbers = [number for number, spec in enumerate(fixture.assertions) if spec.needs_judge]
    judged = fixture.model_copy(
        update={"assertions": tuple(fixture.assertions[number] for number in numbers)}
    )
    answer = Answer(
        output=trial.output or "", trace=trial.trace, usage=trial.usage, seconds=trial.seconds
    )
    checks = context.checks.of(planned) if context.checks else None
    found, usage = await assess(
        judged, answer, context.judge, planned.judge, checks=checks, embed=context.embed
    )
    said = {numbers[one.index]: one.status for one in found if isinstance(one, Assessed)}
    assessments = tuple(
        one.model_copy(update={"again": said[one.index]}) if one.index in said else one
        for one in trial.assessments
    )
    spent = add_usage([trial.judge_usage, usage])
    return trial.model_copy(update={"assessments": assessments, "judge_usage": spent})
