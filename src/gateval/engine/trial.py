"""Runs one trial: makes its playground, has the candidate answer, assesses what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gateval.assertions.assess import NOTHING, assess, assess_early, starting_programs
from gateval.assertions.world import Early, believed
from gateval.candidates.base import TrialRequest
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixtures.embedding import embedding_model
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.results.outcome import conclude_answer, conclude_no_answer, unanswered
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Answer, Assessment, Cause, NoAnswer, NotAssessed, Trial

if TYPE_CHECKING:
    from gateval.candidates.playground.playgrounds import ReadyPlayground
    from gateval.candidates.playground.state import EndState
    from gateval.engine.run import RunContext, Task


TRIES = 4
"""How often what a provider or a judge lost is asked for: once, and three times more."""


class Tried(NamedTuple):
    """One try at a trial. `in_vain` says that another try would be lost for the same reason."""

    trial: Trial
    in_vain: bool = False


class Waiting(NamedTuple):
    """A trial that is answered, and of which these assertions are to be assessed, by their
    positions. `found` are the others, `spent` what was taken for those and `lost` what was taken in
    vain; `early` is known of parts of those that are left. One `aside` starts no program, and is
    assessed while others answer.
    """

    task: Task
    answer: Answer
    state: EndState | None
    left: Collection[int]
    found: Mapping[int, Assessment]
    spent: tuple[Usage, ...] = ()
    lost: tuple[Usage, ...] = ()
    early: Early = NOTHING
    aside: bool = False


async def run_trial(task: Task, context: RunContext) -> Tried | Waiting:
    """Run one trial: let the candidate answer, then assess the answer.

    What starts programs in a sealed Eval is left, for `concluded`: until no candidate lives. So are
    judges there, aside: the next question would else tell an agent how long they took.
    """
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
        tried = await _tried(task, task.agent, context, ground)
        if isinstance(tried, Waiting):
            await context.playgrounds.waiting.keep(key, ground.state)
        return tried


async def _tried(
    task: Task, agent: AgentDefinition, context: RunContext, ground: ReadyPlayground | None
) -> Tried | Waiting:
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
    state, every = ground.state if ground else None, range(len(fixture.assertions))
    later = starting_programs(fixture) if task.planned.sealed else frozenset()
    whole = Waiting(task, answer, state, every, {})
    if not later and task.planned.sealed and ground is None:
        return whole._replace(aside=True)
    if not later:
        return await concluded(whole, context)
    now = [index for index in every if index not in later]
    found, usage = await _assessed(whole._replace(left=now), context)
    early = await assess_early(fixture, answer, state, later)
    return whole._replace(left=later, found=found, spent=(usage,), early=early)


async def concluded(
    waiting: Waiting, context: RunContext, turn: asyncio.Lock | None = None
) -> Tried:
    """Assess what is left of an answer. What a judge or another model lost of that is asked of it
    again, and not of the candidate, who has answered and been paid for.

    With `turn` one program runs at a time.
    """
    task, answer, judge = waiting.task, waiting.answer, waiting.task.planned.judge
    found, spent = dict(waiting.found), list(waiting.spent)
    missing = waiting.left
    for left in reversed(range(TRIES)):
        assessments, usage = await _assessed(waiting._replace(left=missing), context, turn)
        found |= assessments
        spent.append(usage)
        every = [found[index] for index in sorted(found)]
        known = [one for one in spent if one.total is not None] or spent[-1:]
        scoring = task.planned.scoring
        trial = conclude_answer(task.key, task.fixture, answer, every, add_usage(known), scoring)
        missing = _lost_by_models(task.fixture, trial)
        if not (missing and left) or judge.model in context.judge.denied:
            break
    if waiting.lost:
        trial = trial.model_copy(update={"lost_usage": add_usage(waiting.lost)})
    return Tried(trial, in_vain=bool(missing) or judge.model in context.judge.denied)


async def _assessed(
    waiting: Waiting, context: RunContext, turn: asyncio.Lock | None = None
) -> tuple[dict[int, Assessment], Usage]:
    """Assess what is left of an answer, once."""
    planned, agreements = waiting.task.planned, context.agreements
    assessments, usage = await assess(
        waiting.task.fixture,
        waiting.answer,
        context.judge,
        planned.judge,
        checks=context.checks.of(planned) if context.checks else None,
        embed=context.embed,
        doubt=partial(agreements.doubt, planned) if agreements else believed,
        state=waiting.state,
        only=waiting.left,
        turn=turn,
        early=waiting.early,
    )
    return {one.index: one for one in assessments}, usage


def _lost_by_models(fixture: Fixture, trial: Trial) -> Collection[int]:
    """The assertions without which a trial says nothing, and whose model could not be asked."""
    if trial.passed is not None:
        return ()
    return [
        one.index
        for spec, one in zip(fixture.assertions, trial.assessments, strict=True)
        if isinstance(one, NotAssessed)
        and one.cause in {Cause.JUDGE, Cause.PROVIDER}
        and (spec.needs_judge or any(map(embedding_model, spec.within())))
    ]
