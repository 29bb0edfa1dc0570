"""Whether a job gives the gate the time to end its run in order. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.setup.diagnosis import Health, HealthCheck
from gateval.domain.setup.gate_job import GateJob

MARGIN_MINUTES = 5.0
"""For what a job does before and after the run: the image, the history, the report."""


def about_time(jobs: Sequence[GateJob]) -> list[HealthCheck]:
    """Compare `timeout-minutes` of each job that measures with `max-minutes` of the gate's step."""
    return [_about(job) for job in jobs if job.step in {"all", "run"} and not job.called]


def _about(job: GateJob) -> HealthCheck:
    where = f"{job.path}, job {job.check}"
    given = job.minutes
    if given.job is None or given.run is None:
        seen = f"{where}: timeout-minutes or max-minutes is an expression, unknown from here."
        return HealthCheck(Health.UNKNOWN, "time", seen)
    if given.job >= given.run + MARGIN_MINUTES:
        seen = f"{where}: the run ends after {given.run:g} minutes, the job after {given.job:g}."
        return HealthCheck(Health.OK, "time", seen)
    seen = (
        f"{where}: GitHub ends the job after {given.job:g} minutes, and the gate its run after "
        f"{given.run:g}; cut off, it reports nothing."
    )
    todo = (
        f"Let `timeout-minutes` be at least {given.run + MARGIN_MINUTES:g}, or lower the input "
        "`max-minutes`."
    )
    return HealthCheck(Health.PROBLEM, "time", seen, todo)
