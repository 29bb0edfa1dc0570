"""What `run --shard` and `run --step` do: one job of a run that several machines measure together,
on whatever system starts these. All of them read the same plan from a file.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import SystemClock
from gateval.adapters.own_code import engine_digest
from gateval.adapters.results_folder import create_results_folder, results_path
from gateval.app.day_spending import DaySpending
from gateval.app.replay import taping_asked
from gateval.app.resume import killed_try
from gateval.app.run.context import refuse_missing_keys, refuse_unpriced
from gateval.app.run.recording import offline_settings, refuse_unasked_recording
from gateval.app.run.sealing import MeasuredRun, runnable, seal_results
from gateval.app.run.shards import KilledTry, parts_in, with_allowance
from gateval.app.run.stages import Machine, StageEnd
from gateval.app.run_history import stored_runs
from gateval.app.stored import read_plan
from gateval.domain.history.forecast import kept_seconds
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import ResultsPart
from gateval.domain.results.resume import NOTHING_KEPT
from gateval.domain.results.rounds import join, tries
from gateval.domain.results.shards import ShardName
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.github.action_inputs import (
    ActionStep,
    read_shard,
    read_shards,
    refuse_stray,
)
from gateval.pipeline.plan import confirm_revisions
from gateval.settings import Settings, read_settings


class JobAsked(NamedTuple):
    """Which job of a run this is: its step, how many shards may follow, or which one it is, of
    which round.
    """

    step: ActionStep
    shards: int | None
    own: ShardName | None
    round: int

    @property
    def is_first(self) -> bool:
        """Whether there may be no part of others yet."""
        return self.step is ActionStep.RUN and self.round == 1


def asked_for(
    *, step: str | None, shards: str, shard: str, in_round: int | None, parts: Path | None
) -> JobAsked:
    """Read the options. Raises `UsageError` for those that do not go together."""
    job = JobAsked(
        ActionStep(step or ActionStep.RUN),
        read_shards(shards, "--shards"),
        read_shard(shard, "--shard"),
        in_round or 1,
    )
    if job.step is ActionStep.RUN and job.own is None:
        raise UsageError("--shard is missing.", hint="It is one of so many, such as 2/7.")
    given = {"shards": shards, "shard": shard, "round": in_round, "parts": parts}
    refuse_stray(job.step, {name for name, value in given.items() if value}, "--{}")
    return job


def run_stage(
    environ: dict[str, str],
    plan_file: str | None,
    job: JobAsked,
    *,
    parts: Path | None,
    results: Path | None,
    minutes: float,
    record: bool,
    replay: str | None,
    offline: bool,
) -> int:
    """Plan the shards, measure one, join a round, or measure the rest and decide.

    The step `finish` ends as `check` does, any other with 0 where it measured all that it had to,
    red or green. What it leaves is a part in its results; `parts` holds those of others, and of
    earlier tries.
    """
    if plan_file is None:
        raise UsageError(
            "A run is spread over machines by a plan that all of them read.",
            hint="Write it with `gateval plan --json`, and name it with --plan FILE.",
        )
    settings, repository = read_settings(environ), open_repository()
    whole_plan = read_plan(plan_file)
    confirm_revisions(repository, whole_plan)
    taped = taping_asked(repository, record=record, replay=replay, offline=offline)
    settings = offline_settings(settings) if taped.offline else settings
    plan = runnable(whole_plan).replace(engine=engine_digest())
    refuse_unpriced(plan)
    refuse_missing_keys(plan, settings)
    refuse_unasked_recording(plan, settings, taped)
    there = _left(parts, plan, repository, settings, job, replays=taped.replay is not None)
    killed = _killed(plan, repository, results, job) if taped.replay is None else None
    clock, goes_on = SystemClock(), killed is not None
    folder = create_results_folder(repository.root, clock, chosen=results, goes_on=goes_on)
    spending = DaySpending(repository, settings)
    if taped.replay is not None:
        plan = plan.replace(allowance=None)
    elif job.step is ActionStep.PLAN:
        plan = spending.opened(plan, folder.run, NOTHING_KEPT, later=True)
    else:
        plan = with_allowance(plan, there)
    attempt = _attempt(there, job)
    how: dict[str, Any] = {"attempt": attempt, "asked": job.shards, "taping": taped}
    how |= {"killed": killed} if killed else {}
    machine = Machine(plan, repository, settings, folder, minutes, **how)
    if job.step is ActionStep.FINISH:
        from gateval.app.check import conclude

        measured = _finished(machine, there, whole_plan)
        spending.close_later(plan.allowance, measured.whole)
        return conclude(measured, settings, taped, chosen=results is not None)
    end = _measured(machine, job, there)
    sys.stderr.write(f"{end.text}Results: {folder.path}\n")
    if end.shards is not None:
        print(end.matrix)
    return end.code


def _finished(machine: Machine, parts: list[ResultsPart], whole_plan: Plan) -> MeasuredRun:
    """Measure the rest, and return the whole run by the whole plan."""
    from gateval.app.show import with_spent_here  # which knows the views, as no shard needs to

    settings, folder = machine.settings, machine.folder
    end, measured = machine.measure_rest(parts)
    sys.stderr.write(end.text)
    shown = with_spent_here(whole_plan, machine.repository.root)
    shown = shown.replace(allowance=machine.plan.allowance)
    redactor = settings.redactor(shown.policy.candidate_env)
    whole = measured.whole.replace(plan=redactor.value(shown))
    public = seal_results(whole, folder, settings.environ, rates=True)
    return measured._replace(results=public, whole=whole)


def _killed(
    plan: Plan, repository: GitRepository, results: Path | None, job: JobAsked
) -> KilledTry | None:
    """Say what a shard goes on from that was killed in the same folder, if there is any."""
    if results is None or job.own is None:
        return None
    found = killed_try(plan, repository, results_path(repository.root, results))
    if found and found.resumed.told:
        sys.stderr.write(f"{found.resumed.told}\n")
    return found


def _left(
    parts: Path | None,
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    job: JobAsked,
    *,
    replays: bool,
) -> list[ResultsPart]:
    """Read what other jobs left that says something for this one."""
    if parts is None:
        return []
    place = results_path(repository.root, parts)
    own = (job.round, job.own.number) if job.own else None
    how: dict[str, Any] = {"replays": replays, "none": job.is_first, "own": own}
    return parts_in(place, plan, settings.environ, **how)


def _measured(machine: Machine, job: JobAsked, parts: list[ResultsPart]) -> StageEnd:
    if job.step is ActionStep.PLAN:
        names = {one.own_name for one in machine.plan.evals}
        runs = stored_runs(machine.repository).newest(names)
        return machine.plan_shards(kept_seconds(machine.plan, runs))
    if job.own is None:
        return machine.measure_next(parts)
    own, before = job.own, join(machine.plan, parts, before=job.round)
    many = before.shards
    if many and own.of > many:  # where how many jobs there are is written before anybody plans
        if own.number > many:
            told = f"Round {job.round} has {many} shards, so nothing is left for this job.\n"
            return StageEnd(EXIT_PASS, told)
        own = ShardName(own.number, many)
    return machine.measure_shard(parts, own, job.round, before)


def _attempt(parts: Sequence[ResultsPart], job: JobAsked) -> int:
    """Return which try this is, by the parts of those before; the first one has the number of the
    try at which the run was planned.
    """
    borders = [one.border for one in parts if one.border]
    planned = max((one.attempt for one in borders if not one.round and not one.whole), default=0)
    if job.step is ActionStep.PLAN:
        return planned + 1
    if job.own is not None:
        tried = tries(parts, job.round, job.own.number)
    else:
        last, ends = (
            max((one.shard.round for one in parts if one.shard), default=0),
            job.step is ActionStep.FINISH,
        )
        mine = (one for one in borders if one.whole == ends and (ends or one.round == last > 0))
        tried = tuple(one.attempt for one in mine)
    return max(max(tried, default=0) + 1, planned)
