"""Runs the trials of a plan.

Each Eval has its own workers, `execution.parallel` of them, which take trials in the order of the
plan, those of the target branch's version of it too. Base and head alternate, trial by trial or,
where they are processes, look by look, so that drift of a provider hits both alike.

What sealed Evals start programs for waits until the look's candidates have ended, on both sides:
such a program may be one that a candidate left, and must find nobody whom it could tell.

A candidate could look for the other side's server and spoil it, and so its yardstick. Agents
without processes interleave.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gateval.assertions.assess import (
    assess,
    assess_early,
    heard_of,
    programs_refused,
    starting_programs,
)
from gateval.assertions.base import trust_every_judge
from gateval.candidates.base import TrialRequest
from gateval.candidates.checks import Checks
from gateval.candidates.playgrounds import Playgrounds
from gateval.candidates.team import Candidates
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import AgentDefinition, Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import group_trials
from gateval.domain.results.fixture_progress import has_real_judge
from gateval.domain.results.offers import OfferCollector
from gateval.domain.results.resume import NO_TRIALS, KeptTrials, can_judge_again
from gateval.domain.results.trial_verdict import conclude_answer, conclude_no_answer, unanswered
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import (
    Answer,
    Assessed,
    Assessment,
    Cause,
    NoAnswer,
    NotAssessed,
    Side,
    Trial,
    TrialKey,
)
from gateval.engine.pairs import flipped, judge_pairs
from gateval.engine.spacing import StartSpacing
from gateval.engine.stage import Stage, phases, whole_run
from gateval.engine.waiting import (
    Task,
    Waiting,
    judged_later,
    kept_answer,
    lost_by_models,
    unjudged,
)
from gateval.events import (
    Event,
    RunFinished,
    RunStarted,
    RunWarned,
    TrialAnswered,
    TrialFinished,
    TrialsAdded,
    TrialStarted,
)
from gateval.gateway.places import Places, keeping, placed
from gateval.ports.model_calls import NO_CALLERS, Callers, Embed
from gateval.ports.storage import TrialLog

if TYPE_CHECKING:
    from gateval.candidates.playgrounds import ReadyPlayground
    from gateval.judging.agreements import Agreements
    from gateval.judging.judge import Judge


TRIES = 4
"""How often what a provider or a judge lost is asked for: once, and three times more."""


class TrialAttempt(NamedTuple):
    """One try at a trial. `in_vain` says that another try would be lost for the same reason."""

    trial: Trial
    in_vain: bool = False


async def run_trial(task: Task, context: RunContext) -> TrialAttempt | Waiting:
    """Run one trial: let the candidate answer, then assess the answer.

    What starts programs in a sealed Eval is left, for `concluded`: until no candidate lives. So are
    judges there, aside: the next question would else tell an agent how long they took.
    """
    key, fixture = task.key, task.fixture
    if task.agent is not None and fixture.playground is None:
        return await _tried(task, task.agent, context, None)
    if task.agent is None or context.playgrounds is None:
        reason = "nothing makes playgrounds here"
        if task.agent is None:
            reason = f"the plan has no Agent {task.planned.agent} on {key.side}"
        return TrialAttempt(conclude_no_answer(key, NoAnswer(cause=Cause.GATE, reason=reason)))
    async with context.playgrounds.opened(task.agent, task.planned, fixture) as ground:
        if isinstance(ground, NoAnswer):
            return TrialAttempt(conclude_no_answer(key, ground))
        tried = await _tried(task, task.agent, context, ground)
        if isinstance(tried, Waiting):
            await context.playgrounds.waiting.keep(key, ground.state)
        return tried


async def _tried(
    task: Task, agent: AgentDefinition, context: RunContext, ground: ReadyPlayground | None
) -> TrialAttempt | Waiting:
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
        caller=context.callers(key).agent,
    )
    with keeping() if agent.runtime.starts_process else nullcontext():
        answer = await context.candidates.answer(agent, request)
    if ground:
        ground.playground.shut()
    if isinstance(answer, Answer) and task.planned.needs_model:
        answer = unanswered(answer) or answer
    if isinstance(answer, NoAnswer):
        return TrialAttempt(conclude_no_answer(key, answer, task.planned.scoring), answer.lasting)
    state, every = ground.state if ground else None, range(len(fixture.assertions))
    later = starting_programs(fixture) if task.planned.sealed else frozenset()
    later |= judged_later(fixture) if context.batched else frozenset()
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
) -> TrialAttempt:
    """Assess what is left of an answer. What a judge or another model lost of that is asked of it
    again, and not of the candidate, who has answered and been paid for.

    With `turn` one program runs at a time.
    """
    task, answer, judge = waiting.task, waiting.answer, waiting.task.planned.judge
    found, spent, missing = dict(waiting.found), list(waiting.spent), waiting.left
    waiting = waiting._replace(heard=heard_of(task.fixture, found.values()))
    for left in reversed(range(TRIES)):
        assessments, usage = await _assessed(waiting._replace(left=missing), context, turn)
        found |= assessments
        spent.append(usage)
        every = [found[index] for index in sorted(found)]
        known = [one for one in spent if one.total is not None] or spent[-1:]
        scoring = task.planned.scoring
        trial = conclude_answer(task.key, task.fixture, answer, every, add_usage(known), scoring)
        missing = lost_by_models(task.fixture, trial)
        denied = context.judge is not None and not context.judge.denied.isdisjoint(judge.asked)
        in_vain = denied or context.batched or _undetermined(trial)
        if not (missing and left) or in_vain:
            break
    if waiting.lost:
        trial = trial.replace(lost_usage=add_usage(waiting.lost))
    return TrialAttempt(trial, in_vain=bool(missing) or in_vain)


async def _assessed(
    waiting: Waiting, context: RunContext, turn: asyncio.Lock | None = None
) -> tuple[dict[int, Assessment], Usage]:
    """Assess what is left of an answer, once."""
    planned, agreements = waiting.task.planned, context.agreements
    callers = context.callers(waiting.task.key)
    assessments, usage = await assess(
        waiting.task.fixture,
        waiting.answer,
        context.judge_of(waiting.task.key),
        planned.judge,
        checks=context.checks.of(planned) if context.checks else None,
        embed=callers.embed or context.embed,
        doubt=agreements.begun(planned, waiting.task.fixture) if agreements else trust_every_judge,
        state=waiting.state,
        only=waiting.left,
        turn=turn,
        early=waiting.early,
        heard=waiting.heard,
    )
    return {one.index: one for one in assessments}, usage


def _undetermined(trial: Trial) -> bool:
    """Whether a judge looked, and says that the run does not show what it is asked."""
    verdicts = (one.verdict for one in trial.assessments if isinstance(one, NotAssessed))
    return any(one is not None and one.undetermined for one in verdicts)


async def judge_again(
    evals: Iterable[PlannedEval], trials: dict[TrialKey, Trial], context: RunContext
) -> None:
    """Judge outputs of these Evals' flipped fixtures again; store the trials with what was said."""
    grouped, every = group_trials(trials.values()), tuple(evals)
    stored = {(e.name, one.fixture): one.marks for e in every for one in e.stored}
    jobs = [
        _again(planned, fixture, trial, context)
        for planned in every
        for fixture in planned.own_fixtures
        if has_real_judge(planned, fixture)
        for trial in flipped(
            grouped.get((planned.name, fixture.name, Side.BASE), ()),
            grouped.get((planned.name, fixture.name, Side.HEAD), ()),
            passed_before="p" in stored.get((planned.name, fixture.name), ""),
        )
    ]
    for trial in await asyncio.gather(*jobs):
        trials[trial.key] = context.log.append(trial)


async def _again(
    planned: PlannedEval, fixture: Fixture, trial: Trial, context: RunContext
) -> Trial:
    numbers = [
        number
        for number, spec in enumerate(fixture.assertions)
        if spec.needs_judge and number != fixture.preference
    ]
    judged = fixture.replace(assertions=tuple(fixture.assertions[number] for number in numbers))
    answer = Answer(
        output=trial.output or "", trace=trial.trace, usage=trial.usage, seconds=trial.seconds
    )
    checks = context.checks.of(planned) if context.checks else None
    judge, embed = context.judge_of(trial.key), context.callers(trial.key).embed or context.embed
    found, usage = await assess(judged, answer, judge, planned.judge, checks=checks, embed=embed)
    said = {numbers[one.index]: one.status for one in found if isinstance(one, Assessed)}
    assessments = tuple(
        one.replace(again=said[one.index]) if one.index in said else one
        for one in trial.assessments
    )
    spent = add_usage([trial.judge_usage, usage])
    return trial.replace(assessments=assessments, judge_usage=spent)


@dataclass(frozen=True)
class RunContext:
    """What trials are run with: candidates, judge, own checks, where trials go, who listens.

    `redact` takes secrets out of a finished trial, before anybody sees it. `at_once` is how many
    trials may run side by side over all Evals; None for no such limit. Without `checks`, people's
    own checks are errors; without `embed`, likeness by embeddings is; without `agreements`, every
    judge's word counts; without `playgrounds`, what wants one is an error. `over` says why no model
    is asked any more, as a sentence; it is empty as long as the run has room for calls. `gave_up`
    says of a model (`provider/model-id`) why it is asked no more, if so. `kept` is what was
    measured elsewhere. `callers` names trials for recordings. `stage` is the piece made here.
    Judges that are `batched` are asked when all trials of a look are answered.
    """

    candidates: Candidates
    judge: Judge | None
    log: TrialLog
    tell: Callable[[Event], None]
    redact: Callable[[Trial], Trial] = lambda trial: trial
    at_once: int | None = None
    checks: Checks | None = None
    agreements: Agreements | None = None
    embed: Embed | None = None
    playgrounds: Playgrounds | None = None
    over: Callable[[], str] = str
    gave_up: Callable[[str], str] = lambda _: ""
    offers: OfferCollector = field(default_factory=lambda: OfferCollector({}))
    kept: KeptTrials = NO_TRIALS
    callers: Callable[[TrialKey], Callers] = lambda _: NO_CALLERS
    stage: Stage | None = None
    batched: bool = False

    def judge_of(self, key: TrialKey) -> Judge | None:
        """The judge, as it is asked of a trial; None in a run that asks none."""
        return self.judge and self.judge.of(self.callers(key).judge)


UNLOOKED = (
    "The run ended while trials waited for what sealed Evals run when no agent does. These were "
    "not measured."
)


async def run_trials(plan: Plan, context: RunContext) -> tuple[Trial, ...]:
    """Run what `next_trials` asks for until it asks for nothing; return all trials.

    When the run has no room for calls any more, it ends: a trial that a refused call has kept from
    an answer, or from being judged, never was.
    When the task is cancelled, the trials under way are lost; finished ones are in the log already.
    """
    run, stage = _Run(plan, context), context.stage or whole_run(plan)
    kept, keys = len(run.trials), stage.asks(run.trials.values())
    planned = kept + len(keys)
    context.tell(RunStarted(plan=plan, trials=len(keys), kept=kept))
    first: Side = Side.BASE
    running: Side | None = None
    try:
        while keys and not context.over():
            for phase in phases(plan, keys, first):
                if running is not None and running is not phase.side:
                    await context.candidates.rest(running)
                running = phase.side
                await run.phase(phase.keys)
            first = running or first
            if run.waiting:
                await run.conclude_waiting()
                running = None  # they were ended
            keys = () if context.over() else stage.asks(run.trials.values())
            planned += len(keys)
            if keys:
                context.tell(TrialsAdded(keys=keys))
        if running is not None:
            await context.candidates.rest(running)
        await run.judge_again(stage)
    finally:
        if context.agreements:
            await context.agreements.close()
        if run.waiting and not context.batched:
            context.tell(RunWarned(message=UNLOOKED))
        context.tell(RunFinished(finished=len(run.trials), planned=planned))
    return tuple(run.trials.values())


class _Line(NamedTuple):
    """The trials of one Eval that are to begin, what the plan says of one, its own places, and how
    many answers are assessed `aside` at once.
    """

    queue: deque[TrialKey]
    task: Callable[[TrialKey], Task]
    places: Places
    aside: asyncio.Semaphore


def _at_most(times: int, begin: Callable[[], None]) -> Callable[[], None]:
    """Return what calls `begin` so many times, and then no more: what has begun takes memory."""
    left = iter(range(times))

    def again() -> None:
        if next(left, None) is not None:
            begin()

    return again


def _untried(task: Task, context: RunContext) -> Trial | None:
    """Return the trial as one that was not tried, if all its Agent's models or its judge's were
    given up; None if they were not.
    """
    models = task.agent.models if task.agent is not None else ()
    gone = [context.gave_up(one) for one in models]
    gone = gone if all(gone) else []
    if any(spec.needs_judge for spec in task.fixture.assertions):
        gone.append(context.gave_up(task.planned.judge.model or ""))
    why = list(filter(None, dict.fromkeys(gone)))
    if not why:
        return None
    reason = f"Not tried: {' '.join(why)}"
    return conclude_no_answer(task.key, NoAnswer(cause=Cause.PROVIDER, reason=reason))


class _Run:
    """The trials of a plan: those that are through, and those that are answered and wait until no
    candidate lives.
    """

    def __init__(self, plan: Plan, context: RunContext) -> None:
        self._plan = plan
        self._context = context
        self.trials = {one.key: one for one in context.kept.measured}
        self.waiting: list[Waiting] = []
        self._to_judge = {one.key: one for one in context.kept.to_judge}

    async def phase(self, keys: tuple[TrialKey, ...]) -> None:
        """Run these trials; when too much waits on the disk, all that waits before the others
        begin.
        """
        left = keys
        while left:
            await self._batch(left)
            if not self._full:
                return
            await self.conclude_waiting()
            left = tuple(key for key in left if key not in self.trials)

    async def conclude_waiting(self) -> None:
        """Conclude the trials that wait, now that no candidate runs: what they start, one by one.
        Where something of a candidate lives all the same, nothing is started for them: an error.
        """
        context = self._context
        lives = await context.candidates.end_all()
        turn = asyncio.Lock()

        async def conclude(one: Waiting) -> None:
            refused = one._replace(early={**one.early, **programs_refused(one.task.fixture, lives)})
            tried = await concluded(refused if lives else one, context, turn)
            if context.playgrounds:
                await context.playgrounds.waiting.remove(one.task.key)
            self._store(tried.trial)

        async with asyncio.TaskGroup() as group:
            for one in sorted(self.waiting, key=lambda one: one.task.key.order):
                group.create_task(conclude(one))
        self.waiting.clear()

    async def judge_again(self, stage: Stage) -> None:
        """Look at what judges waver on, where their word counts, and at what they prefer, where the
        run ends here.
        """
        context, judge = self._context, self._context.judge
        if context.over() or not stage.ends or judge is None:
            return
        doubted, evals = context.agreements, self._plan.evals

        def asked(key: TrialKey) -> Judge:
            return judge.of(context.callers(key).judge)

        for one in evals:
            doubt = partial(doubted.doubt, one) if doubted else trust_every_judge
            async for trial in judge_pairs(one, self.trials, asked, doubt):
                shown = context.redact(trial)
                self.trials[shown.key] = shown
                context.log.append(shown)
        trusted_judges = [one for one in evals if not (doubted and await doubted.doubt(one))]
        await judge_again(trusted_judges, self.trials, context)

    @property
    def _full(self) -> bool:
        return self._context.playgrounds is not None and self._context.playgrounds.waiting.full

    async def _batch(self, keys: tuple[TrialKey, ...]) -> None:
        plan = self._plan
        room = self._context.at_once or len(keys)
        places, spacing = Places(room), StartSpacing(room)
        async with asyncio.TaskGroup() as group:
            for name in dict.fromkeys(planned.own_name for planned in plan.evals):
                versions = {one.name: one for one in plan.evals if one.own_name == name}
                queue = deque(key for version in versions for key in keys if key.eval == version)
                parallel = min(planned.execution.parallel for planned in versions.values())
                task = partial(self._task, versions)
                line = _Line(queue, task, Places(parallel), asyncio.Semaphore(parallel))

                def begin(line: _Line = line) -> None:
                    group.create_task(self._work(line, places, spacing, group))

                line.places.spare = _at_most(parallel, begin)
                for _ in range(min(parallel, len(queue))):
                    begin()

    def _task(self, versions: Mapping[str, PlannedEval], key: TrialKey) -> Task:
        planned = versions[key.eval]
        agent = self._plan.agent(planned.agent, key.side)
        return Task(key, agent, planned, planned.fixture(key.fixture))

    async def _work(
        self, line: _Line, places: Places, spacing: StartSpacing, group: asyncio.TaskGroup
    ) -> None:
        """Run trials of one Eval. In `group`, answers are assessed while agents go on."""
        context = self._context

        async def conclude(waiting: Waiting) -> None:
            async with line.aside:
                tried = await concluded(waiting, context)
            self._store(tried.trial)

        while line.queue:
            async with placed(line.places, places):
                began = await spacing.turn()
                if not line.queue or context.over() or self._full:
                    return
                task = line.task(line.queue.popleft())
                context.tell(TrialStarted(key=task.key))
                measured = _untried(task, context) or await self._measured(task)
                spacing.ended(began)
            if isinstance(measured, Trial):
                self._store(measured)
            elif measured.aside:
                group.create_task(conclude(measured))
            else:
                self.waiting.append(self._kept(measured) if context.batched else measured)

    async def _measured(self, task: Task) -> Trial | Waiting:
        """Run one trial, or of one whose answer was kept, ask its judge again."""
        answered = self._to_judge.get(task.key)
        if answered is None:
            return await _measured(task, self._context)
        kept = kept_answer(task, answered)
        return kept if self._context.batched else (await concluded(kept, self._context)).trial

    def _kept(self, waiting: Waiting) -> Waiting:
        """Store a trial before its judge is asked in a batch: a run that goes on asks the same, and
        takes the answer. So what is asked about is what is stored.
        """
        context, answered = self._context, unjudged(waiting)
        trial = context.log.append(context.offers.take(context.redact(answered)))
        context.tell(TrialAnswered(trial=trial))
        if not can_judge_again(waiting.task.fixture, trial, batched=True):
            return waiting
        return waiting._replace(answer=kept_answer(waiting.task, trial).answer)

    def _store(self, measured: Trial) -> None:
        trial, context = self._context.redact(measured), self._context
        trial = context.offers.take(trial)
        if context.over() and trial.passed is None and trial.cause is Cause.GATE:
            return
        trial = self.trials[trial.key] = context.log.append(trial)
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
    return trial.replace(lost_usage=add_usage(lost)) if lost else trial
