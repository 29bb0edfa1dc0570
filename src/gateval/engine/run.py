"""Runs the trials of a plan.

Each Eval has its own workers, `execution.parallel` of them, which take trials in the order of the
plan; base and head stand side by side in it, so drift of a provider hits both alike.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from gateval.assertions.assess import assess
from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.conclude import conclude_answer, conclude_no_answer
from gateval.domain.plan import Plan, PlannedEval
from gateval.domain.schedule import next_trials
from gateval.domain.trial import Cause, NoAnswer, Trial, TrialKey
from gateval.events import Event, RunFinished, RunStarted, TrialFinished, TrialStarted
from gateval.judging.judge import Judge
from gateval.ports import TrialLog


@dataclass(frozen=True)
class Workshop:
    """What trials are run with: the candidates, the judge, where trials go, who listens."""

    candidates: Candidates
    judge: Judge
    log: TrialLog
    tell: Callable[[Event], None]


async def run_trials(
    plan: Plan, workshop: Workshop, finished: tuple[Trial, ...] = ()
) -> tuple[Trial, ...]:
    """Run what `next_trials` asks for until it asks for nothing; return all trials.

    `finished` are trials of an earlier, interrupted run of the same plan. When the task is
    cancelled, the trials under way are lost; finished ones are in the log already.
    """
    trials = {trial.key: trial for trial in finished}
    planned = len(plan.trial_keys())
    workshop.tell(RunStarted(plan=plan))
    try:
        while keys := next_trials(plan, trials.values()):
            await _run_batch(plan, keys, workshop, trials)
    finally:
        workshop.tell(RunFinished(finished=len(trials), planned=planned))
    return tuple(trials.values())


async def _run_batch(
    plan: Plan,
    keys: tuple[TrialKey, ...],
    workshop: Workshop,
    trials: dict[TrialKey, Trial],
) -> None:
    async with asyncio.TaskGroup() as group:
        for planned in plan.evals:
            queue = deque(key for key in keys if key.eval == planned.name)
            for _ in range(min(planned.execution.parallel, len(queue))):
                group.create_task(_work(plan, planned, queue, workshop, trials))


async def _work(
    plan: Plan,
    planned: PlannedEval,
    queue: deque[TrialKey],
    workshop: Workshop,
    trials: dict[TrialKey, Trial],
) -> None:
    while queue:
        key = queue.popleft()
        workshop.tell(TrialStarted(key=key))
        trial = await run_trial(plan, planned, key, workshop)
        workshop.log.append(trial)
        trials[key] = trial
        workshop.tell(TrialFinished(trial=trial))


async def run_trial(plan: Plan, planned: PlannedEval, key: TrialKey, workshop: Workshop) -> Trial:
    """Run one trial: let the candidate answer, then assess the answer."""
    fixture = planned.fixture(key.fixture)
    agent = plan.agent(planned.agent, key.side)
    if agent is None:
        reason = f"the plan has no Agent {planned.agent} on {key.side}"
        return conclude_no_answer(key, NoAnswer(cause=Cause.GATE, reason=reason))
    request = TrialRequest(
        key=key,
        input=fixture.input,
        tool_replay=fixture.tool_replay,
        shadow_tools=fixture.shadow_tools,
        timeout_seconds=planned.execution.timeout_seconds,
    )
    answer = await workshop.candidates.answer(agent, request)
    if isinstance(answer, NoAnswer):
        return conclude_no_answer(key, answer)
    assessments, judge_usage = await assess(fixture, answer, workshop.judge, planned.judge)
    return conclude_answer(key, fixture, answer, assessments, judge_usage)
