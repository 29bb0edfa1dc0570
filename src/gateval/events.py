"""What happens while trials run. Progress listens; the engine does not know who does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gateval.domain.base import Value
from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Trial, TrialKey


class RunStarted(Value):
    """The run begins."""

    event: Literal["run-started"] = "run-started"
    plan: Plan


class RunWarned(Value):
    """Something about the whole run that a person should know. `message` is a sentence of ours."""

    event: Literal["run-warned"] = "run-warned"
    message: str


class CandidatePreparing(Value):
    """A revision is exported and set up for an agent; this can take long."""

    event: Literal["candidate-preparing"] = "candidate-preparing"
    agent: str
    side: str
    what: str


class CandidateWarned(Value):
    """A candidate did what a person should know of, though it changes no outcome.

    `message` is a sentence; what the candidate itself said may stand in it, so it is not clean.
    `lasting` says that it belongs to the results: it may have changed what later trials met.
    """

    event: Literal["candidate-warned"] = "candidate-warned"
    agent: str
    side: str
    message: str
    lasting: bool = False


class TrialsAdded(Value):
    """So many further trials are asked for, because something looks worse or is close."""

    event: Literal["trials-added"] = "trials-added"
    count: int


class TrialStarted(Value):
    """A trial begins."""

    event: Literal["trial-started"] = "trial-started"
    key: TrialKey


class TrialFinished(Value):
    """A trial is over and stored."""

    event: Literal["trial-finished"] = "trial-finished"
    trial: Trial


class RunFinished(Value):
    """All trials are over, or the run was stopped."""

    event: Literal["run-finished"] = "run-finished"
    finished: int
    planned: int


Event = (
    RunStarted
    | RunWarned
    | CandidatePreparing
    | CandidateWarned
    | TrialsAdded
    | TrialStarted
    | TrialFinished
    | RunFinished
)
Listener = Callable[[Event], None]
