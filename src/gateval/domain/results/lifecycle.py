"""Where a benchmark's run and its tasks stand, in the words of their document.

A run is created with its plan, its tasks in the phase `created`; a task is started, one at a time
unless `concurrency` says more, and completed with its verdict. What is cancelled or over its time
keeps all tasks that were completed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from gateval.domain.base import Value
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import Grouped, group_trials, unanswered
from gateval.domain.results.results import Results
from gateval.domain.results.trial_verdict import Use, grade
from gateval.domain.trials.trial import Outcome, Side, Trial


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
