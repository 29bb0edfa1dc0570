"""Runs the trials of a plan.

Each Eval has its own workers, `execution.parallel` of them, which take trials in the order of the
plan, those of the target branch's version of it too. Base and head alternate, trial by trial or,
where they are processes, look by look, so that drift of a provider hits both alike.

What sealed Evals start programs for waits until the look's candidates have ended, on both sides:
such a program may be one that a candidate left, and must find nobody whom it could tell.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gateval.assertions.assess import programs_refused
from gateval.candidates.checks import Checks
from gateval.candidates.playground.playgrounds import Playgrounds
from gateval.candidates.team import Candidates
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import AgentDefinition, Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.looks.next_trials import next_trials
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Cause, Side, Trial, TrialKey
from gateval.engine.agreements import Agreements
from gateval.engine.judge_again import judge_again
from gateval.engine.phases import phases
from gateval.engine.start_spacing import StartSpacing
from gateval.engine.trial import TRIES, Waiting, concluded, run_trial
from gateval.events import (
    Event,
    RunFinished,
    RunStarted,
    RunWarned,
    TrialFinished,
    TrialsAdded,
    TrialStarted,
)
from gateval.judging.judge import Judge
from gateval.ports.model_calls import Embed
from gateval.ports.trial_log import TrialLog


@dataclass(frozen=True)
class RunContext:
    """What trials are run with: candidates, judge, own checks, where trials go, who listens.

    `redact` takes secrets out of a finished trial, before anybody sees it. `at_once` is how many
    trials may run side by side over all Evals; None for no such limit. Without `checks`, people's
    own checks are errors; without `embed`, likeness by embeddings is; without `agreements`, every
    judge's word counts; without `playgrounds`, what wants one is an error. `over` says why no model
    is asked any more, as a sentence; it is empty as long as the run has room for calls.
    """

    candidates: Candidates
    judge: Judge
    log: TrialLog
    tell: Callable[[Event], None]
    redact: Callable[[Trial], Trial] = lambda trial: trial
    at_once: int | None = None
    checks: Checks | None = None
    agreements: Agreements | None = None
    embed: Embed | None = None
    playgrounds: Playgrounds | None = None
    over: Callable[[], str] = str


UNLOOKED = (
    "The run ended while trials waited for what sealed Evals run when no agent does. These were "
    "not measured."
)


class Task(NamedTuple):
    """A trial to run, with everything the plan says about it."""

    key: TrialKey
    agent: AgentDefinition | None
    planned: PlannedEval
    fixture: Fixture


class Aside(NamedTuple):
    """Where answers are assessed while agents go on, and how many at once."""

    group: asyncio.TaskGroup
    places: asyncio.Semaphore


async def run_trials(plan: Plan, context: RunContext) -> tuple[Trial, ...]:
    """Run what `next_trials` asks for until it asks for nothing; return all trials.

    When the run has no room for calls any more, it ends: a trial that a refused call has kept from
    an answer, or from being judged, never was.
    When the task is cancelled, the trials under way are lost; finished ones are in the log already.
    """
    trials: dict[TrialKey, Trial] = {}
    waiting: list[Waiting] = []
    planned = plan.trial_count
    context.tell(RunStarted(plan=plan))
    first: Side = Side.BASE
    running: Side | None = None
    try:
        while not context.over() and (keys := next_trials(plan, trials.values())):
            if trials:
                planned += len(keys)
                context.tell(TrialsAdded(keys=keys))
            for phase in phases(plan, keys, first):
                await _rest(context, running, unless=phase.side)
                running = phase.side
                await _run_phase(plan, phase.keys, context, trials, waiting)
            first = running or first
            if waiting:
                await _run_waiting(waiting, context, trials)
                running = None  # they were ended
        await _rest(context, running)
        await _judge_again(plan, context, trials)
    finally:
        if context.agreements:
            await context.agreements.close()
        if waiting:
            context.tell(RunWarned(message=UNLOOKED))
        context.tell(RunFinished(finished=len(trials), planned=planned))
    return tuple(trials.values())


async def _rest(context: RunContext, running: Side | None, *, unless: Side | None = None) -> None:
    """End the processes of a side, unless the next trials are its own."""
    if running is not None and running is not unless:
        await context.candidates.rest(running)


async def _judge_again(plan: Plan, context: RunContext, trials: dict[TrialKey, Trial]) -> None:
    """Look at what judges waver on, where their word counts."""
    if context.over():
        return
    agreements = context.agreements
    believed = [one for one in plan.evals if not (agreements and await agreements.doubt(one))]
    await judge_again(believed, trials, context)


async def _run_phase(
    plan: Plan,
    keys: tuple[TrialKey, ...],
    context: RunContext,
    trials: dict[TrialKey, Trial],
    waiting: list[Waiting],
) -> None:
    """Run these trials; when too much waits on the disk, all that waits before the others begin."""
    left = keys
    while left:
        await _run_batch(plan, left, context, trials, waiting)
        if not _full(context):
            return
        await _run_waiting(waiting, context, trials)
        left = tuple(key for key in left if key not in trials)


def _full(context: RunContext) -> bool:
    return context.playgrounds is not None and context.playgrounds.waiting.full


async def _run_waiting(
    waiting: list[Waiting], context: RunContext, trials: dict[TrialKey, Trial]
) -> None:
    """Conclude the trials that wait, now that no candidate runs: what they start, one by one.

    Where something of a candidate lives all the same, nothing is started for them: an error.
    """
    lives = await context.candidates.end_all()
    turn = asyncio.Lock()

    async def conclude(one: Waiting) -> None:
        refused = one._replace(early={**one.early, **programs_refused(one.task.fixture, lives)})
        tried = await concluded(refused if lives else one, context, turn)
        if context.playgrounds:
            await context.playgrounds.waiting.remove(one.task.key)
        _store(context.redact(tried.trial), context, trials)

    async with asyncio.TaskGroup() as group:
        for one in sorted(waiting, key=lambda one: one.task.key.order):
            group.create_task(conclude(one))
    waiting.clear()


async def _run_batch(
    plan: Plan,
    keys: tuple[TrialKey, ...],
    context: RunContext,
    trials: dict[TrialKey, Trial],
    waiting: list[Waiting],
) -> None:
    places = asyncio.Semaphore(context.at_once or len(keys))
    spacing = StartSpacing()
    async with asyncio.TaskGroup() as group:
        for name in dict.fromkeys(planned.own_name for planned in plan.evals):
            versions = [planned for planned in plan.evals if planned.own_name == name]
            queue = deque(task for planned in versions for task in _tasks(plan, planned, keys))
            parallel = min(planned.execution.parallel for planned in versions)
            aside = Aside(group, asyncio.Semaphore(parallel))
            for _ in range(min(parallel, len(queue))):
                group.create_task(_work(queue, context, trials, waiting, places, spacing, aside))


def _tasks(plan: Plan, planned: PlannedEval, keys: tuple[TrialKey, ...]) -> Iterator[Task]:
    fixtures = {fixture.name: fixture for fixture in planned.fixtures}
    for key in keys:
        if key.eval == planned.name:
            yield Task(key, plan.agent(planned.agent, key.side), planned, fixtures[key.fixture])


async def _work(
    queue: deque[Task],
    context: RunContext,
    trials: dict[TrialKey, Trial],
    waiting: list[Waiting],
    places: asyncio.Semaphore,
    spacing: StartSpacing,
    aside: Aside,
) -> None:
    while queue:
        async with places:
            await spacing.turn()
            if not queue or context.over() or _full(context):
                return
            task = queue.popleft()
            context.tell(TrialStarted(key=task.key))
            measured = await _measured(task, context)
        if isinstance(measured, Waiting) and measured.aside:
            aside.group.create_task(_conclude_aside(measured, context, trials, aside.places))
        elif isinstance(measured, Waiting):
            waiting.append(measured)
        else:
            _store(context.redact(measured), context, trials)


async def _conclude_aside(
    waiting: Waiting,
    context: RunContext,
    trials: dict[TrialKey, Trial],
    places: asyncio.Semaphore,
) -> None:
    async with places:
        tried = await concluded(waiting, context)
    _store(context.redact(tried.trial), context, trials)


def _store(trial: Trial, context: RunContext, trials: dict[TrialKey, Trial]) -> None:
    if context.over() and trial.passed is None and trial.cause is Cause.GATE:
        return
    context.log.append(trial)
    trials[trial.key] = trial
    context.tell(TrialFinished(trial=trial))


async def _measured(task: Task, context: RunContext) -> Trial | Waiting:
    """Run one trial; one that was lost, through no fault of the candidate's, again, unless that
    would be in vain: of one that has its answer, the judge alone is asked again.

    What lost attempts took is paid for like the rest, so the trial keeps it.
    """
    lost: list[Usage] = []
    for left in reversed(range(TRIES)):
        tried = await run_trial(task, context)
        if isinstance(tried, Waiting):
            return tried._replace(lost=tuple(lost))
        trial, in_vain = tried
        is_lost = trial.passed is None and trial.cause in {Cause.PROVIDER, Cause.JUDGE}
        if in_vain or not (is_lost and left) or context.over():
            break
        lost += (one for one in (trial.usage, trial.judge_usage) if one.total is not None)
    return trial.model_copy(update={"lost_usage": add_usage(lost)}) if lost else trial
