"""What a run found: the plan and its trials, complete enough to report from."""

from __future__ import annotations

from typing import Literal

from gateval.domain.base import Value
from gateval.domain.plan import Plan
from gateval.domain.trial import Trial


class RunInfo(Value):
    """What differs between two executions of the same plan; `started_at` is ISO 8601 in UTC."""

    run: str = ""
    started_at: str = ""
    seconds: float = 0
    gateval: str = ""
    isolation: str = ""


class Results(Value):
    """A plan and its trials in report order. Trials that never ran are simply absent."""

    version: Literal["results.v1"] = "results.v1"
    plan: Plan
    trials: tuple[Trial, ...] = ()
    info: RunInfo = RunInfo()


def sort_trials(trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """Return the trials in report order, so that no report depends on which finished first."""
    return tuple(sorted(trials, key=lambda trial: trial.key.order))
