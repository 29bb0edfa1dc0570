"""The results of a run: the plan and its trials, complete enough to report from.

A part is what one job of a matrix measured, or all that an untrusted run claims. Which Agents,
Evals, fixtures and thresholds there are, and under which policy, says the plan that was made here,
from git; so a part can at most claim how trials ended, and of its plan it needs digests alone. What
no part holds is missing.

Where a benchmark's run and its tasks stand, in the words of their document.

A run is created with its plan, its tasks in the phase `created`; a task is started, one at a time
unless `concurrency` says more, and completed with its verdict. What is cancelled or over its time
keeps all tasks that were completed.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import log2
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from gateval.domain.base import Digest, Name, Share, Value, digest, known_of_last, plain_message
from gateval.domain.calibration import CalibrationReplay
from gateval.domain.manifests.fixture import PREFERENCE, Fixture
from gateval.domain.plan.plan import Plan, SideScripts
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.spending import Allowance
from gateval.domain.results.averages import EarlierSet, Grouped, group_trials, unanswered
from gateval.domain.results.offers import OfferCollector, SharedOffer
from gateval.domain.results.shards import Border, Shard
from gateval.domain.results.trial_verdict import Use, grade, trial_verdict
from gateval.domain.text import ShortText
from gateval.domain.tree import Revision
from gateval.domain.trials.model_call import NO_BATCHES, BatchBook
from gateval.domain.trials.trial import Assessment, Outcome, Side, Trial, TrialKey
from gateval.domain.verdicts import PRECEDENCE, EvalsVerdict
from gateval.errors import StageFileError

STEPS = 20
"""Steps of a published rate: each is 0.05."""

LEAST_FIXTURES = 10
"""Of an Eval with fewer fixtures the verdict alone is published."""

_STATES = len(PRECEDENCE) + 2
"""Verdicts, and two that differ: by whether a label may accept it, and by a budget used up."""

_NO_RATE = 1


class SealedVerdict(Value):
    """How a sealed Eval ended; all that is published of its trials.

    `accepted` is its verdict where somebody who may accepts a lower bar. `rate` is the share of the
    planned trials of head that passed, fixtures alike whatever their severity, in steps of 0.05;
    None where it is not told. `digest` is a keyed one of the whole, empty without a key. `bits` is
    the most that this gives away.
    """

    eval: Name
    verdict: EvalsVerdict
    accepted: EvalsVerdict
    rate: Share | None = None
    digest: str = Field(default="", pattern=r"^([0-9a-f]{64}@[0-9a-f]{8})?$")
    bits: float = Field(default=0, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _a_rate_is_coarse(self) -> Self:
        if self.rate is not None and self.rate != in_steps(self.rate):
            raise ValueError("a rate of a sealed Eval is published in steps of 0.05")
        return self


def in_steps(rate: float) -> float:
    """Return a rate as it may be published."""
    return round(rate * STEPS) / STEPS


def bits_of(*, fixtures: int, rates: bool) -> float:
    """Return how much one verdict gives away at most: log2 of all that could stand there.

    `rates` says that a rate may be told; of few fixtures none ever is.
    """
    rated = rates and fixtures >= LEAST_FIXTURES
    return round(log2(_STATES * (STEPS + 1 + _NO_RATE if rated else 1)), 2)


class RunInfo(Value):
    """What differs between two executions of the same plan; `started_at` is ISO 8601 in UTC.

    `ended` says in a sentence why the run ended before all was measured; empty if it did not.
    `unanswered` says which models were asked in vain then. `over_budget` says why no model was
    asked any more, if the policy gave the run no more calls, tokens or dollars. `usd` is what its
    own calls took at most, where pull request or day are limited; nothing sealed runs where that is
    public.
    `interrupted` says that somebody cancelled it; `started` names trials begun and not finished.
    `resumed` says from which run it goes on, and what it kept of that; `recorded` how it can be
    replayed. `warnings` tell what went wrong beside the trials, such as an `after` that failed.
    """

    run: str = ""
    started_at: str = ""
    seconds: float = 0
    gateval: str = ""
    isolation: str = ""
    ended: str = ""
    unanswered: str = Field(default="", exclude_if=operator.not_)
    over_budget: str = ""
    usd: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, exclude_if=lambda usd: usd is None
    )
    interrupted: bool = False
    resumed: str = Field(default="", exclude_if=operator.not_)
    recorded: str = Field(default="", exclude_if=operator.not_)
    started: tuple[TrialKey, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def cut(self) -> str:
        """Why trials that were asked for did not run, as sentences; empty where nobody knows."""
        stopped = "The run was interrupted." if self.interrupted else ""
        return " ".join(filter(None, (stopped, self.ended, self.unanswered, self.over_budget)))


class Results(Value):
    """A plan and its trials in report order. Trials that never ran are simply absent.

    `calibrations` are the replays by which the word of judges counts, or does not; `earlier` are
    the sets of experiments that were known when the run began. `sealed` is what everybody may know
    of the sealed Evals that ran: their trials are not there. `offers` is what models were offered
    in the others, of each Agent and side of which that was seen.
    """

    version: Literal["results.v1"] = "results.v1"
    plan: Plan
    trials: tuple[Trial, ...] = ()
    calibrations: tuple[CalibrationReplay, ...] = ()
    earlier: tuple[EarlierSet, ...] = ()
    sealed: tuple[SealedVerdict, ...] = Field(default=(), exclude_if=operator.not_)
    offers: tuple[SharedOffer, ...] = Field(default=(), exclude_if=operator.not_)
    info: RunInfo = RunInfo()

    @model_validator(mode="after")
    def _every_sealed_eval_has_its_verdict(self) -> Self:
        """What ran and has no trials here has a verdict, so that none is lost on the way."""
        if [one.eval for one in self.sealed] != [one.name for one in self.plan.sealed]:
            raise ValueError("the verdicts of sealed Evals are not those of its plan")
        return self

    @model_validator(mode="after")
    def _only_planned_trials(self) -> Self:
        seen = set()
        most = self.plan.most_repetitions()
        stored = {one.name: one.stored_counts() for one in self.plan.evals if one.stored}
        for trial in self.trials:
            key = trial.key
            may_be = key.repetition <= most.get((key.eval, key.fixture, key.side), 0)
            if key.side is Side.BASE and key.eval in stored:
                may_be &= key.repetition > stored[key.eval].get(key.fixture, 0)
            if key in seen or not may_be:
                what = "comes twice" if trial.key in seen else "is not planned"
                raise ValueError(f"the run {trial.key} {what}")
            seen.add(trial.key)
        return self

    @model_validator(mode="after")
    def _outcomes_follow_from_assessments(self) -> Self:
        """A pass rests on every assertion of its fixture. Anything else that says so is forged."""
        assertions = {
            (planned.name, fixture.name): (planned, fixture)
            for planned in self.plan.evals
            for fixture in planned.fixtures
        }
        known: dict[tuple[int, ...], bool] = {}  # repetitions often have the same assessments
        for trial in self.trials:
            planned, fixture = assertions[trial.key.eval, trial.key.fixture]
            if planned.scoring.graded and not _scores_as_it_says(planned, fixture, trial):
                raise ValueError(f"the score of the run {trial.key} is not that of its assertions")
            if trial.outcome is not Outcome.PASS:
                continue
            same = (id(planned), id(fixture), *map(id, trial.assessments))
            if same not in known:
                known[same] = _passes(planned, fixture, trial.assessments)
            if not known[same]:
                raise ValueError(f"the run {trial.key} says pass, but its assertions do not")
        return self


def _passes(planned: PlannedEval, fixture: Fixture, found: Sequence[Assessment]) -> bool:
    """Whether a trial passes by its assertions; only a judge's may not count, and never all: what
    calls itself a preference has to stand where one is asked for.
    """
    if len(found) != len(fixture.assertions) or not any(one.counts for one in found):
        return False
    judged = all(
        one.counts or asked.type == PREFERENCE or (asked.needs_judge and planned.wants_calibration)
        for asked, one in zip(fixture.assertions, found, strict=True)
    )
    return judged and trial_verdict(planned.scoring, fixture, found).outcome is Outcome.PASS


def _scores_as_it_says(planned: PlannedEval, fixture: Fixture, trial: Trial) -> bool:
    """Whether a trial's score is what its assessments give; without any there is none."""
    if not trial.assessments:
        return trial.score is None
    return trial.score == trial_verdict(planned.scoring, fixture, trial.assessments).score


def results_of(
    plan: Plan,
    trials: Iterable[Trial],
    info: RunInfo,
    calibrations: Iterable[CalibrationReplay] = (),
    offers: Iterable[SharedOffer] = (),
) -> Results:
    """Put trials into report order, so that no report depends on which finished first."""
    return Results(
        plan=plan,
        trials=tuple(sorted(trials, key=lambda t: t.key.order)),
        calibrations=tuple(sorted(calibrations, key=lambda one: one.binding.digest)),
        offers=tuple(offers),
        info=info,
    )


_HINT = "Let one run measure and publish the same commit, with the same version of Gateval."
_SHOWN = 300


class PlanDigest(Value):
    """What was measured, and on which commits: a plan of which each value is named by its digest.

    One digest of all would be that of no other plan: a job of a matrix plans some of the Evals.
    `engine` is that of the code that measured, where jobs go on from what others measured.
    """

    head: Revision
    base: Revision | None
    agents: tuple[Digest, ...]
    evals: tuple[Digest, ...]
    scripts: tuple[Digest, ...]
    engine: str = Field(default="", exclude_if=operator.not_)


class ResultsPart(Value):
    """What one job measured, in report order, without its plan.

    `ended`, `unanswered` and `over_budget` are as in `RunInfo`. `sealed` is a part with the trials
    of sealed Evals, encrypted for the gate's own key; empty where none was measured. `shard` says
    which share of a round it is, `border` that it is of a job that joined a round. `replayed` says
    that its answers are of a recording, so that it measures nothing. `allowance` is that of its
    plan, and `batches` are those that its judges were asked in. `usd` is what the calls of its job
    took at most, where pull request or day are limited, and `all_usd` what those of all jobs of the
    run did, where that is known and nothing sealed ran.
    """

    version: Literal["part.v1"] = "part.v1"
    plan: PlanDigest
    trials: tuple[Trial, ...] = ()
    calibrations: tuple[CalibrationReplay, ...] = ()
    ended: ShortText = Field(default="", exclude_if=operator.not_)
    unanswered: ShortText = Field(default="", exclude_if=operator.not_)
    over_budget: str = ""
    offers: tuple[SharedOffer, ...] = Field(default=(), exclude_if=operator.not_)
    sealed: str = Field(default="", exclude_if=operator.not_)
    shard: Shard | None = Field(default=None, exclude_if=operator.not_)
    border: Border | None = Field(default=None, exclude_if=operator.not_)
    replayed: bool = Field(default=False, exclude_if=operator.not_)
    allowance: Allowance | None = Field(default=None, exclude_if=operator.not_)
    batches: BatchBook = Field(default=NO_BATCHES, exclude_if=NO_BATCHES.__eq__)
    usd: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, exclude_if=lambda usd: usd is None
    )
    all_usd: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, exclude_if=lambda usd: usd is None
    )


WHY_CUT = ("ended", "unanswered", "over_budget")
"""What a part and the facts of a run both say of trials that did not run."""


def part_of(results: Results) -> ResultsPart:
    """Return results as a part of those that will be put together elsewhere."""
    return ResultsPart(
        plan=digest_of(results.plan),
        trials=results.trials,
        calibrations=results.calibrations,
        **{name: getattr(results.info, name) for name in WHY_CUT},
        offers=results.offers,
        allowance=results.plan.allowance,
        usd=results.info.usd,
    )


@known_of_last
def digest_of(plan: Plan) -> PlanDigest:
    """Return the digests of what a plan measures."""
    return PlanDigest(
        head=plan.head,
        base=plan.base,
        agents=_digests(plan.agents),
        evals=tuple(map(_eval_digest, plan.evals)),
        scripts=_digests(  # each alone: a part needs only some of a side's
            SideScripts(side=one.side, models=(model,))
            for one in plan.scripts
            for model in one.models
        ),
        engine=plan.engine,
    )


def assemble(plan: Plan, parts: Sequence[ResultsPart], info: RunInfo) -> Results:
    """Return the results of `plan` with the trials of all parts.

    Raises `StageFileError` for a part of another head or base, for one that measured an Agent, Eval
    or scripted model otherwise than the plan says, for a trial that two parts hold, for one of an
    Eval that its part did not measure, and for one that the plan does not ask for or that says
    something else than its assertions.
    """
    trials: dict[object, Trial] = {}
    replays = {one.binding.digest: one for part in parts for one in part.calibrations}
    collected = OfferCollector({})
    collected.add(one for part in parts for one in part.offers)
    ours = digest_of(plan)
    names = dict(zip(ours.evals, (one.name for one in plan.evals), strict=True))
    for part in parts:
        refuse_other(ours, part.plan)
        measured = {names[one] for one in part.plan.evals}
        for trial in part.trials:
            if trial.key in trials:
                raise StageFileError(
                    f"Two of the results hold the same run, {_shown(trial)}.",
                    hint="Give every job of the matrix Evals of its own, and a folder of its own.",
                )
            if trial.key.eval not in measured:
                raise StageFileError(
                    f"The results hold {_shown(trial)}, and do not say what its Eval asks.",
                    hint=_HINT,
                )
            trials[trial.key] = trial
    try:
        return results_of(plan, trials.values(), info, replays.values(), collected.found())
    except ValidationError as error:
        said = plain_message(error.errors(include_url=False)[0]["msg"])
        raise StageFileError(
            f"The results are not those of this plan: {said[:_SHOWN]}.", hint=_HINT
        ) from error


def refuse_other(ours: PlanDigest, theirs: PlanDigest) -> None:
    """Raise `StageFileError` where they are not of one head and base, or measure other things, or
    by other code, where ours is known.
    """
    for side, mine, claimed in (
        ("head", ours.head, theirs.head),
        ("base", ours.base, theirs.base),
    ):
        if (mine and (mine.commit, mine.tree)) != (claimed and (claimed.commit, claimed.tree)):
            raise StageFileError(
                f"The results were measured on another {side} than the one that is looked at now.",
                hint=_HINT,
            )
    for what, known, found in (
        ("an Agent", ours.agents, theirs.agents),
        ("an Eval", ours.evals, theirs.evals),
        ("a scripted model", ours.scripts, theirs.scripts),
    ):
        if not set(found) <= set(known):
            raise StageFileError(
                f"The results rest on {what} that is not so on this commit.", hint=_HINT
            )
    if ours.engine and ours.engine != theirs.engine:
        raise StageFileError(
            "The results were measured by another version of Gateval, which may ask Agents or "
            "judges otherwise.",
            hint="Run all jobs again.",
        )


def refuse_replayed(parts: Iterable[ResultsPart]) -> None:
    """Raise `StageFileError` where parts are of a replay, which decides about no change."""
    if any(one.replayed for one in parts):
        raise StageFileError(
            "The results were replayed from a recording, so they measure nothing.",
            hint="Give --replay to every job of the run, to see how it went; or to none.",
        )


def _digests(values: Iterable[Value]) -> tuple[str, ...]:
    return tuple(digest(value.model_dump(mode="json")) for value in values)


def _eval_digest(planned: PlannedEval) -> str:
    """Return the digest of an Eval, of which one fixture at a time is in memory as JSON."""
    own = planned.model_dump(mode="json", exclude={"fixtures"})
    return digest([own, *_digests(planned.fixtures)])


def _shown(trial: Trial) -> str:
    return str(trial.key)[:_SHOWN]


class RunStatus(StrEnum):
    """Of a run or a task. `failed`: it ended without a score, and nobody cancelled it."""

    ACTIVE = "active"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


class TaskPhase(StrEnum):
    """How far a task is."""

    CREATED = "created"
    STARTED = "started"
    COMPLETED = "completed"


class TaskRun(Value):
    """A task on head, over its planned runs. `score` in [0, 1] and `verdict` need all of them."""

    task: str
    status: RunStatus
    phase: TaskPhase
    score: float | None = None
    verdict: str | None = None


class BenchmarkRun(Value):
    """The run of a benchmark on head: `score` and `verdict` need all tasks."""

    status: RunStatus
    score: float | None = None
    verdict: str | None = None
    tasks: tuple[TaskRun, ...]

    @property
    def completed(self) -> int:
        """How many tasks are completed, in time or not."""
        return sum(one.phase is TaskPhase.COMPLETED for one in self.tasks)


def run_of(results: Results, planned: PlannedEval) -> BenchmarkRun:
    """Return how the run of a benchmark ended, and each of its tasks."""
    trials = group_trials(results.trials)
    many = planned.execution.reps_per_fixture
    owners = planned.owners()
    whole = all(
        len(_first(trials, owners[one.name], one, side, many)) == many
        for one in planned.fixtures
        for side in planned.sides
    )
    begun = {(key.eval, key.fixture) for key in results.info.started if key.side is Side.HEAD}
    status = RunStatus.COMPLETED if whole else _ended(results)
    silent = unanswered(planned, trials)
    tasks = tuple(
        _task(
            one.name.removeprefix(f"{planned.own_name}."),
            _first(trials, owners[one.name], one, Side.HEAD, many),
            planned,
            status,
            begun=(owners[one.name], one.name) in begun,
            silent=silent,
        )
        for one in planned.fixtures
    )
    scores = [one.score for one in tasks]
    known = [score for score in scores if score is not None]
    score = sum(known) / len(known) if len(known) == len(scores) else None
    return BenchmarkRun(
        status=status,
        score=score,
        verdict=planned.scoring.model.called(score) or None,
        tasks=tasks,
    )


def _ended(results: Results) -> RunStatus:
    if results.info.interrupted:
        return RunStatus.CANCELLED
    return RunStatus.TIMED_OUT if results.info.ended else RunStatus.FAILED


def _first(trials: Grouped, owner: str, fixture: Fixture, side: Side, many: int) -> Sequence[Trial]:
    found = trials.get((owner, fixture.name, side), ())
    return [one for one in found if one.key.repetition <= many]


def _task(
    name: str,
    trials: Sequence[Trial],
    planned: PlannedEval,
    run: RunStatus,
    *,
    begun: bool,
    silent: bool,
) -> TaskRun:
    """Return where a task stands; `silent`: nothing answers on any side, so there is no score."""
    many = planned.execution.reps_per_fixture
    if len(trials) < many:
        phase = TaskPhase.STARTED if trials or begun else TaskPhase.CREATED
        return TaskRun(task=name, status=run, phase=phase)
    grades = [] if silent else [grade(one, Use.TASK) for one in trials]
    known = [one for one in grades if one is not None]
    if len(known) < many:
        return TaskRun(task=name, status=RunStatus.FAILED, phase=TaskPhase.COMPLETED)
    late = any(one.outcome is Outcome.SKIP for one in trials)
    score = sum(known) / many
    return TaskRun(
        task=name,
        status=RunStatus.TIMED_OUT if late else RunStatus.COMPLETED,
        phase=TaskPhase.COMPLETED,
        score=score,
        verdict=planned.scoring.model.called(score),
    )
