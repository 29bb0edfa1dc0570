"""Runs one trial: makes its playground, has the candidate answer, assesses what came of it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gateval.assertions.assess import assess
from gateval.assertions.world import believed
from gateval.candidates.base import TrialRequest
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixtures.embedding import embedding_model
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.results.outcome import conclude_answer, conclude_no_answer, unanswered
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import (
    Answer,
    Assessment,
    AssessmentStatus,
    Cause,
    NoAnswer,
    Trial,
)

if TYPE_CHECKING:
    from gateval.candidates.playground.playgrounds import ReadyPlayground
    from gateval.engine.run import RunContext, Task


TRIES = 4
"""How often what a provider or a judge lost is asked for: once, and three times more."""


class Tried(NamedTuple):
    """One try at a trial. `in_vain` says that another try would be lost for the same reason."""

    trial: Trial
    in_vain: bool = False


async def run_trial(task: Task, context: RunContext) -> Tried:
    """Run one trial: let the candidate answer, then assess the answer."""
    key, fixture = task.key, task.fixture
    if task.agent is None:
        reason = f"the plan has no Agent {task.planned.agent} on {key.side}"
        return Tried(conclude_no_answer(key, NoAnswer(cause=Cause.GATE, reason=reason)))
    if fixture.playground is None:
        return await _tried(task, task.agent, context, None)
    if context.playgrounds is None:
        reason = "nothing makes playgrounds here"
        return Tried(conclude_no_answer(key, NoAnswer(cause=Cause.GATE, reason=reason)))
    async with context.playgrounds.opened(task.agent, task.planned, fixture) as ground:
        if isinstance(ground, NoAnswer):
            return Tried(conclude_no_answer(key, ground))
        return await _tried(task, task.agent, context, ground)


async def _tried(
    task: Task, agent: AgentDefinition, context: RunContext, ground: ReadyPlayground | None
) -> Tried:
    """Have the candidate answer, in a playground if there is one, and assess what came of it."""
    key, fixture = task.key, task.fixture
    request = TrialRequest(
        key=key,
        input=fixture.input,
        turns=fixture.turns,
        tool_replay=fixture.tool_replay,
        shadow_tools=fixture.shadow_tools,
        timeout_seconds=fixture.timeout_seconds or task.planned.execution.timeout_seconds,
        playground=ground.playground if ground else None,
    )
    answer = await context.candidates.answer(agent, request)
    if ground:
        ground.playground.shut()
    if isinstance(answer, Answer) and task.planned.needs_model:
        answer = unanswered(answer) or answer
    if isinstance(answer, NoAnswer):
        return Tried(conclude_no_answer(key, answer, task.planned.scoring), answer.lasting)
    return await _assessed(task, answer, context, ground)


async def _assessed(
    task: Task, answer: Answer, context: RunContext, ground: ReadyPlayground | None
) -> Tried:
    """Assess an answer. What a judge or another model lost of that is asked of it again, and not of
    the candidate, who has answered and been paid for.
    """
    key, fixture, judge = task.key, task.fixture, task.planned.judge
    checks = context.checks.of(task.planned) if context.checks else None
    agreements = context.agreements
    doubt = partial(agreements.doubt, task.planned) if agreements else believed
    found: dict[int, Assessment] = {}
    spent: list[Usage] = []
    missing: Collection[int] | None = None
    for left in reversed(range(TRIES)):
        assessments, usage = await assess(
            fixture,
            answer,
            context.judge,
            judge,
            checks=checks,
            embed=context.embed,
            doubt=doubt,
            state=ground.state if ground else None,
            only=missing,
        )
        found |= {one.index: one for one in assessments}
        spent.append(usage)
        every = [found[index] for index in sorted(found)]
        known = [one for one in spent if one.total is not None] or spent[-1:]
        scoring = task.planned.scoring
        trial = conclude_answer(key, fixture, answer, every, add_usage(known), scoring)
        missing = _lost_by_models(fixture, trial)
        if not (missing and left) or judge.model in context.judge.denied:
            break
    return Tried(trial, in_vain=bool(missing) or judge.model in context.judge.denied)


def _lost_by_models(fixture: Fixture, trial: Trial) -> Collection[int]:
    """The assertions without which a trial says nothing, and whose model could not be asked."""
    if trial.passed is not None:
        return ()
    return [
        one.index
        for spec, one in zip(fixture.assertions, trial.assessments, strict=True)
        if one.status is AssessmentStatus.ERROR
        and one.cause in {Cause.JUDGE, Cause.PROVIDER}
        and (spec.needs_judge or any(map(embedding_model, spec.within())))
    ]
